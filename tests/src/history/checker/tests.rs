//! Hand-made histories: one that is clean, and one for each promise that it would break.

use super::super::operation::{Endpoint, Operation, ScopedKey};
use super::super::record::{FaultKind, Outcome};
use super::Rule;
use super::made::{AT, Made, again, answer, created, in_progress, reused, transient};

fn at(endpoint: Endpoint) -> ScopedKey {
    ScopedKey { endpoint, ..AT }
}

fn v(variant: u8) -> Operation {
    Operation { at: AT, variant }
}

/// One order, answered at 10 ms and there in the database.
fn one_order() -> Made {
    Made::default().answered((0, 10), v(1), created(v(1), 5)).effect(v(1), 5).record(AT, &created(v(1), 5))
}

#[test]
fn a_clean_history_breaks_nothing() {
    let second = Operation { at: AT, variant: 2 };
    Made::default()
        .attempt((0, 5), v(1), Outcome::HungUp)
        .answered((6, 8), v(1), in_progress())
        .answered((9, 12), v(1), again(created(v(1), 5)))
        .answered((13, 15), second, reused())
        .fault((16, 17), FaultKind::Cut)
        .answered((15, 18), v(1), transient())
        .fault((20, 40), FaultKind::Kill)
        .attempt((19, 21), v(1), Outcome::Silence)
        .effect(v(1), 5)
        .expiry((50, 51))
        .answered((52, 60), second, created(second, 6))
        .answered((61, 62), v(1), reused())
        .effect(second, 6)
        .record(AT, &created(second, 6))
        .breaks(&[]);
}

