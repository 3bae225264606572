//! Which bodies are the same request, by what the handler reads them as.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Form, Json, Router};
use idem_examples::reference::{App, TenantId};
use idem_runtime::idempotent;
use serde::de::DeserializeOwned;
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value as JsonValue;
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Request, r1};
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::server::Server;

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn json<T, DB>(_tx: &mut Transaction<'_, DB>, tenant: TenantId, Json(_body): Json<T>) -> StatusCode
where
    T: DeserializeOwned + Serialize,
    DB: TestDatabase,
{
    StatusCode::CREATED
}

/// [`json`], compared by the body as it was received, so that the payload need not be `Serialize`.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn received<T, DB>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(body)] Json(_body): Json<T>,
) -> StatusCode
where
    T: DeserializeOwned,
    DB: TestDatabase,
{
    StatusCode::CREATED
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn form<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Form(_fields): Form<Pair>,
) -> StatusCode {
    StatusCode::CREATED
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn bytes<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    _body: Bytes,
) -> StatusCode {
    StatusCode::CREATED
}

#[derive(Deserialize, Serialize)]
struct Order {
    item: String,
    #[serde(default = "one")]
    qty: u64,
    note: Option<String>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize, Serialize)]
struct Whole<N> {
    amount: N,
}

#[derive(Deserialize, Serialize)]
struct Float {
    x: f64,
}

#[derive(Deserialize, Serialize)]
struct Text {
    s: String,
}

#[derive(Deserialize, Serialize)]
struct Either {
    a: TextOrNumber,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum TextOrNumber {
    Number(i64),
    Text(String),
}

#[derive(Deserialize, Serialize)]
struct Nested {
    a: Inner,
}

#[derive(Deserialize, Serialize)]
struct Inner {
    y: u8,
    x: Vec<Pair>,
}

#[derive(Deserialize, Serialize)]
struct Pair {
    #[serde(alias = "q")]
    a: u8,
    #[serde(alias = "p")]
    b: u8,
}

/// What the second of two bodies is to the first.
#[derive(Clone, Copy, Debug)]
enum Compared {
    Same,
    Other,
}
use Compared::{Other, Same};

/// The routes of a handler that reads the body as `T`, one that reads it as `T` too but is compared by what was
/// received, one that reads any JSON, and one that reads bytes.
fn readers<DB: TestDatabase, T: DeserializeOwned + Serialize + Send + 'static>() -> Router<App<DB>> {
    Router::new()
        .route("/typed", post(json::<T, DB>))
        .route("/received", post(received::<T, DB>))
        .route("/value", post(json::<JsonValue, DB>))
        .route("/bytes", post(bytes::<DB>))
}

/// Sends two bodies under one key and looks at what became of the second.
async fn compare<DB: TestDatabase>(
    server: &Server<DB>,
    request: Request,
    [one, other]: [&[u8]; 2],
    expected: Compared,
) {
    let request = request.fresh_key();

    let first = server.send(&request.clone().body(one)).await;
    let second = server.send(&request.body(other)).await;

    assert_ran(&first, 201);
    match expected {
        Same => assert_replays(&first, &second),
        Other => assert_problem(&second, "idempotency_key_reused"),
    }
}

/// Compares two JSON bodies as read by a type, as any JSON, which received JSON is as well, and as bytes, of which they
/// never are the same.
async fn assert_compared<T, DB>(bench: &Bench<DB>, bodies: [&str; 2], typed: Compared, value: Compared)
where
    T: DeserializeOwned + Serialize + Send + 'static,
    DB: TestDatabase,
{
    let server = bench.server().routes(readers::<DB, T>()).start().await;

    for (path, expected) in [("/typed", typed), ("/received", value), ("/value", value), ("/bytes", Other)] {
        compare(&server, r1().path(path), bodies.map(str::as_bytes), expected).await;
    }
}

// Cases: B-01
// Reports: B14
pub async fn the_order_of_members_does_not_matter<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = [r#"{"item":"tea","qty":1}"#, r#"{"qty":1,"item":"tea"}"#];

    assert_compared::<Order, DB>(bench, bodies, Same, Same).await;
}

