//! The call inside the transaction, and what is left for after COMMIT.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderName, StatusCode, header};
use idem_runtime::{Execution, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::Transaction;

use super::app::{App, Outside};
use super::books::Books;
use super::calls::Verdict;
use super::error::OrderError;
use super::mail::Receipt;
use super::pause::Moment;
use super::provider::Payment;
use crate::reference::TenantId;

/// What both endpoints take: `{"item":"tea","cents":500,"card":"card_visa"}`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NewOrder {
    /// What is ordered.
    pub item: String,
    /// Its price, in the smallest unit of the currency.
    pub cents: i64,
    /// What is charged for it.
    pub card: String,
}

impl NewOrder {
    /// What the provider is asked for.
    pub(super) fn payment(&self) -> String {
        Payment { cents: self.cents, card: self.card.clone() }.content()
    }
}

/// An order: `{"id":1,"item":"tea","cents":500,"state":"paid","charge":"ch_1"}`.
#[derive(Clone, Debug, Serialize)]
pub struct Order {
    /// Its row's number.
    pub id: i64,
    /// What is ordered.
    pub item: String,
    /// Its price, in the smallest unit of the currency.
    pub cents: i64,
    /// `charging`, `paid` or `declined`.
    pub state: String,
    /// The provider's number of its charge, once it is paid.
    pub charge: Option<String>,
}

/// An answer that says where the order is.
pub(super) type Placed = (StatusCode, [(HeaderName, String); 1], Json<Order>);

pub(super) fn placed(status: StatusCode, order: Order) -> Placed {
    (status, [(header::LOCATION, format!("/orders/{}", order.id))], Json(order))
}

/// `POST /orders`: the card is charged within the transaction, and the answer says that it is.
///
/// The transaction is open, and its connection taken, for as long as the provider takes. On SQLite nobody else writes
/// meanwhile.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn create_order<DB: Books>(
    tx: &mut Transaction<'_, DB>,
    execution: &Execution,
    tenant: TenantId,
    State(outside): State<Outside>,
    Json(new): Json<NewOrder>,
) -> Result<Placed, OrderError> {
    // First whatever the database could refuse: nothing but the charge's number is left to write when money has moved.
    let id = DB::insert_order(&mut *tx, &tenant, &new).await?;

    // A receipt may be lost. If this run does not commit, whatever the reason, it is dropped.
    let after = outside.clone();
    execution.after_commit(async move {
        after.pause.reach(Moment::Committed).await;
        after.calls.send_receipt(Receipt { order: id }).await;
    });

    let key = execution.downstream_key("charge").ok_or(OrderError::NoKey)?;
    let verdict = outside.calls.charge(&key, new.payment()).await?;
    outside.pause.reach(Moment::Answered).await;

    DB::settle(&mut *tx, id, &verdict).await?;
    let charge = match verdict {
        Verdict::Charged(charge) => charge,
        // Rolled back: no order. Stored: the retry is declined as well.
        Verdict::Declined(reason) => return Err(OrderError::Declined(reason)),
    };

    let NewOrder { item, cents, .. } = new;
    let order = Order { id, item, cents, state: "paid".to_owned(), charge: Some(charge) };
    Ok(placed(StatusCode::CREATED, order))
}

/// `GET /orders/{id}`.
pub(super) async fn get_order<DB: Books>(
    tenant: TenantId,
    State(app): State<App<DB>>,
    Path(id): Path<i64>,
) -> Result<Json<Order>, OrderError> {
    let mut connection = app.reader.acquire().await?;
    let order = DB::order(&mut connection, &tenant, id).await?;
    order.map(Json).ok_or(OrderError::NotFound)
}
