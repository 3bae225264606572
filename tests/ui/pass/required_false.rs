//! `required = false`: a request without a key is run as it was before there were keys.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::{Execution, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint", required = false)]
async fn create(tx: &mut SqliteConnection, execution: &Execution, item: String) -> Result<String, AppError> {
    let id = order(tx, &item).await?;
    Ok(format!("{id} {:?}", execution.downstream_key("charge").is_some()))
}

#[tokio::test]
async fn without_a_key_every_request_runs() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let keyless = r1().without("Idempotency-Key").body("tea");
        let answers = [server.send(&keyless).await, server.send(&keyless).await];
        let with_key = twice(server, &r1().body("tea")).await;

        assert_eq!(answers.map(|answer| answer.text().to_owned()), ["1 false", "2 false"]);
        assert_eq!(with_key.text(), "3 true");
        bench.assert_holds(1, 3).await;
    })
    .await;
}