// Cases: B-02
// Reports: B14
pub async fn whitespace_does_not_matter<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = [r#"{"item":"tea","qty":1}"#, "{ \"item\" : \"tea\",\n \"qty\" : 1 }"];

    assert_compared::<Order, DB>(bench, bodies, Same, Same).await;
}

// Cases: B-03
pub async fn a_whole_float_is_the_integer_where_floats_are_read<DB: TestDatabase>(bench: &Bench<DB>) {
    for other in [r#"{"amount":1.0}"#, r#"{"amount":1e0}"#] {
        assert_compared::<Whole<f64>, DB>(bench, [r#"{"amount":1}"#, other], Same, Same).await;
    }
}

// Cases: B-03
pub async fn a_float_where_an_integer_is_read_is_refused_by_axum<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(readers::<DB, Whole<i64>>()).start().await;

    let refused = server.send(&r1().path("/typed").body(r#"{"amount":1.0}"#)).await;

    assert_ran(&refused, 422);
    assert_eq!(refused.field("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(bench.key_rows().await, []);
}

// Cases: B-04
pub async fn integers_beyond_a_double_are_told_apart<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = [r#"{"amount":9007199254740992}"#, r#"{"amount":9007199254740993}"#];

    assert_compared::<Whole<u64>, DB>(bench, bodies, Other, Other).await;
    assert_compared::<Whole<i64>, DB>(bench, bodies, Other, Other).await;
    assert_compared::<Whole<u128>, DB>(bench, bodies, Other, Other).await;
    assert_compared::<Whole<i128>, DB>(bench, bodies, Other, Other).await;
}

// Cases: B-05
pub async fn zero_has_no_sign<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_compared::<Float, DB>(bench, [r#"{"x":0.0}"#, r#"{"x":-0.0}"#], Same, Same).await;
}

// Cases: B-06, B-07
// Reports: B14
pub async fn the_spelling_of_a_string_does_not_matter<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_compared::<Text, DB>(bench, [r#"{"s":"tea"}"#, r#"{"s":"\u0074ea"}"#], Same, Same).await;
    assert_compared::<Text, DB>(bench, [r#"{"s":"a/b"}"#, r#"{"s":"a\/b"}"#], Same, Same).await;
}

// Cases: B-08
pub async fn unicode_is_not_normalised<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = ["{\"s\":\"\u{c5}\"}", r#"{"s":"A\u030a"}"#];

    assert_compared::<Text, DB>(bench, bodies, Other, Other).await;
}

// Cases: B-09
// Reports: B15
pub async fn the_order_of_elements_matters<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_compared::<Vec<u8>, DB>(bench, ["[1,2]", "[2,1]"], Other, Other).await;
}

// Cases: B-10
pub async fn a_member_the_handler_does_not_read_is_not_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = [r#"{"item":"tea"}"#, r#"{"item":"tea","memo":"x"}"#];

    assert_compared::<Order, DB>(bench, bodies, Same, Other).await;
}

// Cases: B-11
pub async fn absent_and_null_are_the_same_where_they_read_the_same<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = [r#"{"item":"tea"}"#, r#"{"item":"tea","note":null}"#];

    assert_compared::<Order, DB>(bench, bodies, Same, Other).await;
}

// Cases: B-12
pub async fn absent_and_the_default_are_the_same<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = [r#"{"item":"tea"}"#, r#"{"item":"tea","qty":1}"#];

    assert_compared::<Order, DB>(bench, bodies, Same, Other).await;
}

// Cases: B-13
pub async fn a_number_is_not_its_digits<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_compared::<Either, DB>(bench, [r#"{"a":1}"#, r#"{"a":"1"}"#], Other, Other).await;
}

// Cases: B-14
// Reports: B15
pub async fn members_are_sorted_at_every_depth<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = [r#"{"a":{"y":1,"x":[{"q":1,"p":2}]}}"#, r#"{"a":{"x":[{"p":2,"q":1}],"y":1}}"#];

    assert_compared::<Nested, DB>(bench, bodies, Same, Same).await;
}

// Cases: B-15
pub async fn members_beyond_ascii_are_sorted<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies =
        [r#"{"\u20ac":1,"\ufb33":2,"\ud83d\ude02":3}"#, r#"{"\ud83d\ude02":3,"\ufb33":2,"\u20ac":1}"#];

    assert_compared::<BTreeMap<String, u8>, DB>(bench, bodies, Same, Same).await;
    assert_compared::<HashMap<String, u8>, DB>(bench, bodies, Same, Same).await;
}

// Cases: B-16
pub async fn a_hash_map_is_the_same_whatever_its_order<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(readers::<DB, HashMap<String, u8>>()).start().await;
    let members = (0..20).map(|n| format!("\"member-{n}\":{n}")).collect::<Vec<_>>().join(",");
    let request = r1().path("/typed").body(format!("{{{members}}}"));

    // Every map of std has its own random order, as it has in every process.
    let first = server.send(&request).await;
    for _ in 0..100 {
        assert_replays(&first, &server.send(&request).await);
    }
}

// Cases: B-17
pub async fn a_set_is_the_same_if_it_is_sorted<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies = [r#"["a","b","c"]"#, r#"["c","a","b"]"#];

    // A `HashSet` is written in an order of its own each time, and the order of elements counts.
    assert_compared::<BTreeSet<String>, DB>(bench, bodies, Same, Other).await;
}

// Cases: B-18
pub async fn the_order_of_form_fields_does_not_matter<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/form", post(form::<DB>)).route("/bytes", post(bytes::<DB>));
    let server = bench.server().routes(routes).start().await;

    for (path, expected) in [("/form", Same), ("/bytes", Other)] {
        let request = r1().path(path).set("Content-Type", "application/x-www-form-urlencoded");
        compare(&server, request, [b"a=1&b=2", b"b=2&a=1"], expected).await;
    }
}

#[derive(Deserialize, Serialize)]
struct WithTrace {
    item: String,
    #[serde(skip_serializing)]
    #[expect(dead_code, reason = "read, and left out of the comparison")]
    trace: String,
}

// Cases: B-20
// Reports: B59
pub async fn a_field_that_is_not_serialized_is_not_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(readers::<DB, WithTrace>()).start().await;
    let bodies = [r#"{"item":"tea","trace":"1"}"#, r#"{"item":"tea","trace":"2"}"#];

    compare(&server, r1().path("/typed"), bodies.map(str::as_bytes), Same).await;
}

/// [`Order`] after a deploy that adds a field.
#[derive(Deserialize, Serialize)]
struct LaterOrder {
    item: String,
    #[serde(default = "one")]
    qty: u64,
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    voucher: Option<String>,
}

// Cases: B-23
// Reports: B28
pub async fn an_optional_field_can_be_added_by_a_deploy<DB: TestDatabase>(bench: &Bench<DB>) {
    let old = bench.server().routes(readers::<DB, Order>()).start().await;
    let new = bench.server().routes(readers::<DB, LaterOrder>()).start().await;
    let request = r1().path("/typed");

    let first = old.send(&request).await;
    let again = new.send(&request).await;
    let other = new.send(&request.body(r#"{"item":"tea","qty":1,"voucher":"x"}"#)).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&other, "idempotency_key_reused");
}

/// A payload that can be read and not written.
#[derive(Deserialize)]
struct Unwritable {}

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("out of ink"))
    }
}

/// A payload that JSON has no words for.
#[derive(Deserialize, Serialize)]
struct NotANumber {
    #[serde(skip_deserializing, default = "nan")]
    x: f64,
}

fn nan() -> f64 {
    f64::NAN
}

// Cases: B-25
pub async fn a_payload_without_a_canonical_form_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let unwritable = bench.server().routes(readers::<DB, Unwritable>()).start().await;
    let not_a_number = bench.server().routes(readers::<DB, NotANumber>()).start().await;

    for server in [unwritable, not_a_number] {
        let answer = server.send(&r1().path("/typed")).await;

        assert_problem(&answer, "idempotency_fingerprint_failed");
    }
    assert_eq!(bench.key_rows().await, []);
}
