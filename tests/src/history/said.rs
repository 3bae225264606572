//! What an answer says of the operation that it was sent for.

use serde_json::{Value as JsonValue, json};

use super::operation::{Endpoint, Operation};
use crate::http::Answer;
use crate::problem;

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The handler's own answer, first or replayed.
    Decided(Decision),
    /// The first request has not finished.
    InProgress,
    /// The key was used for another request.
    Reused,
    /// Nothing was decided, because of a fault: the code, or the application's own word for it.
    Failed(String),
    /// Something that this endpoint should never answer.
    Nonsense,
}

/// The handler's own answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The operation that the answer speaks of; the one that was asked for, where it names none.
    pub of: Operation,
    /// The number of the business row, where the answer names one.
    pub effect: Option<i64>,
    /// Whether it says that it is a replay.
    pub is_replay: bool,
}

impl Said {
    /// Whether the client has nothing more to learn with this request.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Decided(_) | Self::Reused)
    }
}

/// Reads the answer to `operation`.
#[must_use]
pub fn read(operation: Operation, answer: &Answer) -> Said {
    match problem::code(answer) {
        Some("idempotency_in_progress") => return Said::InProgress,
        Some("idempotency_key_reused") => return Said::Reused,
        Some(
            code
            @ ("idempotency_store_unavailable" | "idempotency_transient" | "idempotency_outcome_unknown"),
        ) => return Said::Failed(code.to_owned()),
        Some(_) => return Said::Nonsense,
        None => {}
    }
    let body = serde_json::from_slice(&answer.body).unwrap_or_default();
    if answer.status == 500 && body == json!({ "error": "database" }) {
        return Said::Failed("database".to_owned());
    }
    match decided(operation, answer, &body) {
        Some((of, effect)) => Said::Decided(Decision { of, effect, is_replay: answer.is_replay() }),
        None => Said::Nonsense,
    }
}

/// The operation and the row that the handler's own answer names; `None` if it is not the endpoint's.
fn decided(asked: Operation, answer: &Answer, body: &JsonValue) -> Option<(Operation, Option<i64>)> {
    let named = || body["item"].as_str()?.parse::<Operation>().ok();
    match asked.at.endpoint {
        Endpoint::Orders => {
            let (of, id) = (named()?, body["id"].as_i64()?);
            let location = format!("/orders/{id}");
            let is_whole = *body == json!({ "id": id, "item": of.to_string(), "qty": of.variant });
            (answer.status == 201 && is_whole && answer.field("location") == Some(&location))
                .then_some((of, Some(id)))
        }
        Endpoint::Refunds => {
            let (of, id) = (named()?, body["refund"].as_i64()?);
            let is_whole = *body == json!({ "refund": id, "item": of.to_string() });
            (answer.status == 201 && is_whole).then_some((of, Some(id)))
        }
        Endpoint::Charges => {
            let (account, amount) = (body["account"].as_u64()?, body["amount"].as_u64()?);
            let mut of = asked;
            of.at.key = u32::try_from(account).ok()?;
            of.variant = u8::try_from(amount).ok()?;
            let is_whole = *body == json!({ "account": account, "amount": amount, "dry": false });
            (answer.status == 201 && is_whole).then_some((of, None))
        }
        Endpoint::Counters => {
            let count = body["n"].as_i64()?;
            (answer.status == 200 && *body == json!({ "n": count })).then_some((asked, Some(count)))
        }
        Endpoint::Declined => is(answer, 402, body, &json!({ "reason": "card_declined" }), asked),
        Endpoint::Err => is(answer, 422, body, &json!({ "error": "out_of_stock" }), asked),
        Endpoint::Boom => is(answer, 500, body, &json!({ "error": "boom" }), asked),
        Endpoint::Panic => None,
    }
}

/// An answer that names nothing.
fn is(
    answer: &Answer,
    status: u16,
    body: &JsonValue,
    expected: &JsonValue,
    asked: Operation,
) -> Option<(Operation, Option<i64>)> {
    (answer.status == status && body == expected).then_some((asked, None))
}
