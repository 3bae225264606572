//! The shapes that an application may choose for the library's errors, and what else it may settle about answers.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, TenantId, insert_order};
use idem_runtime::{
    ErrorShape, IDEMPOTENT_REPLAYED, Idempotency, IdempotencyKey, KeyFormat, NoPolicy, Syntax, idempotent,
};
use serde_json::{Value as JsonValue, json};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Answer, r1};
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Script;
use crate::server::Server;

/// What is to be seen of an answer in Stripe's shape: status, body, whether to retry, the echoed key.
type Seen<'a> = (u16, JsonValue, Option<&'a str>, Option<&'a str>);

fn seen(answer: &Answer) -> Seen<'_> {
    answer.expected();
    assert_eq!(answer.field("content-type"), Some("application/json"), "{answer:?}");
    (answer.status, answer.json(), answer.field("stripe-should-retry"), answer.field("idempotency-key"))
}

async fn start_in_stripes_shape<DB: TestDatabase>(bench: &Bench<DB>) -> Server<DB> {
    bench.server().engine(|builder| builder.error_shape(ErrorShape::stripe())).start().await
}

// Cases: E-05, F-03
pub async fn stripes_clients_are_answered_as_by_stripe<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start_in_stripes_shape(bench).await;
    let slow = r1().path("/slow");

    let first = server.open_up_to_the_gate(&slow).await;
    let in_progress = server.send(&slow).await;
    server.gate().open();
    let first = first.answer().await;
    let replay = server.send(&slow).await;
    let reused = server.send(&slow.clone().body(r#"{"item":"tea","qty":2}"#)).await;
    let missing = server.send(&r1().without("Idempotency-Key")).await;
    let malformed = server.send(&r1().key("\"k-0001")).await;

    assert_eq!(
        seen(&in_progress),
        (
            409,
            json!({ "error": {
                "type": "idempotency_error",
                "code": "idempotency_key_in_use",
                "message": "There is currently another in-progress request using this Idempotent Key (that probably \
                            means you submitted twice, and the other request is still going through): k-0001. Please \
                            try again later.",
            } }),
            Some("true"),
            Some("k-0001"),
        )
    );
    assert_ran(&first, 201);
    assert_eq!((first.field("stripe-should-retry"), first.field("idempotency-key")), (None, Some("k-0001")));
    assert_replays(&first, &replay);
    assert_eq!(
        (replay.field("stripe-should-retry"), replay.field("idempotency-key")),
        (Some("false"), Some("k-0001"))
    );
    assert_eq!(
        seen(&reused),
        (
            400,
            json!({ "error": {
                "type": "idempotency_error",
                "message": "Keys for idempotent requests can only be used with the same parameters they were first \
                            used with. Try using a key other than 'k-0001' if you meant to execute a different \
                            request.",
            } }),
            Some("false"),
            Some("k-0001"),
        )
    );
    assert_eq!(
        seen(&missing),
        (
            400,
            json!({ "error": {
                "type": "invalid_request_error",
                "code": "idempotency_key_missing",
                "message": "This operation requires an Idempotency-Key header.",
            } }),
            Some("false"),
            None,
        )
    );
    assert_eq!(
        seen(&malformed),
        (
            400,
            json!({ "error": {
                "type": "invalid_request_error",
                "code": "idempotency_key_invalid",
                "message": "The Idempotency-Key header must be one string of 1 to 255 printable ASCII characters.",
            } }),
            Some("false"),
            None,
        )
    );
}

// Cases: E-05
pub async fn a_failure_in_stripes_shape_is_an_api_error<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::ok(|| vec![b'x'; 100]);
    let server = bench
        .server()
        .routes(script.routes())
        .engine(|builder| builder.error_shape(ErrorShape::stripe()).max_response(99))
        .start()
        .await;

    let failed = server.send(&r1()).await;
    server.app.idempotency.drain(Duration::from_secs(5)).await;
    let unavailable = server.send(&r1()).await;

    let error = |code: &str, message: &str| json!({ "error": { "type": "api_error", "code": code, "message": message } });
    assert_eq!(
        seen(&failed),
        (
            500,
            error("idempotency_response_not_storable", "The operation was rolled back."),
            Some("false"),
            Some("k-0001"),
        )
    );
    assert_eq!(
        seen(&unavailable),
        (
            503,
            error(
                "idempotency_store_unavailable",
                "The request was not run. Send the same request again later."
            ),
            Some("true"),
            Some("k-0001"),
        )
    );
    assert_eq!(unavailable.field("retry-after"), Some("1"));
}

