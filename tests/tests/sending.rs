//! Operations of `idem-client` against a server that plays a script: what is sent again, byte for byte, when, and how it
//! ends. No database is asked.

use std::fmt::{Debug, Write as _};
use std::iter;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use idem_client::{Error, IdempotentClient, Last, Limit, Operation, RetryBudget};
use idem_tests::http_proxy::stub::{Reply, Stub};
use idem_tests::patience::soon;
use idem_tests::sending::{gave_up, hasty, http, order, post};
use tokio::task::JoinSet;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

const IN_PROGRESS: Reply = Reply::Answer(
    "409 Conflict\nContent-Type: application/problem+json\n\n\
     {\"code\":\"idempotency_in_progress\",\"retry\":\"same_key\"}",
);
const CREATED: Reply = Reply::Answer("201 Created\nContent-Type: application/json\n\n{\"id\":1}");
const UNAVAILABLE: Reply = Reply::Answer("503 Service Unavailable");

// Reports: B63
#[tokio::test]
async fn key_and_body_are_the_same_at_every_attempt_however_the_one_before_has_ended() {
    let ends = [
        Reply::Silence,
        UNAVAILABLE,
        Reply::ResetRequest,
        Reply::ResetAnswer,
        IN_PROGRESS,
        Reply::Answer("429 Too Many Requests\nRetry-After: 0"),
        CREATED,
    ];
    let stub = Stub::start(ends.clone()).await;
    // More than sockets hold, so that a reset meets a client that is still writing.
    let body = "tea".repeat(1_000_000);
    let request =
        http().post(format!("http://{}/orders", stub.address)).bearer_auth("token").body(body.clone());
    let operation = Operation::new(request.build().expect("a request")).expect("an operation");

    let client = hasty().attempt_timeout(Duration::from_secs(3)).build();
    let outcome = soon(client.send(&operation)).await.expect("an answer");

    assert_eq!((outcome.status(), outcome.is_replay()), (StatusCode::CREATED, false));
    assert_eq!(usize::try_from(outcome.attempts()), Ok(ends.len()));
    let got = stub.got();
    assert_eq!(got.len(), ends.len(), "{got:?}");
    let (key, first) = (format!("\"{}\"", operation.key().as_str()), got[0].head.clone());
    for (got, end) in got.iter().zip(&ends) {
        assert_eq!(got.lines("idempotency-key").collect::<Vec<_>>(), [key.as_str()]);
        assert_eq!(got.head, first, "every line is the same");
        if !matches!(end, Reply::ResetRequest) {
            assert!(got.body.as_deref() == Some(body.as_bytes()), "{got:?}");
        }
    }
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let stub = Stub::start([Reply::ResetAnswer, CREATED]).await;

    let outcome = hasty().build().send(&order(stub.address, "tea")).await.expect("an answer");

    assert_eq!((outcome.attempts(), outcome.answer().body().as_ref()), (2, b"{\"id\":1}".as_slice()));
}

