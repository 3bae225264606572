//! A scope of calls, fields, tuple fields and labels, through a chain of them.

use axum::Json;
use axum::extract::Path;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::{Execution, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

trait Named {
    fn name(&self) -> &str;
}

impl Named for TenantId {
    fn name(&self) -> &str {
        &self.0
    }
}

#[idempotent(scope = "account = tenant.name(), length = order.item.len(), order.qty, path.1, endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    #[context] tenant: TenantId,
    Path(path): Path<(String, u64)>,
    Json(order): Json<NewOrder>,
    execution: &Execution,
) -> Result<String, AppError> {
    self::order(tx, &order.item).await?;
    Ok(format!("{} {} {}", tenant.0, path.0, execution.scope().text()))
}

#[tokio::test]
async fn a_scope_reaches_into_arguments() {
    let answer = once("/{shop}/{shelf}", post(create), &r1().path("/s1/7")).await;

    let scope = "account=t1&length=3&qty=1&path=7&endpoint=POST%20/{shop}/{shelf}";
    assert_eq!(answer.text(), format!("t1 s1 {scope}"));
}
