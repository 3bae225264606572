//! The table of outcomes (G-13), row by row, and what holds for every outcome.

use http::{Extensions, HeaderValue, Response, StatusCode, header, response};

use super::Plan::{CommitAndRecord, ProbeThenRecord, Refuse, RollBackAndRecord, RollBackAndSend};
use super::RecordRule::{All, Decided, Success};
use super::Verdict::{Looked, Ok, Plain, Transient, Unknown};
use super::markers::Marks;
use super::{DoNotRecord, KeepWrites, Plan, Record, RecordRule, Verdict, commits_without_key, plan};

/// Every status that some rule names, and others of each class.
const STATUSES: [u16; 30] = [
    200, 201, 202, 204, 299, 301, 303, 304, 399, 400, 401, 402, 403, 404, 408, 409, 422, 425, 428, 429, 451,
    499, 500, 501, 502, 503, 504, 505, 599, 999,
];
const NOT_NOW: [u16; 6] = [408, 425, 429, 502, 503, 504];
const RULES: [RecordRule; 3] = [Decided, All, Success];
const VALUES: [Verdict; 2] = [Plain, Ok];
const ERRORS: [Verdict; 2] = [Looked, Unknown];

#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    status: u16,
    retry_after: bool,
    marks: Marks,
}

impl Answer {
    fn new(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// The same answer under each set of markers, and with and without `Retry-After`.
    fn variants(status: u16) -> impl Iterator<Item = Self> {
        (0_u8..16).map(move |bits| Self {
            status,
            retry_after: bits & 1 != 0,
            marks: Marks { keep_writes: bits & 2 != 0, record: bits & 4 != 0, do_not_record: bits & 8 != 0 },
        })
    }

    fn retry_after(self) -> Self {
        Self { retry_after: true, ..self }
    }

    fn keep_writes(self) -> Self {
        Self { marks: Marks { keep_writes: true, ..self.marks }, ..self }
    }

    fn record(self) -> Self {
        Self { marks: Marks { record: true, ..self.marks }, ..self }
    }

    fn do_not_record(self) -> Self {
        Self { marks: Marks { do_not_record: true, ..self.marks }, ..self }
    }

    fn parts(self) -> response::Parts {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(self.status).expect("a valid status");
        if self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
        }
        let extensions: &mut Extensions = response.extensions_mut();
        if self.marks.keep_writes {
            extensions.insert(KeepWrites);
        }
        if self.marks.record {
            extensions.insert(Record);
        }
        if self.marks.do_not_record {
            extensions.insert(DoNotRecord);
        }
        response.into_parts().0
    }
}

#[track_caller]
fn assert_plan(verdict: Verdict, answer: Answer, rule: RecordRule, expected: Plan) {
    assert_eq!(plan(verdict, &answer.parts(), rule), expected, "{verdict:?} {answer:?} {rule:?}");
}

#[test]
fn a_success_commits_with_its_record_under_every_rule() {
    for rule in RULES {
        for verdict in VALUES {
            for status in [200, 201, 202, 204, 303, 399] {
                assert_plan(verdict, Answer::new(status), rule, CommitAndRecord);
                // on a success it says when to look again.
                assert_plan(verdict, Answer::new(status).retry_after(), rule, CommitAndRecord);
                // The markers that ask for a record ask for what is done anyway.
                assert_plan(verdict, Answer::new(status).record(), rule, CommitAndRecord);
                assert_plan(verdict, Answer::new(status).keep_writes(), rule, CommitAndRecord);
                assert_plan(verdict, Answer::new(status).retry_after().keep_writes(), rule, CommitAndRecord);
            }
        }
    }
}

#[test]
fn an_error_returned_as_an_answer_is_stored_without_its_writes() {
    //
    for verdict in VALUES {
        for status in [400, 402, 404, 409, 422, 500, 501, 599] {
            // `impl IntoResponse` may hide an `Err` of the database's in a 5xx.
            let stored = if status < 500 { RollBackAndRecord } else { ProbeThenRecord };
            assert_plan(verdict, Answer::new(status), Decided, stored);
            assert_plan(verdict, Answer::new(status), All, stored);
            assert_plan(verdict, Answer::new(status), Success, RollBackAndSend);
            // The marker is about this answer, the rule about all of them.
            assert_plan(verdict, Answer::new(status).record(), Success, RollBackAndRecord);
        }
    }
}

