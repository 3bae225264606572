//! The call written down, to be made after COMMIT.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use idem_runtime::{Execution, idempotent};
use sqlx::Transaction;

use super::app::Outside;
use super::books::Books;
use super::error::OrderError;
use super::orders::{NewOrder, Order, Placed, placed};
use super::pause::Moment;
use crate::reference::TenantId;

/// `POST /orders/queued`: the order and the call that it needs are one commit; the answer says that the card is being
/// charged, and where to ask.
///
/// Nothing has left before COMMIT, and nothing is held while the provider takes its time. Each replay says `charging`,
/// whatever has become of the order by then: `GET /orders/{id}` knows.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn queue_order<DB: Books>(
    tx: &mut Transaction<'_, DB>,
    execution: &Execution,
    tenant: TenantId,
    State(outside): State<Outside>,
    Json(new): Json<NewOrder>,
) -> Result<Placed, OrderError> {
    let id = DB::insert_order(&mut *tx, &tenant, &new).await?;
    // The key is in the row, as is the content, so every attempt is the same to the provider.
    let key = execution.downstream_key("charge").ok_or(OrderError::NoKey)?;
    DB::enqueue(&mut *tx, id, &key, &new.payment()).await?;
    outside.pause.reach(Moment::Queued).await;

    // May be lost: the dispatcher looks by itself, only later.
    let wake = outside.wake.clone();
    execution.after_commit(async move { wake.notify_one() });

    let NewOrder { item, cents, .. } = new;
    let order = Order { id, item, cents, state: "charging".to_owned(), charge: None };
    Ok(placed(StatusCode::ACCEPTED, order))
}
