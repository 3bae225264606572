//! A database, what stands around the service, and the processes of the service.

use std::net::SocketAddr;

use axum::Router;
use idem_examples::payments::{Charge, Mail, Provider};
use idem_tests::bench::Bench;
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::http::{Answer, Request, r1};
use idem_tests::patience::{eventually, soon};
use idem_tests::process::Process;
use idem_tests::same::assert_ran;
use serde_json::Value as JsonValue;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinHandle;

/// The downstream key of the requests of [`order`] that the protocol publishes (K-07).
pub(crate) const PUBLISHED_KEY: &str = "4371f1b6b0b00528a9e635c6d3f60150b104511c6cb6bc65c82fb6a389b2dd5e";

/// Where the card is charged within the transaction.
pub(crate) const DIRECT: &str = "/orders";

/// Where the call is written down.
pub(crate) const QUEUED: &str = "/orders/queued";

/// What a handler answers that has not learned what the provider has decided, beside a status of 503.
pub(crate) const NOT_DECIDED: &str = r#"{"error":"payment_not_decided"}"#;

/// Tenant `t1` orders tea for 500 cents under the key `k-0001`.
pub(crate) fn order(path: &str) -> Request {
    order_for(path, 500, "card_visa")
}

/// The same at another price, or with another card.
pub(crate) fn order_for(path: &str, cents: i64, card: &str) -> Request {
    r1().path(path).body(format!(r#"{{"item":"tea","cents":{cents},"card":"{card}"}}"#))
}

/// Serves a router for as long as the task lives.
pub(crate) fn serve(listener: TcpListener, router: Router) -> JoinHandle<()> {
    tokio::spawn(
        async move { axum::serve(listener, router).await.expect("axum's server never ends by itself") },
    )
}

pub(crate) struct Shop<'b, DB: TestDatabase> {
    pub(crate) bench: &'b Bench<DB>,
    pub(crate) provider: Provider,
    pub(crate) mail: Mail,
    url: String,
    outside: SocketAddr,
}

impl<'b, DB: TestDatabase> Shop<'b, DB> {
    /// A shop on an empty database, which the service finds at `url`.
    pub(crate) async fn open(bench: &'b Bench<DB>, url: String) -> Self {
        let (provider, mail) = (Provider::default(), Mail::default());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let outside = listener.local_addr().expect("a bound listener has an address");
        // Ends with the test's runtime.
        drop(serve(listener, provider.routes().merge(mail.routes())));
        Self { bench, provider, mail, url, outside }
    }

    /// Starts a process of the service.
    pub(crate) async fn start(&self) -> Process {
        self.start_with(&[]).await
    }

    /// Starts one that stands still at a moment.
    pub(crate) async fn start_pausing_at(&self, moment: &str) -> Process {
        self.start_with(&[("PAUSE_AT", moment)]).await
    }

    /// Starts one with these variables as well.
    pub(crate) async fn start_with(&self, variables: &[(&str, &str)]) -> Process {
        let outside = format!("http://{}", self.outside);
        let mut command = Command::new(crate::PROGRAM);
        command.arg("serve").env("PROVIDER_URL", &outside).env("MAIL_URL", &outside);
        command.envs(variables.iter().copied());
        Process::spawn(command, &self.url).await
    }

    /// Kills a process once it stands still.
    pub(crate) async fn kill_where_it_stands(&self, process: Process) {
        stands_still(&process).await;
        process.kill().await;
    }

    /// Reads an order until it is no longer `charging`.
    pub(crate) async fn settled(&self, process: &Process, order: i64) -> JsonValue {
        let is_settled = format!("SELECT count(*) FROM orders WHERE id = {order} AND state <> 'charging'");
        eventually(async || self.bench.place.integer(&is_settled).await == 1).await;
        self.read(process, order).await
    }

    /// Reads an order.
    pub(crate) async fn read(&self, process: &Process, order: i64) -> JsonValue {
        let request = Request::new("GET", &format!("/orders/{order}")).field("X-Tenant", "t1");
        let answer = process.send(&request).await;
        assert_ran(&answer, 200);
        answer.json()
    }

    /// Waits until every call in the outbox has been made, and marked so.
    pub(crate) async fn outbox_is_empty(&self) {
        eventually(async || self.bench.count("outbox").await == 0).await;
    }

    /// Ends every lease, as time would.
    pub(crate) async fn end_leases(&self) {
        self.bench.place.execute("UPDATE outbox SET due_at = created_at").await;
    }

    /// Asserts how often the provider was called with each key, in the order of their coming, and that it has made one
    /// charge for each.
    #[track_caller]
    pub(crate) fn assert_one_charge_each(&self, calls: &[usize]) {
        let mut counted: Vec<(String, usize)> = Vec::new();
        for key in self.provider.keys() {
            match counted.iter_mut().find(|(known, _)| *known == key) {
                Some((_, count)) => *count += 1,
                None => counted.push((key, 1)),
            }
        }
        assert_eq!(counted.iter().map(|(_, count)| *count).collect::<Vec<_>>(), calls, "{counted:?}");
        assert_eq!(self.provider.charges().len(), calls.len(), "{:?}", self.provider.charges());
    }

    /// Asserts that every charge belongs to one order of its price, and every paid order to a charge.
    pub(crate) async fn assert_charges_and_orders_belong_together(&self) {
        let charges = self.provider.charges();
        for Charge { id, cents } in &charges {
            let of_charge = format!("charge = '{id}' AND cents = {cents} AND state = 'paid'");
            assert_eq!(self.count_orders(&of_charge).await, 1, "{id}");
        }
        assert_eq!(usize::try_from(self.count_orders("charge IS NOT NULL").await), Ok(charges.len()));
    }

    pub(crate) async fn count_orders(&self, condition: &str) -> i64 {
        self.bench.place.integer(&format!("SELECT count(*) FROM orders WHERE {condition}")).await
    }
}

/// Waits until a process stands still.
pub(crate) async fn stands_still(process: &Process) {
    assert_ran(&process.send(&Request::new("GET", "/pause")).await, 204);
}

/// Lets a process go on.
pub(crate) async fn go_on(process: &Process) {
    assert_ran(&process.send(&Request::new("POST", "/pause")).await, 204);
}

/// Ends a process as a deployment does, so that nothing of it is left to be done.
pub(crate) async fn end(process: Process) {
    process.terminate().await;
    soon(process.ended()).await;
}

/// The charge that the answer names.
#[track_caller]
pub(crate) fn charge_of(answer: &Answer) -> String {
    answer.json()["charge"].as_str().unwrap_or_else(|| panic!("a charge in {answer:?}")).to_owned()
}
