//! A const parameter that stands in no argument, so that only the route can say what it is.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create<const MOST: usize>(tx: &mut SqliteConnection, item: String) -> Result<String, AppError> {
    let id = order(tx, &item).await?;
    if item.len() > MOST {
        return Err(AppError::Refused("too long"));
    }
    Ok(format!("{id} of {MOST}"))
}

#[tokio::test]
async fn a_const_parameter_is_passed_on() {
    let routes = Router::new().route("/short", post(create::<2>)).route("/long", post(create::<3>));
    serve(routes, async |bench, server| {
        let short = twice(server, &r1().path("/short").body("tea")).await;
        let long = twice(server, &r1().path("/long").body("tea")).await;

        assert_eq!(short.status, 422);
        assert_eq!(long.text(), "1 of 3");
        bench.assert_holds(2, 1).await;
    })
    .await;
}
