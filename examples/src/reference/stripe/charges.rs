use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use idem_runtime::idempotent;
use serde::Serialize;
use sqlx::Transaction;

use super::StripeApi;
use super::error::StripeError;
use super::params::Params;
use crate::reference::database::{Database, Value};
use crate::reference::probe::Probe;

/// A charge, as far as Stripe's own has the same members (<https://docs.stripe.com/api/charges/object>).
#[derive(Debug, Serialize)]
pub(super) struct Charge {
    id: String,
    object: &'static str,
    /// In the smallest unit of the currency.
    amount: i64,
    currency: String,
    description: Option<String>,
    livemode: bool,
    metadata: BTreeMap<String, String>,
    paid: bool,
    status: &'static str,
}

/// `POST /v1/charges`: every charge is a row, a declined one too.
///
/// Beside Stripe's `tok_chargeDeclined` there is a `source` of this application's own: with `tok_gate` the
/// charge waits at the gate.
#[idempotent(policy = StripeApi)]
pub(super) async fn create_charge<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    api: &StripeApi,
    State(probe): State<Probe>,
    params: Params,
) -> Result<Json<Charge>, StripeError> {
    probe.ran();
    let amount = params.require("amount")?;
    let is_digits = amount.bytes().all(|byte| byte.is_ascii_digit());
    let amount = amount.parse().ok().filter(|amount| is_digits && *amount > 0);
    let amount = amount.ok_or(StripeError::NoPositiveInteger("amount"))?;
    let (currency, source) = (params.require("currency")?, params.require("source")?);
    let is_paid = source != "tok_chargeDeclined";
    let status = if is_paid { "succeeded" } else { "failed" };
    let description = params.get("description");

    let sql = "INSERT INTO stripe_charges (account, amount, currency, description, status)
               VALUES ($1, $2, $3, $4, $5) RETURNING id";
    let values = [
        Value::Text(&api.account.0),
        Value::Int(amount),
        Value::Text(currency),
        Value::Maybe(description),
        Value::Text(status),
    ];
    let row = DB::integer(&mut *tx, sql, &values).await?.ok_or(sqlx::Error::RowNotFound)?;
    let id = format!("ch_{row}");

    if source == "tok_gate" {
        probe.gate.pass().await;
    }
    if !is_paid {
        return Err(StripeError::Declined(id));
    }
    Ok(Json(Charge {
        id,
        object: "charge",
        amount,
        currency: currency.to_owned(),
        description: description.map(str::to_owned),
        livemode: false,
        metadata: params.members("metadata"),
        paid: is_paid,
        status,
    }))
}
