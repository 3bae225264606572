//! Aliases of `Result`, one of which hides that there is an error at all.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

type AppResult<T> = Result<T, AppError>;
type Answer = AppResult<String>;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut SqliteConnection, item: String) -> AppResult<String> {
    Ok(order(tx, &item).await?.to_string())
}

#[idempotent(scope = "endpoint")]
async fn refuse(tx: &mut SqliteConnection, item: String) -> Answer {
    order(tx, &item).await?;
    Err(AppError::Refused("sold out"))
}

#[tokio::test]
async fn an_err_is_seen_through_an_alias() {
    let routes = Router::new().route("/orders", post(create)).route("/refused", post(refuse));
    serve(routes, async |bench, server| {
        let refused = twice(server, &r1().path("/refused").body("tea")).await;
        let created = twice(server, &r1().body("tea")).await;

        assert_eq!((refused.status, created.text()), (422, "1"));
        bench.assert_holds(2, 1).await;
    })
    .await;
}