// Cases: E-05
pub async fn an_echoed_key_can_be_sent_again<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start_in_stripes_shape(bench).await;

    for (sent, echoed) in [
        ("\"k-0002\";v=1", "k-0002"),
        ("\"k 0003\"", "\"k 0003\""),
        (r#""a\"b\\c""#, r#""a\"b\\c""#),
        ("\"a, b\"", "\"a, b\""),
    ] {
        let first = server.send(&r1().key(sent)).await;
        assert_ran(&first, 201);
        assert_eq!(first.field("idempotency-key"), Some(echoed), "{sent}");
        assert_replays(&first, &server.send(&r1().key(echoed)).await);
    }
    let strict = bench
        .server()
        .engine(|builder| builder.error_shape(ErrorShape::stripe()).syntax(Syntax::Strict))
        .start()
        .await;
    let replay = strict.send(&r1().key("\"k-0002\"")).await;
    assert!(replay.is_replay());
    assert_eq!(replay.field("idempotency-key"), Some("\"k-0002\""), "a bare one would be refused");
    let safe = server.send(&r1().method("GET").path("/things").body("")).await;
    assert_eq!(safe.field("idempotency-key"), None, "a key that is not looked at");
}

// Cases: E-05
pub async fn a_key_that_is_refused_is_not_echoed<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench
        .server()
        .engine(|builder| builder.error_shape(ErrorShape::stripe()).key_format(KeyFormat::Uuid))
        .start()
        .await;

    let refused = server.send(&r1()).await;

    assert_eq!((refused.status, refused.field("idempotency-key")), (400, None));
}

#[idempotent(scope = "tenant,endpoint", endpoint = "inner")]
async fn makes<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    item: String,
) -> Result<(StatusCode, String), AppError> {
    let order = NewOrder { item, qty: 1, order_no: None };
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok((StatusCode::CREATED, order.id.to_string()))
}

/// Passes on what another operation answered, under a key of its own.
async fn passes_on<DB: TestDatabase>(
    tenant: TenantId,
    State(idempotency): State<Idempotency<DB>>,
) -> Response {
    let key = IdempotencyKey::new("of-the-inner").expect("a key");
    makes(idempotency.guard(key, NoPolicy), tenant, "tea".to_owned()).await
}

#[idempotent(scope = "tenant,endpoint", required = false)]
async fn calls_another<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[context] State(app): State<App<DB>>,
) -> Response {
    passes_on(tenant, State(app.idempotency)).await
}

// Cases: E-05
pub async fn an_answer_that_is_passed_on_says_nothing_of_the_run_it_comes_from<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = bench
        .server()
        .routes(Router::new().route("/outer", post(calls_another::<DB>)))
        .engine(|builder| {
            builder.error_shape(ErrorShape::stripe()).acquire_timeout(Duration::from_millis(500))
        })
        .start()
        .await;

    let outer = r1().path("/outer");
    let first = server.send(&outer).await;
    let another = server.send(&outer.clone().key("k-0002")).await;
    let keyless = server.send(&outer.without("Idempotency-Key")).await;

    for (answer, key) in [(&first, Some("k-0001")), (&another, Some("k-0002")), (&keyless, None)] {
        assert_eq!((answer.field("idempotency-key"), answer.is_replay()), (key, false), "{answer:?}");
        assert_eq!(answer.body, first.body);
        if DB::WRITES_IN_PARALLEL {
            assert_ran(answer, 201);
            assert_eq!(answer.field("stripe-should-retry"), None);
        } else {
            // The inner operation waits for the writer that the outer one holds; its refusal is passed on.
            answer.expected();
            assert_eq!((answer.status, answer.field("stripe-should-retry")), (503, Some("true")));
        }
    }
    assert_eq!(bench.count("orders").await, i64::from(DB::WRITES_IN_PARALLEL));
}