#[test]
fn an_err_below_500_is_stored_without_its_writes() {
    //
    for verdict in ERRORS {
        for status in [200, 303, 400, 402, 409, 422, 499] {
            assert_plan(verdict, Answer::new(status), Decided, RollBackAndRecord);
            assert_plan(verdict, Answer::new(status), All, RollBackAndRecord);
            assert_plan(verdict, Answer::new(status), Success, RollBackAndSend);
        }
    }
}

#[test]
fn an_err_of_500_and_above_is_not_stored_unless_asked_for() {
    //
    for verdict in ERRORS {
        for status in [500, 501, 505, 599] {
            assert_plan(verdict, Answer::new(status), Decided, RollBackAndSend);
            assert_plan(verdict, Answer::new(status), Success, RollBackAndSend);
            assert_plan(verdict, Answer::new(status), All, ProbeThenRecord);
            for rule in RULES {
                assert_plan(verdict, Answer::new(status).record(), rule, RollBackAndRecord);
            }
        }
    }
}

#[test]
fn what_speaks_of_the_caller_is_not_stored_unless_asked_for() {
    //
    for verdict in [Plain, Ok, Looked, Unknown] {
        for status in [401, 403] {
            assert_plan(verdict, Answer::new(status), Decided, RollBackAndSend);
            assert_plan(verdict, Answer::new(status), Success, RollBackAndSend);
            assert_plan(verdict, Answer::new(status), All, RollBackAndRecord);
            for rule in RULES {
                assert_plan(verdict, Answer::new(status).record(), rule, RollBackAndRecord);
                assert_plan(verdict, Answer::new(status).keep_writes(), rule, CommitAndRecord);
            }
        }
    }
}

#[test]
fn not_now_is_never_stored() {
    //
    for rule in RULES {
        for verdict in [Plain, Ok, Looked, Unknown] {
            for answer in NOT_NOW.map(Answer::new).into_iter().chain([
                Answer::new(409).retry_after(),
                Answer::new(403).retry_after(),
                Answer::new(422).retry_after(),
                Answer::new(500).retry_after(),
            ]) {
                assert_plan(verdict, answer, rule, RollBackAndSend);
                assert_plan(verdict, answer.do_not_record(), rule, RollBackAndSend);
                assert_plan(verdict, answer.record(), rule, Refuse);
                assert_plan(verdict, answer.keep_writes(), rule, Refuse);
            }
        }
    }
}

#[test]
fn a_transient_err_is_never_stored() {
    // T-13
    for rule in RULES {
        for status in [303, 400, 401, 409, 422, 500, 503] {
            assert_plan(Transient, Answer::new(status), rule, RollBackAndSend);
            assert_plan(Transient, Answer::new(status).record(), rule, Refuse);
            assert_plan(Transient, Answer::new(status).keep_writes(), rule, Refuse);
        }
    }
}

#[test]
fn an_error_marked_do_not_record_is_sent_and_not_stored() {
    for rule in RULES {
        for verdict in [Plain, Ok, Looked, Unknown, Transient] {
            for status in [400, 401, 402, 422, 429, 500, 503] {
                assert_plan(verdict, Answer::new(status).do_not_record(), rule, RollBackAndSend);
            }
        }
    }
}

#[test]
fn an_answer_below_400_marked_do_not_record_is_refused() {
    for rule in RULES {
        for verdict in [Plain, Ok, Looked, Unknown, Transient] {
            for status in [200, 202, 303] {
                assert_plan(verdict, Answer::new(status).do_not_record(), rule, Refuse);
            }
        }
    }
}