#[test]
fn every_endpoint_has_its_answers() {
    let of = |endpoint| Operation { at: at(endpoint), variant: 1 };
    let body = |text: &str| text.to_owned();
    for (endpoint, status, body, effects) in [
        (Endpoint::Refunds, 201, format!(r#"{{"refund":5,"item":"{}"}}"#, of(Endpoint::Refunds)), 1),
        (Endpoint::Charges, 201, body(r#"{"account":7,"amount":1,"dry":false}"#), 1),
        (Endpoint::Counters, 200, body(r#"{"n":5}"#), 1),
        (Endpoint::Declined, 402, body(r#"{"reason":"card_declined"}"#), 1),
        (Endpoint::Err, 422, body(r#"{"error":"out_of_stock"}"#), 0),
        (Endpoint::Boom, 500, body(r#"{"error":"boom"}"#), 0),
    ] {
        let answer = answer(status, &[], &body);
        let mut made = Made::default()
            .answered((0, 10), of(endpoint), answer.clone())
            .answered((11, 12), of(endpoint), again(answer.clone()))
            .record(at(endpoint), &answer);
        if effects > 0 {
            made = made.effect(of(endpoint), 5);
        }
        made.breaks(&[]);
    }
    let panic = Operation { at: at(Endpoint::Panic), variant: 1 };
    Made::default().attempt((0, 10), panic, Outcome::Silence).breaks(&[]);
}

#[test]
fn a_second_effect_in_a_window() {
    one_order().effect(v(1), 6).breaks(&[Rule::OneEffect]);
}

#[test]
fn a_second_effect_after_expiry_is_none_too_many() {
    one_order()
        .expiry((20, 21))
        .answered((22, 30), v(1), created(v(1), 6))
        .effect(v(1), 6)
        // The row of the first window is the row of the second now.
        .record_replaced(&created(v(1), 6))
        .breaks(&[]);
}

#[test]
fn an_effect_that_was_rolled_back() {
    let refused = Operation { at: at(Endpoint::Err), variant: 1 };
    let answer = answer(422, &[], r#"{"error":"out_of_stock"}"#);
    Made::default()
        .answered((0, 10), refused, answer.clone())
        .record(refused.at, &answer)
        .effect(refused, 5)
        .breaks(&[Rule::NothingAfterRollback]);
}

#[test]
fn an_effect_that_belongs_to_another_tenant() {
    let mut made = one_order();
    made.0.effects[0].tenant = "t2".to_owned();
    made.breaks(&[Rule::OwnTenant]);
}

#[test]
fn two_rows_for_one_key() {
    one_order().record(AT, &created(v(1), 5)).breaks(&[Rule::OneRecord]);
}

#[test]
fn an_effect_without_a_record() {
    let mut made = one_order();
    made.0.records.clear();
    made.0.attempts.clear();
    made.attempt((0, 5), v(1), Outcome::HungUp).breaks(&[Rule::EffectWithRecord]);
}

#[test]
fn a_record_without_an_effect() {
    let mut made = one_order();
    made.0.effects.clear();
    made.breaks(&[Rule::EffectWithRecord, Rule::AnswerWithEffect]);
}

#[test]
fn an_answer_without_a_record() {
    let refused = Operation { at: at(Endpoint::Err), variant: 1 };
    Made::default()
        .answered((0, 10), refused, answer(422, &[], r#"{"error":"out_of_stock"}"#))
        .breaks(&[Rule::AnswerWithRecord]);
}

#[test]
fn an_answer_that_names_another_row() {
    Made::default()
        .answered((0, 10), v(1), created(v(1), 6))
        .effect(v(1), 5)
        .record(AT, &created(v(1), 6))
        .breaks(&[Rule::AnswerWithEffect]);
}

#[test]
fn an_answer_to_another_payload() {
    one_order().answered((20, 30), v(2), again(created(v(1), 5))).breaks(&[
        Rule::OwnAnswer,
        Rule::AnswerWithEffect,
        Rule::OnePayload,
    ]);
}

#[test]
fn an_answer_of_another_tenant() {
    let theirs = Operation { at: ScopedKey { tenant: 2, ..AT }, variant: 1 };
    Made::default()
        .answered((0, 10), v(1), created(theirs, 5))
        .effect(v(1), 5)
        .record(AT, &created(theirs, 5))
        .breaks(&[Rule::OwnAnswer]);
}

#[test]
fn another_answer_than_before() {
    let mut other = again(created(v(1), 5));
    other.fields.push(("etag".to_owned(), b"\"1\"".to_vec()));
    one_order().answered((20, 30), v(1), other).breaks(&[Rule::SameAnswer]);
}

#[test]
fn another_answer_than_the_stored_one() {
    let mut made = one_order();
    made.0.records[0].answer = Some((200, b"{}".to_vec()));
    made.breaks(&[Rule::SameAnswer]);
}

#[test]
fn an_answer_of_neither_window() {
    let strange = again(created(v(1), 9));
    one_order()
        .expiry((20, 25))
        // Nobody can tell on which side of the expiry it was answered; on none of them with this.
        .answered((19, 26), v(1), strange)
        .answered((30, 40), v(1), created(v(1), 6))
        .effect(v(1), 6)
        .record_replaced(&created(v(1), 6))
        .breaks(&[Rule::SameAnswer, Rule::AnswerWithEffect]);
}

#[test]
fn two_first_answers() {
    one_order().answered((20, 30), v(1), created(v(1), 5)).breaks(&[Rule::OneFirstAnswer]);
}

#[test]
fn in_progress_with_nobody_at_work() {
    Made::default().answered((0, 10), v(1), in_progress()).breaks(&[Rule::TrueInProgress]);
    // Of this one the client has had the answer.
    one_order().answered((20, 30), v(1), in_progress()).breaks(&[Rule::TrueInProgress]);
    // This one has begun when all was over.
    one_order()
        .answered((20, 30), v(1), in_progress())
        .answered((21, 31), v(1), again(created(v(1), 5)))
        .breaks(&[Rule::TrueInProgress]);
}

#[test]
fn in_progress_with_a_client_gone() {
    let mut made = one_order().answered((2, 4), v(1), in_progress());
    made.0.attempts[0].outcome = Outcome::HungUp;
    made.breaks(&[]);
}

#[test]
fn reuse_of_a_key_that_nobody_used() {
    one_order().answered((20, 30), v(1), reused()).breaks(&[Rule::TrueReuse]);
    // Nobody ran who was told that the key is in progress.
    one_order()
        .answered((1, 2), v(2), in_progress())
        .answered((20, 30), v(1), reused())
        .breaks(&[Rule::TrueReuse]);
}

#[test]
fn reuse_for_what_has_expired() {
    one_order()
        .expiry((20, 21))
        .answered((22, 30), v(2), reused())
        .answered((31, 40), v(2), created(v(2), 6))
        .effect(v(2), 6)
        .record_replaced(&created(v(2), 6))
        .breaks(&[Rule::TrueReuse]);
}

#[test]
fn reuse_while_the_other_payload_may_run() {
    one_order().attempt((0, 1), v(2), Outcome::HungUp).answered((20, 30), v(1), reused()).breaks(&[]);
}

#[test]
fn a_failure_without_a_fault() {
    one_order().answered((20, 30), v(1), transient()).breaks(&[Rule::FailureByFault]);
    // The fault came later.
    one_order()
        .answered((20, 30), v(1), transient())
        .fault((31, 32), FaultKind::Cut)
        .breaks(&[Rule::FailureByFault]);
    // A process that dies says nothing.
    one_order()
        .answered((20, 30), v(1), transient())
        .fault((25, 35), FaultKind::Kill)
        .breaks(&[Rule::FailureByFault]);
}

#[test]
fn a_fault_that_would_have_hit_two_keys() {
    let other = Operation { at: ScopedKey { key: 8, ..AT }, variant: 1 };
    one_order()
        .fault((25, 26), FaultKind::Cut)
        .answered((20, 30), v(1), transient())
        .answered((20, 31), v(1), transient())
        .answered((20, 32), other, transient())
        .breaks(&[Rule::FailureByFault]);
}

#[test]
fn silence_without_a_death() {
    one_order().attempt((20, 30), v(1), Outcome::Silence).breaks(&[Rule::SilenceByFault]);
    one_order()
        .attempt((20, 30), v(1), Outcome::Silence)
        .fault((25, 26), FaultKind::Cut)
        .breaks(&[Rule::SilenceByFault]);
}

#[test]
fn a_key_that_never_gets_its_answer() {
    let mut made = Made::default();
    made.0.given_up.push(v(1));
    made.breaks(&[Rule::FinalAnswer]);
}

#[test]
fn an_answer_that_the_endpoint_does_not_give() {
    one_order().answered((20, 30), v(1), answer(418, &[], "")).breaks(&[Rule::KnownAnswer]);
    // Without the header by which clients know when to come again.
    let mut bare = in_progress();
    bare.fields.pop();
    one_order().answered((1, 2), v(1), bare).breaks(&[Rule::KnownAnswer]);
}

#[test]
fn who_is_told_that_nothing_happened_has_made_nothing() {
    Made::default()
        .fault((0, 10), FaultKind::Cut)
        .answered((0, 10), v(1), transient())
        .answered((11, 12), v(1), again(created(v(1), 5)))
        .effect(v(1), 5)
        .record(AT, &created(v(1), 5))
        .breaks(&[Rule::SomebodyRan]);
}

#[test]
fn an_answer_is_not_replayed_before_somebody_has_run() {
    Made::default()
        .answered((0, 5), v(1), again(created(v(1), 5)))
        .answered((6, 10), v(1), created(v(1), 5))
        .effect(v(1), 5)
        .record(AT, &created(v(1), 5))
        .breaks(&[Rule::SomebodyRan]);
}

#[test]
fn nothing_is_there_that_nobody_asked_for() {
    let other = ScopedKey { tenant: 9, ..AT };
    one_order().record(other, &created(v(1), 5)).breaks(&[Rule::NothingUnasked]);
    one_order().effect(v(2), 6).breaks(&[Rule::NothingUnasked, Rule::OneEffect]);
}

#[test]
fn no_row_is_left_without_an_answer() {
    let mut made = one_order();
    made.0.records[0].answer = None;
    made.breaks(&[Rule::AnswerWithRecord, Rule::EffectWithRecord]);
}

#[test]
fn a_client_that_has_hung_up_explains_a_refusal_only_for_as_long_as_its_run_may_last() {
    let an_hour_later = (3_600_000, 3_600_010);
    let hung_up = || one_order().attempt((0, 5), v(1), Outcome::HungUp);
    hung_up().answered((20, 30), v(1), in_progress()).breaks(&[]);
    hung_up().answered(an_hour_later, v(1), in_progress()).breaks(&[Rule::TrueInProgress]);
    let of_another = || one_order().attempt((0, 5), v(2), Outcome::HungUp);
    of_another().answered(an_hour_later, v(1), reused()).breaks(&[Rule::TrueReuse]);
}

// Seed 6 with 20 000 requests showed it.
#[test]
fn who_waited_for_a_request_that_a_fault_hit_shares_its_failure() {
    let hit = || one_order().fault((23, 23), FaultKind::Cut).answered((20, 30), v(1), transient());
    hit().answered((25, 29), v(1), transient()).breaks(&[]);
    hit().answered((31, 35), v(1), transient()).breaks(&[Rule::FailureByFault]);
}
