//! What a request comes to, and what is kept of a handler's answer.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::response::Parts;
use http_body::Body as _;
use http_body_util::{BodyExt as _, Limited};

use crate::error::Error;
use crate::execute::{Stop, execute};
use crate::fingerprint::Digest;
use crate::idempotency::Inner;
use crate::options::Rules;
use crate::problem::Problem;
use crate::replay::StoredResponse;
use crate::store::{Cause, Found, Store, shown};

/// What a request comes to. [`Reply`](crate::reply::Reply) makes a response of it.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The handler's own, given for the first time, and what became of its run.
    First(Response, Fate),
    /// What is stored of an earlier request's.
    Replay(StoredResponse),
    /// The library's, in the handler's place.
    Problem(Problem),
}

/// What became of a run that its handler answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It committed, with the answer if it has a key.
    Committed,
    /// It was rolled back, and its answer is stored.
    Recorded,
    /// It was rolled back, and nothing is stored.
    Forgotten,
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl<DB: Store> Inner<DB> {
    /// Collects a body within `limit` and keeps what will be replayed.
    ///
    /// # Errors
    /// That the response is not storable, if its body is too large, has no known length, or fails; the same as for a
    /// handler, if it does not end in time.
    pub(crate) async fn keep(
        &self,
        rules: &Rules,
        parts: &Parts,
        body: Body,
        limit: Duration,
    ) -> Result<(StoredResponse, Bytes), Problem> {
        let body = collect(body, rules.max_response, limit).await.map_err(|why| {
            tracing::error!(why, "an answer cannot be stored");
            if why == OVER_LIMIT { Problem::Transient } else { Problem::ResponseNotStorable }
        })?;
        Ok((StoredResponse::keep(parts, body.clone(), &rules.replay_headers), body))
    }

    /// Checks the table before the first reservation.
    pub(crate) async fn check_once(&self, connection: &mut DB::Connection) -> Result<(), Problem> {
        self.check(connection).await.map_err(|error| {
            match &error {
                Error::Misconfigured(what) => tracing::error!(what, "no key can be reserved"),
                Error::Store(error) => tracing::error!(error = %shown(error), "no key can be reserved"),
                Error::ReadOnly => tracing::error!(%error, "no key can be reserved"),
            }
            match error {
                Error::Misconfigured(_) => Problem::StoreMisconfigured,
                Error::Store(error) if Cause::of(&error) == Cause::Misconfigured => {
                    Problem::StoreMisconfigured
                }
                Error::Store(_) | Error::ReadOnly => Problem::StoreUnavailable,
            }
        })
    }
}

/// What a live row says to a request with this fingerprint.
pub(crate) fn answer_from(found: &Found, fingerprint: &Digest) -> Answer {
    match found {
        Found::Completed(row) if row.is_of(fingerprint) => match &row.response {
            Some(stored) => Answer::Replay(stored.clone()),
            None => Answer::Problem(Problem::NeedsReconciliation),
        },
        // A message, if the scope has the parts of an inbox, is another request too: its work is done.
        Found::Completed(_) | Found::Message(_) => Answer::Problem(Problem::KeyReused),
        Found::Broken(_) => Answer::Problem(Problem::NeedsReconciliation),
        Found::Collision => {
            tracing::error!("two idempotency keys have the same row id; the second is refused");
            Answer::Problem(Problem::KeyReused)
        }
    }
}

/// Why a body is not kept that would have been, had it ended in time.
const OVER_LIMIT: &str = "its body did not end within the run limit";

/// The whole of a body whose length is known beforehand and at most `max` bytes. One without a length is a stream,
/// which may never end.
async fn collect(body: Body, max: usize, limit: Duration) -> Result<Bytes, &'static str> {
    let collecting = async {
        let length = body.size_hint().exact().ok_or("its length is not known, as a stream's")?;
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= max) else {
            return Err("it is larger than `max_response`");
        };
        // Limited, because the length is only what the body says of itself.
        let Ok(collected) = Limited::new(body, length).collect().await else {
            return Err("its body failed, or is longer than it said");
        };
        let body = collected.to_bytes();
        if body.len() == length { Ok(body) } else { Err("it is shorter than it said") }
    };
    // All of it, because the length is asked of the application's code too.
    match execute(limit, collecting).await {
        Ok(collected) => collected,
        Err(Stop::OverLimit) => Err(OVER_LIMIT),
        Err(Stop::Panicked(_)) => Err("its body panicked"),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body::{Frame, SizeHint};

    use super::*;

    /// A body of one frame that says it is `says` bytes long.
    struct Says {
        says: Option<u64>,
        frame: Option<&'static [u8]>,
    }

    impl http_body::Body for Says {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.frame.take().map(|bytes| Ok(Frame::data(Bytes::from_static(bytes)))))
        }

        fn size_hint(&self) -> SizeHint {
            self.says.map(SizeHint::with_exact).unwrap_or_default()
        }
    }

    fn collected(body: Body, max: usize) -> Result<Bytes, &'static str> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(collect(body, max, Duration::from_secs(20)))
    }

    fn says(says: impl Into<Option<u64>>, frame: &'static [u8]) -> Body {
        Body::new(Says { says: says.into(), frame: Some(frame) })
    }

    #[test]
    fn a_body_of_the_largest_size_is_kept_and_one_byte_more_is_not() {
        assert_eq!(collected(says(4, b"abcd"), 4).as_deref(), Ok(&b"abcd"[..]));
        assert_eq!(collected(says(5, b"abcde"), 4), Err("it is larger than `max_response`"));
        assert_eq!(collected(says(0, b""), 0).as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn a_body_that_says_no_length_is_not_kept() {
        assert_eq!(collected(says(None, b"abcd"), 4), Err("its length is not known, as a stream's"));
    }

    // Twenty megabytes were kept of a body that said two bytes.
    #[test]
    fn a_body_of_another_length_than_it_says_is_not_kept() {
        assert_eq!(collected(says(2, b"abc"), 9), Err("its body failed, or is longer than it said"));
        assert_eq!(collected(says(2, b"a"), 9), Err("it is shorter than it said"));
        assert_eq!(collected(says(u64::MAX, b"a"), 9), Err("it is larger than `max_response`"));
    }
}