// Cases: E-02
pub async fn every_error_links_to_the_documentation<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench
        .server()
        .engine(|builder| builder.documentation("https://api.test/docs/idempotency"))
        .start()
        .await;

    let missing = server.send(&r1().without("Idempotency-Key")).await;
    let first = server.send(&r1()).await;
    let reused = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;
    server.app.idempotency.drain(Duration::from_secs(5)).await;
    let unavailable = server.send(&r1()).await;

    assert_problem(&unavailable, "idempotency_store_unavailable");
    for refused in [missing, reused, unavailable] {
        assert_eq!(
            refused.field("link"),
            Some(r#"<https://api.test/docs/idempotency>; rel="describedby"; type="text/html""#)
        );
    }
    assert_ran(&first, 201);
    assert_eq!(first.field("link"), None);
}

// Cases: E-06
pub async fn an_application_may_word_the_errors_itself<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench
        .server()
        .engine(|builder| {
            builder.documentation("https://api.test/docs").error_shape(ErrorShape::custom(|refusal| {
                let body = json!({
                    "status": refusal.status().as_u16(),
                    "code": refusal.code(),
                    "type": refusal.type_uri(),
                    "title": refusal.title(),
                    "detail": refusal.detail(),
                    "retry": refusal.retry(),
                    "retry_after": refusal.retry_after().map(|delay| delay.as_secs()),
                    "reason": refusal.reason(),
                });
                // A status of its own, and headers that are the library's, are not taken.
                let headers = [(header::RETRY_AFTER, "60"), (header::CACHE_CONTROL, "public")];
                let own = [(HeaderName::from_static("x-own"), "1"), (IDEMPOTENT_REPLAYED, "true")];
                (StatusCode::IM_A_TEAPOT, headers, own, Json(body))
            }))
        })
        .start()
        .await;

    let slow = r1().path("/slow");
    let first = server.open_up_to_the_gate(&slow).await;
    let in_progress = server.send(&slow).await;
    server.gate().open();
    assert_ran(&first.answer().await, 201);
    let invalid = server.send(&r1().key("\"k-0001")).await;

    assert_eq!(in_progress.status, 409);
    assert_eq!(
        in_progress.json(),
        json!({
            "status": 409,
            "code": "idempotency_in_progress",
            "type": "https://idempotency.example/problems/in-progress",
            "title": "A request with this Idempotency-Key is in progress",
            "detail": "The first request with this Idempotency-Key has not finished. Send the same request again later.",
            "retry": "same_key",
            "retry_after": 1,
            "reason": null,
        })
    );
    assert_eq!(in_progress.values("retry-after").collect::<Vec<_>>(), [b"1"]);
    assert_eq!((invalid.status, &invalid.json()["reason"]), (400, &json!("syntax")));
    // Its own status and headers were left out, the library's are there.
    for (answer, retry_after) in [(&in_progress, Some("1")), (&invalid, None)] {
        assert_eq!(answer.field("content-type"), Some("application/json"));
        assert_eq!(answer.field("content-language"), Some("en"));
        assert_eq!(answer.values("cache-control").collect::<Vec<_>>(), [b"no-store"]);
        assert_eq!(answer.field("retry-after"), retry_after);
        assert_eq!(answer.field("x-own"), Some("1"));
        assert!(!answer.is_replay());
        assert!(answer.field("link").is_some_and(|link| link.starts_with("<https://api.test/docs>")));
    }
}

pub async fn replays_are_marked_as_the_application_says<DB: TestDatabase>(bench: &Bench<DB>) {
    let marker = HeaderName::from_static("x-idempotency-replay");
    let name = marker.clone();
    // What a handler passes on from another service is not this answer's.
    let script = Script::ok(|| {
        let passed_on = [(HeaderName::from_static("x-idempotency-replay"), "true")];
        (StatusCode::CREATED, passed_on, "made").into_response()
    });
    let server = bench
        .server()
        .routes(script.routes())
        .engine(|builder| builder.replay_marker(name).mark_first_answers(true).echo_key(true))
        .start()
        .await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.values(marker.as_str()).collect::<Vec<_>>(), [b"false"]);
    assert_eq!(again.values(marker.as_str()).collect::<Vec<_>>(), [b"true"]);
    for answer in [first, again] {
        assert_eq!(answer.field(IDEMPOTENT_REPLAYED.as_str()), None);
        assert_eq!(answer.field("idempotency-key"), Some("k-0001"));
        assert_eq!(answer.field("stripe-should-retry"), None);
    }
}
