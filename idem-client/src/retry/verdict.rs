//! Which answers end an operation, and which are a reason to send it again.

use std::time::{Duration, SystemTime};

use http::{StatusCode, header};

use super::after::retry_after;
use crate::answer::Answer;
use crate::problem::{Advice, Problem, stripe_code};

/// What an attempt means for the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Sending it again would change nothing.
    Final,
    /// The operation is to be sent again, not before the time that the server asks for.
    Again { asked: Option<Duration> },
}

impl Verdict {
    /// Judges an answer that has arrived whole, at the time `now`.
    ///
    /// By the status first; then the server may say otherwise. It may end any operation. It may prolong one only where
    /// the status does not say what is meant: 409. A 422 is final whatever stands in it.
    pub(crate) fn of_answer(answer: &Answer, now: SystemTime) -> Self {
        let may_change = match answer.status() {
            StatusCode::CONFLICT => is_in_progress(answer),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => true,
            status => status.is_server_error(),
        };
        // What is replayed is on record, and would be replayed again.
        if !may_change || answer.is_replay() || is_told_to_stop(answer) {
            return Self::Final;
        }
        Self::Again { asked: retry_after(answer.headers(), answer.problem(), now) }
    }

    /// Judges an attempt that brought no whole answer.
    ///
    /// Connections that fail or break, time-outs, half an answer: all leave open whether the work was done, so the same
    /// key is sent again. What reqwest refuses to send, or to follow, it will refuse again.
    pub(crate) fn of_error(error: &reqwest::Error) -> Self {
        if error.is_builder() || error.is_redirect() { Self::Final } else { Self::Again { asked: None } }
    }
}

/// Whether a 409 speaks of the first request with this key, which is still being carried out. One that names a time to
/// come again does, in whatever words: the body may be of the application's own shape.
fn is_in_progress(answer: &Answer) -> bool {
    if answer.headers().contains_key(header::RETRY_AFTER) {
        return true;
    }
    let problem = answer.problem();
    problem.is_some_and(|problem| {
        problem.code() == Some("idempotency_in_progress") || problem.advice() == Some(Advice::SameKey)
    }) || stripe_should_retry(answer) == Some(true)
        || stripe_code(answer.headers(), answer.body()).as_deref() == Some("idempotency_key_in_use")
}

fn is_told_to_stop(answer: &Answer) -> bool {
    let advice = answer.problem().and_then(Problem::advice);
    advice.is_some_and(|advice| advice != Advice::SameKey) || stripe_should_retry(answer) == Some(false)
}

/// What servers of Stripe's kind say in a header of their own.
fn stripe_should_retry(answer: &Answer) -> Option<bool> {
    match answer.headers().get("stripe-should-retry")?.as_bytes() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    const AGAIN: Verdict = Verdict::Again { asked: None };

    fn judge(status: u16, fields: &[(&'static str, &'static str)], body: &str) -> Verdict {
        let fields = fields.iter();
        let fields =
            fields.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers = fields.collect::<HeaderMap>();
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer::new(status, headers, Bytes::copy_from_slice(body.as_bytes()));
        Verdict::of_answer(&answer, SystemTime::UNIX_EPOCH)
    }

    fn judge_problem(status: u16, body: &str) -> Verdict {
        judge(status, &[("content-type", "application/problem+json")], body)
    }

    #[test]
    fn the_status_decides_where_the_server_says_nothing_else() {
        for status in [408, 425, 429, 500, 501, 502, 503, 504, 507, 599] {
            assert_eq!(judge(status, &[], ""), AGAIN, "{status}");
        }
        for status in
            [200, 201, 202, 204, 301, 303, 307, 400, 401, 402, 403, 404, 409, 410, 412, 422, 423, 451]
        {
            assert_eq!(judge(status, &[], ""), Verdict::Final, "{status}");
        }
    }

    #[test]
    fn a_409_is_repeated_if_it_says_that_the_first_request_is_in_progress() {
        assert_eq!(judge_problem(409, r#"{"code":"idempotency_in_progress"}"#), AGAIN);
        assert_eq!(judge_problem(409, r#"{"code":"busy","retry":"same_key"}"#), AGAIN);
        assert_eq!(
            judge_problem(409, r#"{"code":"idempotency_key_reused","retry":"never"}"#),
            Verdict::Final
        );
        assert_eq!(judge_problem(409, r#"{"code":"order_number_taken"}"#), Verdict::Final);

        let stripe = [("content-type", "application/json")];
        assert_eq!(judge(409, &stripe, r#"{"error":{"code":"idempotency_key_in_use"}}"#), AGAIN);
        assert_eq!(judge(409, &stripe, r#"{"error":{"code":"resource_missing"}}"#), Verdict::Final);
        assert_eq!(judge(409, &[("stripe-should-retry", "true")], ""), AGAIN);
    }

    // What a server with an error shape of its own keeps of the library's answer.
    #[test]
    fn a_409_that_says_when_to_come_again_is_repeated_whatever_its_body() {
        let later = ("retry-after", "1");
        let asked = Some(Duration::from_secs(1));
        let own = r#"{"code":"idempotency_in_progress","message":"Wait."}"#;

        assert_eq!(judge(409, &[later, ("content-type", "application/json")], own), Verdict::Again { asked });
        let never = [later, ("content-type", "application/problem+json")];
        assert_eq!(judge(409, &never, r#"{"retry":"never"}"#), Verdict::Final);
        assert_eq!(judge(409, &[later, ("stripe-should-retry", "false")], ""), Verdict::Final);
        assert_eq!(judge(422, &[later], ""), Verdict::Final);
    }

    #[test]
    fn the_server_can_end_what_its_status_would_prolong() {
        for advice in ["never", "new_key", "fix_request"] {
            for status in [409, 429, 500, 503] {
                let body = format!(r#"{{"code":"idempotency_in_progress","retry":"{advice}"}}"#);
                assert_eq!(judge_problem(status, &body), Verdict::Final, "{status} {advice}");
            }
        }
        assert_eq!(judge(500, &[("stripe-should-retry", "false")], ""), Verdict::Final);
        assert_eq!(judge_problem(500, r#"{"retry":"same_key"}"#), AGAIN);
        assert_eq!(judge_problem(500, r#"{"retry":"perhaps"}"#), AGAIN);
    }

    #[test]
    fn the_server_cannot_prolong_what_is_final() {
        for status in [400, 401, 422, 423] {
            assert_eq!(judge_problem(status, r#"{"retry":"same_key"}"#), Verdict::Final, "{status}");
            assert_eq!(judge(status, &[("stripe-should-retry", "true")], ""), Verdict::Final, "{status}");
        }
    }

    #[test]
    fn a_replay_is_final_whatever_it_says() {
        for status in [201, 402, 429, 500, 503] {
            assert_eq!(judge(status, &[("idempotent-replayed", "true")], ""), Verdict::Final, "{status}");
        }
        assert_eq!(judge(500, &[("idempotent-replayed", "false")], ""), AGAIN);
    }

    #[test]
    fn the_time_that_the_server_asks_for_is_part_of_the_verdict() {
        let asked = Some(Duration::from_secs(3));

        assert_eq!(judge(503, &[("retry-after", "3")], ""), Verdict::Again { asked });
        assert_eq!(judge_problem(503, r#"{"retry_after":3}"#), Verdict::Again { asked });
    }
}