#[test]
fn markers_that_contradict_each_other_are_refused() {
    for rule in RULES {
        for verdict in [Plain, Ok, Looked, Unknown, Transient] {
            for status in STATUSES {
                let answer = Answer::new(status).do_not_record();
                assert_plan(verdict, answer.record(), rule, Refuse);
                assert_plan(verdict, answer.keep_writes(), rule, Refuse);
            }
        }
    }
}

#[test]
fn keep_writes_commits_an_error_with_its_record() {
    // R-23, in the order of its list; the swallowed SQL error is found when the commit is refused.
    for verdict in ERRORS {
        assert_plan(verdict, Answer::new(422).keep_writes(), Decided, CommitAndRecord);
        assert_plan(verdict, Answer::new(500).keep_writes(), Decided, CommitAndRecord);
    }
    assert_plan(Ok, Answer::new(429).keep_writes(), Decided, Refuse);
    assert_plan(Ok, Answer::new(402).keep_writes().do_not_record(), Decided, Refuse);
    assert_plan(Ok, Answer::new(402).keep_writes(), Success, CommitAndRecord);
    assert_plan(Ok, Answer::new(402).keep_writes().record(), Success, CommitAndRecord);
    assert_plan(Unknown, Answer::new(500).keep_writes(), All, CommitAndRecord);
}

#[test]
fn an_upgrade_is_refused() {
    // G-17
    for rule in RULES {
        for verdict in [Plain, Ok, Looked, Unknown, Transient] {
            assert_plan(verdict, Answer::new(101), rule, Refuse);
        }
    }
}

#[test]
fn what_holds_for_every_outcome() {
    for verdict in [Plain, Ok, Looked, Unknown, Transient] {
        for answer in STATUSES.into_iter().flat_map(Answer::variants) {
            for rule in RULES {
                let plan = plan(verdict, &answer.parts(), rule);
                let succeeded = VALUES.contains(&verdict) && answer.status < 400;
                let recorded = matches!(plan, CommitAndRecord | RollBackAndRecord | ProbeThenRecord);
                let case = format!("{verdict:?} {answer:?} {rule:?} {plan:?}");

                // Writes stay only with a success, or where the handler asked for it.
                assert!(plan != CommitAndRecord || succeeded || answer.marks.keep_writes, "{case}");
                // A success is stored with its writes, or nobody hears of it.
                assert!(!succeeded || matches!(plan, CommitAndRecord | Refuse), "{case}");
                // What was asked to stay out of the record does.
                assert!(!(recorded && answer.marks.do_not_record), "{case}");
                // A retry that was invited is not met by a record.
                assert!(!(recorded && (verdict == Transient || NOT_NOW.contains(&answer.status))), "{case}");
                assert!(!(recorded && answer.status >= 400 && answer.retry_after), "{case}");
                // Only a contradiction in the markers is refused.
                let marked = answer.marks.keep_writes || answer.marks.record || answer.marks.do_not_record;
                assert!(plan != Refuse || marked, "{case}");
                // Asked for, an answer is stored or refused, never quietly left out.
                assert!(
                    plan != RollBackAndSend || !(answer.marks.record || answer.marks.keep_writes),
                    "{case}"
                );
                // The probe is for what may be the database's failure.
                assert!(plan != ProbeThenRecord || (rule != Success && answer.status >= 500), "{case}");
            }
        }
    }
}

#[test]
fn without_a_key_a_success_commits_and_anything_else_rolls_back() {
    for status in STATUSES {
        for verdict in [Plain, Ok, Looked, Unknown, Transient] {
            let commits = commits_without_key(verdict, &Answer::new(status).parts());

            assert_eq!(commits, VALUES.contains(&verdict) && status < 400, "{verdict:?} {status}");
        }
    }
}

#[test]
fn without_a_key_keep_writes_commits_too() {
    assert!(commits_without_key(Ok, &Answer::new(402).keep_writes().parts()));
    assert!(commits_without_key(Unknown, &Answer::new(500).keep_writes().parts()));
    assert!(!commits_without_key(Ok, &Answer::new(402).record().parts()));
}

#[test]
fn the_rule_is_decided_unless_chosen() {
    assert_eq!(RecordRule::default(), Decided);
}
