//! `engine = "extension"`: an application without a state, whose engine is a layer.

use axum::routing::post;
use axum::{Extension, Router};
use idem_examples::reference::{AppError, TenantId};
use idem_runtime::{Policy, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::http::r1;
use idem_tests::problem::assert_problem;
use idem_tests::shape::{order, twice};
use sqlx::{Sqlite, SqliteConnection};

#[derive(Policy)]
#[policy(scope = "tenant,endpoint", engine = "extension")]
struct Api {
    tenant: TenantId,
}

#[idempotent(policy = Api)]
async fn create(tx: &mut SqliteConnection, api: &Api, item: String) -> Result<String, AppError> {
    order(tx, &item).await?;
    Ok(api.tenant.0.clone())
}

fn routes() -> Router {
    Router::new().route("/orders", post(create))
}

#[tokio::test]
async fn the_engine_may_be_a_layer() {
    run(async |bench: &Bench<Sqlite>| {
        let with_layer = bench.server().router(|app| routes().layer(Extension(app.idempotency)));
        let server = with_layer.start().await;
        let without = bench.server().router(|_| routes()).start().await;

        let answer = twice(&server, &r1().body("tea")).await;
        let nowhere = without.send(&r1().body("tea")).await;

        assert_eq!(answer.text(), "t1");
        assert_problem(&nowhere, "idempotency_store_misconfigured");
        bench.assert_holds(1, 1).await;
    })
    .await;
}
