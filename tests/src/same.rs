//! What the protocol calls the same answer.

use crate::http::Answer;
use crate::problem::assert_problem;

/// The headers that are stored with every answer.
const STORED: [&str; 8] = [
    "content-type",
    "content-encoding",
    "content-language",
    "content-disposition",
    "location",
    "link",
    "etag",
    "last-modified",
];

/// Asserts that `again` is the same answer as `first`: the same status, the same stored headers in the same
/// order, a body of the same bytes, and the mark of a replay.
///
/// # Panics
/// If it is not.
#[track_caller]
pub fn assert_replays(first: &Answer, again: &Answer) {
    assert_eq!(again.status, first.status, "{again:?}");
    assert_eq!(again.body, first.body, "{again:?}");
    for name in STORED {
        let (values, expected) =
            (again.values(name).collect::<Vec<_>>(), first.values(name).collect::<Vec<_>>());
        assert_eq!(values, expected, "the header {name}");
    }
    assert!(again.is_replay(), "it says that it is a replay: {again:?}");
}

/// Asserts that `answer` comes from a run of the handler and has this status.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn assert_ran(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(answer.field("idempotent-replayed"), None, "a run of its own, not a replay: {answer:?}");
}

/// Asserts that one answer comes from a run, and every other is its replay or says that it is in progress.
///
/// # Panics
/// If it is otherwise.
#[track_caller]
pub fn assert_one_run(answers: &[Answer]) {
    let ran = answers.iter().filter(|answer| answer.status == 201 && !answer.is_replay()).collect::<Vec<_>>();
    assert_eq!(ran.len(), 1, "runs: {ran:?}");
    for answer in answers {
        if answer.status == 409 {
            assert_problem(answer, "idempotency_in_progress");
        } else if answer.is_replay() {
            assert_replays(ran[0], answer);
        } else {
            assert_eq!(answer, ran[0]);
        }
    }
}
