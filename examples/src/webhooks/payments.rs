use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_runtime::{Webhook, idempotent};
use serde::{Deserialize, Serialize};
use serde_json::Value as JsonValue;
use sqlx::SqliteConnection;

use super::{App, Standard, Stripe};

/// The service's tables.
///
/// What was paid of an invoice is the sum of its payments, so it does not matter in which order the senders tell of
/// them, nor whether the invoice is here already. Nothing in them would stop an event from counting twice.
pub const TABLES: &str = "
    CREATE TABLE invoices (
        id    INTEGER PRIMARY KEY,
        cents INTEGER NOT NULL
    );
    CREATE TABLE payments (
        id      INTEGER PRIMARY KEY,
        invoice INTEGER NOT NULL,
        cents   INTEGER NOT NULL
    );
";

/// Books a payment of an invoice; one that is returned is negative.
async fn book(connection: &mut SqliteConnection, invoice: i64, cents: i64) -> sqlx::Result<()> {
    let insert = "INSERT INTO payments (invoice, cents) VALUES (?, ?)";
    sqlx::query(insert).bind(invoice).bind(cents).execute(connection).await?;
    Ok(())
}

// --- POST /webhooks/stripe ------------------------------------------------------------------------------

/// An event, as far as this service reads it (<https://docs.stripe.com/api/events/object>).
#[derive(Debug, Deserialize)]
pub(super) struct StripeEvent {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: StripeData,
}

#[derive(Debug, Deserialize)]
struct StripeData {
    /// Of another shape for each kind of event.
    object: JsonValue,
}

/// What a payment and a refund have in common.
#[derive(Debug, Deserialize)]
struct StripePayment {
    /// In cents.
    amount: i64,
    metadata: Metadata,
}

/// What this service gave the payment along: Stripe keeps texts.
#[derive(Debug, Deserialize)]
struct Metadata {
    invoice: String,
}

/// The event's id is the key, and it is in the event. The row of the key, the payment and the answer are committed
/// together, so a delivery that fails is not known the next time.
#[idempotent(policy = Webhook, key = "event.id")]
pub(super) async fn on_stripe_event(
    tx: &mut SqliteConnection,
    // The policy compares nothing; without the mark the extractor would need a `Fingerprint`.
    #[fingerprint(skip)] Stripe(event): Stripe<StripeEvent>,
) -> Result<StatusCode, AppError> {
    let sign = match event.kind.as_str() {
        "payment_intent.succeeded" => 1,
        "refund.created" => -1,
        // Of no concern, and done: anything but a success would bring it back for days.
        _ => return Ok(StatusCode::OK),
    };
    let payment: StripePayment =
        serde_json::from_value(event.data.object).map_err(|_| AppError::Unreadable)?;
    let invoice = payment.metadata.invoice.parse().map_err(|_| AppError::Unreadable)?;
    book(tx, invoice, sign * payment.amount).await?;
    Ok(StatusCode::OK)
}

// --- POST /webhooks/bank: the same for Standard Webhooks ------------------------------------------------

#[derive(Debug, Deserialize)]
pub(super) struct BankEvent {
    #[serde(rename = "type")]
    kind: String,
    data: JsonValue,
}

#[derive(Debug, Deserialize)]
struct BankPayment {
    invoice: i64,
    cents: i64,
}

/// The key is the header `webhook-id`, as the policy has it.
#[idempotent(policy = Webhook)]
pub(super) async fn on_bank_event(
    tx: &mut SqliteConnection,
    #[fingerprint(skip)] Standard(event): Standard<BankEvent>,
) -> Result<StatusCode, AppError> {
    let sign = match event.kind.as_str() {
        "payment.received" => 1,
        "payment.returned" => -1,
        _ => return Ok(StatusCode::NO_CONTENT),
    };
    let payment: BankPayment = serde_json::from_value(event.data).map_err(|_| AppError::Unreadable)?;
    book(tx, payment.invoice, sign * payment.cents).await?;
    Ok(StatusCode::NO_CONTENT)
}

// --- GET /invoices: an ordinary handler -----------------------------------------------------------------

#[derive(Debug, Serialize)]
pub(super) struct Invoice {
    id: i64,
    cents: i64,
    paid: i64,
    is_settled: bool,
}

pub(super) async fn list_invoices(State(app): State<App>) -> Result<Json<Vec<Invoice>>, AppError> {
    let select = "SELECT id, cents,
                      (SELECT coalesce(sum(payments.cents), 0) FROM payments WHERE invoice = invoices.id)
                  FROM invoices ORDER BY id";
    let rows: Vec<(i64, i64, i64)> = sqlx::query_as(select).fetch_all(&app.reader).await?;
    let invoice = |(id, cents, paid)| Invoice { id, cents, paid, is_settled: paid >= cents };
    Ok(Json(rows.into_iter().map(invoice).collect()))
}

// --- What the handlers share ----------------------------------------------------------------------------

/// Why an event could not be handled. None of these is kept, so the sender's next delivery runs.
#[derive(Debug)]
pub(super) enum AppError {
    /// It is signed, and not what was expected. A later version of the service may know better.
    Unreadable,
    Database(sqlx::Error),
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            Self::Unreadable => (StatusCode::BAD_REQUEST, "the event cannot be read\n").into_response(),
            Self::Database(error) => {
                eprintln!("{error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "the database failed\n").into_response()
            }
        }
    }
}
