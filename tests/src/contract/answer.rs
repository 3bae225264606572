//! What an answer is made of: a body that is not what it says, and marks that speak of another run.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::middleware::map_response;
use axum::response::{IntoResponse as _, Response};
use http_body::{Frame, SizeHint};
use idem_runtime::{DoNotRecord, KeepWrites, Record};

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Script;

/// A body that says it is `says` bytes long, whatever its frames hold.
struct Says {
    length: u64,
    frames: VecDeque<&'static [u8]>,
    /// How many frames were taken, of all such bodies of a test.
    taken: Arc<AtomicUsize>,
}

impl Says {
    fn answer(length: u64, frames: &[&'static [u8]], taken: &Arc<AtomicUsize>) -> Response {
        let frames = frames.iter().copied().collect();
        Response::new(Body::new(Self { length, frames, taken: Arc::clone(taken) }))
    }
}

impl http_body::Body for Says {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = self.frames.pop_front();
        if frame.is_some() {
            self.taken.fetch_add(1, Ordering::SeqCst);
        }
        Poll::Ready(frame.map(|bytes| Ok(Frame::data(Bytes::from_static(bytes)))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

// The limit was kept for what the body said, so that twenty megabytes of a body of "two bytes" were stored.
pub async fn a_body_of_another_length_than_it_says_is_rolled_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let taken = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&taken);
    let script = Script::new(move |run| {
        Ok(match run {
            1 => Says::answer(2, &[b"ab", b"cd", b"ef", b"gh"], &count),
            2 => Says::answer(8, &[b"ab"], &count),
            _ => Says::answer(2, &[b"a", b"b"], &count),
        })
    });
    let server = bench.server().routes(script.routes()).start().await;

    assert_problem(&server.send(&r1()).await, "idempotency_response_not_storable");
    assert_eq!(taken.load(Ordering::SeqCst), 2, "no more is taken than shows that it is too long");
    assert_problem(&server.send(&r1()).await, "idempotency_response_not_storable");
    bench.assert_holds(0, 0).await;
    let first = server.send(&r1()).await;

    assert_ran(&first, 200);
    assert_eq!(first.text(), "ab");
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

/// A body that panics when it is asked for its length, or for a frame.
struct Panics {
    for_its_length: bool,
}

impl http_body::Body for Panics {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        panic!("the body panics")
    }

    fn size_hint(&self) -> SizeHint {
        assert!(!self.for_its_length, "the length panics");
        SizeHint::with_exact(2)
    }
}

// The panic ended the run's task, so that nobody waited for its ROLLBACK and a retry met what was left of it.
pub async fn a_body_that_panics_is_rolled_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 | 2 => Ok(Response::new(Body::new(Panics { for_its_length: run == 1 }))),
        3 | 4 => Err((
            StatusCode::UNPROCESSABLE_ENTITY,
            Response::new(Body::new(Panics { for_its_length: run == 3 })),
        )
            .into_response()),
        _ => Ok(StatusCode::CREATED.into_response()),
    });
    let server = bench.server().connections(1).routes(script.routes()).start().await;

    for _ in 1..=4 {
        assert_problem(&server.send(&r1()).await, "idempotency_response_not_storable");
        bench.assert_holds(0, 0).await;
    }
    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

// A handler that passes an answer on, from another service or another handler, passed the mark on as well.
pub async fn a_first_answer_never_says_that_it_is_a_replay<DB: TestDatabase>(bench: &Bench<DB>) {
    let marked = |status: StatusCode| (status, [("Idempotent-Replayed", "true")], "passed on");
    let kept = StatusCode::CREATED;
    let refused = StatusCode::UNPROCESSABLE_ENTITY;
    let failed = StatusCode::INTERNAL_SERVER_ERROR;
    let script = Script::new(move |run| match run {
        1 => Ok(marked(kept).into_response()),
        2 => Err(marked(refused).into_response()),
        _ => Err(marked(failed).into_response()),
    });
    let server = bench.server().routes(script.routes()).start().await;

    for (status, is_stored) in [(kept, true), (refused, true), (failed, false)] {
        let request = r1().fresh_key();

        let first = server.send(&request).await;
        let again = server.send(&request).await;

        assert_ran(&first, status.as_u16());
        assert_eq!(first.text(), "passed on");
        if is_stored {
            assert_replays(&first, &again);
            assert_eq!(again.values("idempotent-replayed").count(), 1);
        } else {
            assert_ran(&again, status.as_u16());
        }
    }
    assert_eq!(script.runs(), 4);
}

/// Says which markers an answer carries when it leaves the handler.
async fn show_markers(mut response: Response) -> Response {
    let extensions = response.extensions();
    let markers = [
        extensions.get::<KeepWrites>().is_some(),
        extensions.get::<Record>().is_some(),
        extensions.get::<DoNotRecord>().is_some(),
    ];
    let shown = format!("{markers:?}").parse().expect("printable ASCII");
    response.headers_mut().insert("x-markers", shown);
    response
}

// The marker of an inner handler decided for the outer one, which passed the answer on.
pub async fn no_marker_leaves_with_its_answer<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 => Ok((StatusCode::PAYMENT_REQUIRED, KeepWrites).into_response()),
        2 => Err((StatusCode::FORBIDDEN, Record).into_response()),
        _ => Err((StatusCode::CONFLICT, DoNotRecord).into_response()),
    });
    let server = bench
        .server()
        .routes(script.routes())
        .wrap(|router| router.layer(map_response(show_markers)))
        .start()
        .await;

    for status in [402, 403, 409] {
        let first = server.send(&r1().fresh_key()).await;

        assert_ran(&first, status);
        assert_eq!(first.field("x-markers"), Some("[false, false, false]"));
    }
    bench.assert_holds(2, 1).await;
}
