//! `scope = "global"`: whoever sends the key gets its answer, at whichever route of the handler's name.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::{AppError, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "global", record = "all")]
async fn create(tx: &mut SqliteConnection, #[context] tenant: TenantId) -> Result<String, AppError> {
    order(tx, "tea").await?;
    Ok(tenant.0)
}

#[tokio::test]
async fn a_global_key_belongs_to_everybody() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let first = twice(server, &r1()).await;
        let other = server.send(&r1().tenant("t2")).await;

        assert_eq!((first.text(), other.text(), other.is_replay()), ("t1", "t1", true));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
