//! What the tests of `idem-client` have in common.

use std::net::SocketAddr;
use std::time::Duration;

use idem_client::{
    Error, GaveUp, IdempotentClient, IdempotentClientBuilder, Operation, Outcome, RetryBudget,
};
use serde_json::json;

/// The client that makes requests. A proxy for the world outside has nothing to do with this machine.
///
/// # Panics
/// Never: nothing of it can fail.
#[must_use]
pub fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("nothing of it can fail")
}

/// Settings with which a test need not wait.
pub fn hasty() -> IdempotentClientBuilder {
    IdempotentClient::builder(http())
        .backoff(Duration::from_millis(5), Duration::from_millis(50))
        .max_retry_after(Duration::from_millis(20))
        .retry_budget(RetryBudget::unlimited())
}

/// A request of tenant `t1` for one of these.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn post(address: SocketAddr, path: &str, item: &str) -> reqwest::Request {
    let body = json!({ "item": item, "qty": 1 });
    let request = http().post(format!("http://{address}{path}")).header("X-Tenant", "t1").json(&body);
    request.build().expect("a request")
}

/// An order of one of these, under a key of its own.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn order(address: SocketAddr, item: &str) -> Operation {
    Operation::new(post(address, "/orders", item)).expect("an operation")
}

/// What is known of an operation that was given up.
///
/// # Panics
/// If it was not.
#[must_use]
#[track_caller]
pub fn gave_up(outcome: Result<Outcome, Error>) -> GaveUp {
    outcome.expect_err("no final answer").gave_up().expect("it was given up")
}