#[tokio::test]
async fn no_attempt_is_earlier_than_the_server_asks_for() {
    let stub = Stub::start([Reply::Answer("503 Service Unavailable\nRetry-After: 1"), CREATED]).await;
    let client = hasty().max_retry_after(Duration::from_mins(1)).build();

    let begun = Instant::now();
    let outcome = client.send(&order(stub.address, "tea")).await.expect("an answer");

    assert_eq!(outcome.attempts(), 2);
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn what_the_server_calls_hopeless_is_not_tried_again() {
    let never = "500 Internal Server Error\nContent-Type: application/problem+json\n\n\
                 {\"code\":\"idempotency_response_not_storable\",\"retry\":\"never\"}";
    for answer in [never, "422 Unprocessable Entity", "401 Unauthorized", "409 Conflict"] {
        let stub = Stub::start([Reply::Answer(answer), CREATED]).await;

        let outcome = hasty().build().send(&order(stub.address, "tea")).await.expect("an answer");

        assert!(answer.starts_with(outcome.status().as_str()), "{outcome:?}");
        assert_eq!((outcome.attempts(), stub.got().len()), (1, 1), "{answer}");
    }
}

#[tokio::test]
async fn a_call_ends_with_its_time_and_gives_the_operation_back() {
    let stub = Stub::start([UNAVAILABLE, Reply::Silence]).await;
    let operation = order(stub.address, "tea");
    let time = Duration::from_millis(1500);
    let client = hasty().total_time(time).build();

    let begun = Instant::now();
    let gave_up = gave_up(soon(client.send(&operation)).await);

    assert!(begun.elapsed() >= time, "{:?}", begun.elapsed());
    assert_eq!((gave_up.attempts(), gave_up.limit()), (2, Limit::Time));
    let Last::Failure(error) = gave_up.last() else { panic!("{gave_up:?}") };
    assert!(error.is_timeout() && error.url().is_none(), "{error:?}");
    assert_eq!(gave_up.into_operation(), operation);
}

#[tokio::test]
async fn a_wait_that_is_longer_than_the_time_is_not_begun() {
    let stub = Stub::start([Reply::Answer("503 Service Unavailable\nRetry-After: 30")]).await;
    let client = hasty().max_retry_after(Duration::from_mins(1)).total_time(Duration::from_secs(29)).build();

    let gave_up = gave_up(soon(client.send(&order(stub.address, "tea"))).await);

    assert_eq!((gave_up.attempts(), gave_up.limit()), (1, Limit::Time));
    assert!(matches!(gave_up.last(), Last::Answer(answer) if answer.status() == 503), "{gave_up:?}");
}

#[tokio::test]
async fn operations_share_a_budget_of_retries() {
    let stub = Stub::start(iter::repeat_n(UNAVAILABLE, 100)).await;
    let client = hasty().retry_budget(RetryBudget::new(0, 3)).total_time(Duration::from_secs(5)).build();

    let mut sent = JoinSet::new();
    for number in 0..10 {
        let (client, operation) = (client.clone(), order(stub.address, &format!("tea {number}")));
        sent.spawn(async move { gave_up(client.send(&operation).await) });
    }
    let gave_up = soon(sent.join_all()).await;

    assert!(gave_up.iter().all(|gave_up| gave_up.limit() == Limit::Budget), "{gave_up:?}");
    assert_eq!(stub.got().len(), 10 + 3, "each once, and three retries among them");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_until_it_is() {
    // A port that is free again, for the moment.
    let address = Stub::start([]).await.address;
    let client = hasty().max_attempts(3).build();

    let gave_up = gave_up(soon(client.send(&order(address, "tea"))).await);

    assert_eq!(gave_up.attempts(), 3);
    assert!(matches!(gave_up.last(), Last::Failure(error) if error.is_connect()), "{gave_up:?}");
}

#[tokio::test]
async fn what_must_not_or_cannot_be_sent_is_not_sent() {
    let stub = Stub::start([CREATED]).await;
    let client = hasty().build();
    let request = http().post(format!("http://{}/orders", stub.address)).bearer_auth("token");
    let request = request.build().expect("a request");
    let kept =
        serde_json::to_string(&Operation::new(request).expect("an operation")).expect("it can be kept");
    let mut resumed: Operation = serde_json::from_str(&kept).expect("what was kept");
    let yesterday = SystemTime::UNIX_EPOCH + Duration::from_hours(24);
    let old = Operation::builder(post(stub.address, "/orders", "tea")).made_at(yesterday).build();
    let ftp = http().post("ftp://127.0.0.1/orders").build().expect("a request");

    let missing = client.send(&resumed).await.expect_err("its token is missing");
    let too_old = client.send(&old.expect("an operation")).await.expect_err("its key may be forgotten");
    let unsendable =
        client.send(&Operation::new(ftp).expect("an operation")).await.expect_err("no such scheme");

    assert!(matches!(missing, Error::CredentialsMissing(names) if names == [header::AUTHORIZATION]));
    assert!(matches!(too_old, Error::TooOld { .. }), "{too_old}");
    assert!(matches!(unsendable, Error::Unsendable(_)), "{unsendable}");
    assert!(stub.got().is_empty());

    resumed.set_credential(header::AUTHORIZATION, HeaderValue::from_static("Bearer other")).expect("it may");
    client.send(&resumed).await.expect("an answer");
    assert_eq!(stub.got()[0].lines("authorization").collect::<Vec<_>>(), ["Bearer other"]);
}

#[tokio::test]
async fn an_answer_from_where_reqwest_was_redirected_to_is_not_the_operations() {
    let sign_in = Reply::Answer("302 Found\nLocation: /sign-in?next=orders");
    let stub = Stub::start([sign_in.clone(), Reply::Answer("200 OK\n\nWho are you?"), sign_in]).await;
    let (operation, none) = (order(stub.address, "tea"), reqwest::redirect::Policy::none());
    let unfollowing = reqwest::Client::builder().no_proxy().redirect(none).build().expect("a client");

    let followed = hasty().build().send(&operation).await.expect_err("another request's answer");
    let answered = IdempotentClient::new(unfollowing).send(&operation).await.expect("an answer");

    assert!(matches!(&followed, Error::Redirected(answer) if answer.status() == 200), "{followed:?}");
    assert_eq!((answered.status(), answered.attempts()), (StatusCode::FOUND, 1));
    assert!(stub.got()[1].head.starts_with("GET /sign-in"), "{:?}", stub.got());
}

// It was read whole, whatever its length: 200 MB of an error took as much memory.
#[tokio::test]
async fn an_answer_that_is_longer_than_is_taken_is_neither_read_nor_asked_for_again() {
    let stub = Stub::start([CREATED, CREATED]).await;
    let operation = order(stub.address, "tea");
    let length = hasty().build().send(&operation).await.expect("an answer").answer().body().len();

    let too_long = hasty().max_answer(length - 1).build().send(&operation).await.expect_err("too long");

    assert!(matches!(&too_long, Error::AnswerTooLarge(answer) if answer.status() == 201), "{too_long:?}");
    assert_eq!(stub.got().len(), 2);
}

#[tokio::test]
async fn the_key_is_one_line_whatever_the_client_adds_by_itself() {
    let stub = Stub::start([CREATED]).await;
    let name = HeaderName::from_static("idempotency-key");
    let defaults = [(name, HeaderValue::from_static("of-all-requests"))].into_iter().collect();
    let http = reqwest::Client::builder().no_proxy().default_headers(defaults).build().expect("a client");
    let operation = Operation::builder(post(stub.address, "/orders", "tea")).key("order-17").build();

    IdempotentClient::new(http).send(&operation.expect("an operation")).await.expect("an answer");

    assert_eq!(stub.got()[0].lines("idempotency-key").collect::<Vec<_>>(), ["\"order-17\""]);
}

// --- logs ----------------------------------------------------------------------------------------------

/// The events of the client, each with its level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("a string takes everything");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("idem_client") || metadata.target().starts_with("reqwest_retry")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn attempts_are_logged_and_no_level_above_debug_speaks_of_them() {
    let stub = Stub::start([UNAVAILABLE, Reply::ResetAnswer, CREATED]).await;
    let request = http().post(format!("http://{}/orders?token=secret", stub.address)).bearer_auth("secret");
    let operation = Operation::new(request.body("secret").build().expect("a request")).expect("an operation");
    let log = Log::default();

    let guard = tracing::subscriber::set_default(log.clone());
    hasty().build().send(&operation).await.expect("an answer");
    drop(guard);

    let events = log.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(events.iter().all(|(level, _)| *level == Level::DEBUG), "{events:?}");
    assert!(events.iter().all(|(_, text)| !text.contains("secret")), "{events:?}");
    assert!(events[0].1.contains(operation.key().as_str()), "{events:?}");
    for said in ["attempt=1 status=503", "attempt=2 error=", "attempt=3 status=201", "retry=2"] {
        assert!(events.iter().any(|(_, text)| text.contains(said)), "{said}: {events:?}");
    }
}
