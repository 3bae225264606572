//! The attribute within `#[cfg_attr]`, on a handler whose names are beyond ASCII, among attributes for rustc.

use axum::extract::Path;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::{Execution, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

/// Größer.
#[must_use = "it is to be routed"]
#[inline]
#[doc(hidden)]
#[cfg_attr(not(any()), idempotent(scope = r"größe,endpoint"))]
#[cfg_attr(any(), no_such_attribute)]
pub(in crate::fixture) async fn größer(
    tx: &mut SqliteConnection,
    Path(größe): Path<u64>,
    execution: &Execution,
) -> Result<String, AppError> {
    order(tx, "Tee").await?;
    Ok(format!("{größe} {}", execution.scope().text()))
}

#[tokio::test]
async fn the_attribute_may_depend_on_a_cfg() {
    let answer = once("/{g}", post(größer), &r1().path("/7")).await;

    assert_eq!(answer.text(), "7 gr%C3%B6%C3%9Fe=7&endpoint=POST%20/{g}");
}
