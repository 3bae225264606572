//! Handlers that `macro_rules!` makes: from pieces, from a whole item, around a body that is given.

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

macro_rules! handler {
    (pieces $name:ident($tx:ty, $pattern:pat, $ty:ty, $scope:literal) $answer:expr) => {
        #[idempotent(scope = $scope, ttl = "48h")]
        async fn $name(tx: $tx, tenant: TenantId, $pattern: $ty) -> Result<String, AppError> {
            order(tx, &tenant.0).await?;
            Ok($answer)
        }
    };
    (item $item:item) => {
        #[idempotent(scope = "endpoint")]
        $item
    };
    (body $name:ident($tx:ident) $body:block) => {
        #[idempotent(scope = "endpoint", crate = ::idem_runtime)]
        async fn $name($tx: &mut SqliteConnection) -> Result<String, AppError> $body
    };
}

handler!(pieces from_pieces(&mut SqliteConnection, Json(new), Json<NewOrder>, "tenant,endpoint") new.item);

handler! {
    item async fn from_an_item(tx: &mut SqliteConnection, item: String) -> Result<String, AppError> {
        order(tx, &item).await?;
        Ok(item)
    }
}

handler!(body from_a_body(tx) { Ok(order(tx, "tea").await?.to_string()) });

#[tokio::test]
async fn a_macro_may_make_handlers() {
    let routes = Router::new()
        .route("/pieces", post(from_pieces))
        .route("/item", post(from_an_item))
        .route("/body", post(from_a_body));
    serve(routes, async |bench, server| {
        let pieces = twice(server, &r1().path("/pieces")).await;
        let item = twice(server, &r1().path("/item").body("milk")).await;
        let body = twice(server, &r1().path("/body")).await;

        assert_eq!([pieces.text(), item.text(), body.text()], ["tea", "milk", "3"]);
        bench.assert_holds(3, 3).await;
    })
    .await;
}
