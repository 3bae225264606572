//! Which methods a key protects.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use http_body::Frame;
use idem_examples::reference::{AppError, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::idempotent;
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::{Request, r1};
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

/// A handler for any method that takes no body.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn for_any_method<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok(StatusCode::OK)
}

fn with_key(method: &str, path: &str) -> Request {
    Request::new(method, path).field("X-Tenant", "t1").key("\"k-0001\"")
}

// Cases: Q-01
// Reports: B66
pub async fn a_get_ignores_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let get = with_key("GET", "/things");

    for request in [&get, &get, &get.clone().without("Idempotency-Key"), &get.clone().key("\"unbalanced")] {
        let answer = server.send(request).await;

        assert_ran(&answer, 200);
        assert_eq!(answer.text(), r#"{"things":0}"#);
    }
    assert_eq!(server.runs(), 4);
    assert_eq!(bench.key_rows().await, []);
}

// Cases: Q-01, Q-02
// Reports: B66
pub async fn safe_methods_run_each_time_with_or_without_a_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/any", any(for_any_method::<DB>));
    let server = bench.server().routes(routes).start().await;

    for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
        let before = server.runs();
        let request = with_key(method, "/any");
        let answers = [
            server.send(&request).await,
            server.send(&request).await,
            server.send(&request.without("Idempotency-Key")).await,
        ];

        for answer in answers {
            assert_ran(&answer, 200);
        }
        assert_eq!(server.runs() - before, 3, "{method}");
    }
    // They ran in a transaction, and it was committed.
    bench.assert_holds(0, 12).await;
}

/// A body in three parts that does not say how long it is.
struct Drip(u8);

impl HttpBody for Drip {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0 += 1;
        Poll::Ready((self.0 <= 3).then(|| Ok(Frame::data(Bytes::from_static(b"drip")))))
    }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn drips<DB: TestDatabase>(_tx: &mut Transaction<'_, DB>, tenant: TenantId) -> Response {
    let _ = tenant;
    Body::new(Drip(0)).into_response()
}

// Cases: Q-01, R-16
// Reports: B53
pub async fn a_get_may_answer_with_a_stream_and_a_post_with_a_key_may_not<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = bench.server().routes(Router::new().route("/drips", any(drips::<DB>))).start().await;

    let streamed = server.send(&with_key("GET", "/drips")).await;
    let refused = server.send(&with_key("POST", "/drips")).await;

    assert_ran(&streamed, 200);
    assert_eq!(streamed.text(), "dripdripdrip");
    assert_problem(&refused, "idempotency_response_not_storable");
    assert_eq!(bench.key_rows().await, []);
}

// Cases: Q-03
pub async fn a_put_that_adds_adds_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let put = with_key("PUT", "/counters/1");

    let first = server.send(&put).await;
    let again = server.send(&put).await;
    let next = server.send(&put.key("\"k-0002\"")).await;

    assert_ran(&first, 200);
    assert_eq!(first.text(), r#"{"n":1}"#);
    assert_replays(&first, &again);
    assert_eq!(next.text(), r#"{"n":2}"#);
}

// Cases: Q-04, S-09
pub async fn a_patch_is_applied_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let post = r1().path("/things").body(r#"{"name":"x"}"#);
    let patch = post.clone().method("PATCH");

    let created = server.send(&post).await;
    let first = server.send(&patch).await;
    let again = server.send(&patch).await;

    assert_ran(&created, 201);
    assert_ran(&first, 200);
    assert_eq!(first.text(), r#"{"renamed":1}"#);
    assert_replays(&first, &again);
    assert_eq!(bench.place.integer("SELECT count(*) FROM things WHERE name = 'xx'").await, 1);
}

// Cases: Q-05
pub async fn a_repeated_delete_gets_204_and_not_404<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let created = server.send(&r1().path("/things").body(r#"{"name":"x"}"#)).await;
    let delete = with_key("DELETE", &format!("/things/{}", created.id()));

    let first = server.send(&delete).await;
    let again = server.send(&delete).await;
    let with_another_key = server.send(&delete.key("\"k-0002\"")).await;

    assert_ran(&first, 204);
    assert_replays(&first, &again);
    assert_ran(&with_another_key, 404);
    assert_eq!(bench.count("things").await, 0);
}

// Cases: Q-06
pub async fn a_handler_without_the_attribute_runs_each_time<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1().path("/plain")).await;
    let again = server.send(&r1().path("/plain")).await;

    assert_ran(&first, 201);
    assert_ran(&again, 201);
    assert_ne!(first.id(), again.id());
    bench.assert_holds(0, 2).await;
}
