//! A policy that several handlers share, from a module of its own and by its path.

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

mod api {
    use idem_examples::reference::TenantId;
    use idem_runtime::Policy;

    /// What the public handlers share. Its field is private: they have no use for it.
    #[derive(Policy)]
    #[policy(scope = "tenant,endpoint", ttl = "72h")]
    #[policy(mismatch = 409)]
    pub(super) struct Public {
        tenant: TenantId,
    }
}

#[idempotent(policy = api::Public)]
async fn create(tx: &mut SqliteConnection, Json(new): Json<NewOrder>) -> Result<String, AppError> {
    Ok(order(tx, &new.item).await?.to_string())
}

#[idempotent(policy = api::Public, record = "all")]
async fn create_other(tx: &mut SqliteConnection, Json(new): Json<NewOrder>) -> Result<String, AppError> {
    Ok(order(tx, &new.item).await?.to_string())
}

#[tokio::test]
async fn handlers_share_a_policy() {
    let routes = Router::new().route("/orders", post(create)).route("/others", post(create_other));
    serve(routes, async |bench, server| {
        let one = twice(server, &r1()).await;
        let other = twice(server, &r1().path("/others")).await;
        let tenant = twice(server, &r1().tenant("t2")).await;
        let reused = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;
        let nobody = server.send(&r1().without("X-Tenant")).await;

        assert_eq!([one.text(), other.text(), tenant.text()], ["1", "2", "3"]);
        assert_eq!((reused.status, nobody.status), (409, 401));
        bench.assert_holds(3, 3).await;
    })
    .await;
}
