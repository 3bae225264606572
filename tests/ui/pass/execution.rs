//! `&Execution`: the run's key and scope, keys for other services, and work for after COMMIT.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use idem_examples::reference::{AppError, Probe};
use idem_runtime::{Execution, IdempotencyKey, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    execution: &Execution,
    State(probe): State<Probe>,
    item: String,
    tx: &mut SqliteConnection,
) -> Result<String, AppError> {
    order(tx, &item).await?;
    execution.after_commit(async move { probe.ran() });
    if item.is_empty() {
        return Err(AppError::Refused("nothing"));
    }
    let key = execution.key().map_or("", IdempotencyKey::as_str);
    let steps = ["charge", "charge", "ship"].map(|step| execution.downstream_key(step));
    let [charge, again, ship] = &steps;
    Ok(format!("{key} {} {}", charge == again && charge != ship, execution.scope().text()))
}

#[tokio::test]
async fn a_run_tells_its_handler_what_it_is() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let refused = twice(server, &r1().body("").fresh_key()).await;
        let created = twice(server, &r1().body("tea")).await;

        assert_eq!(refused.status, 422);
        assert_eq!(created.text(), "k-0001 true endpoint=POST%20/orders");
        assert_eq!(server.app.idempotency.drain(Duration::from_secs(20)).await, 0);
        assert_eq!(server.runs(), 1, "only the run that committed had work to do");
        bench.assert_holds(2, 1).await;
    })
    .await;
}
