//! What the handler answered to the requests of one key.

use super::super::said::{Decision, Said};
use super::story::{Heard, Story};
use super::{Report, Rule};
use crate::http::Answer;

pub(super) fn check(story: &Story<'_>, report: &mut Report<'_>) {
    for heard in &story.attempts {
        match &heard.said {
            Some(Said::Decided(decision)) => {
                of_the_operation(heard, decision, report);
                with_its_effect(story, heard, decision, report);
                in_doubt(story, heard, report);
            }
            Some(Said::Nonsense) => report.add(Rule::KnownAnswer, heard.attempt.to_string()),
            _ => {}
        }
    }
    let mut firsts = 0;
    for window in 0..=story.last_window() {
        firsts += in_window(story, window, report);
    }
    // Those whose window is in doubt belong to one of them too.
    let doubtful = story.attempts.iter().filter(|heard| heard.window().is_none());
    if firsts + doubtful.filter(|heard| is_first(heard)).count() > story.last_window() + 1 {
        report.add(Rule::OneFirstAnswer, "more first answers than windows");
    }
    stored(story, report);
}

fn of_the_operation(heard: &Heard<'_>, decision: &Decision, report: &mut Report<'_>) {
    if decision.of != heard.operation() {
        report.add(Rule::OwnAnswer, format!("speaks of {}: {}", decision.of, heard.attempt));
    }
}

fn with_its_effect(story: &Story<'_>, heard: &Heard<'_>, decision: &Decision, report: &mut Report<'_>) {
    if !story.at.endpoint.has_effect() {
        return;
    }
    let mut effects = story.effects[heard.windows.clone()].iter().flatten();
    let is_there = effects.any(|effect| {
        effect.of == heard.operation() && decision.effect.is_none_or(|number| effect.number == number)
    });
    if !is_there {
        report.add(Rule::AnswerWithEffect, format!("no such row: {}", heard.attempt));
    }
}

/// What was answered while a row expired is the answer of the window before or of one after.
fn in_doubt(story: &Story<'_>, heard: &Heard<'_>, report: &mut Report<'_>) {
    if heard.window().is_some() {
        return;
    }
    let mut windows = heard.windows.clone();
    let is_possible = windows.any(|window| match story.decided(window).next() {
        Some(known) => same(known, heard),
        // Nobody else was answered in that one.
        None => true,
    });
    if !is_possible {
        report.add(Rule::SameAnswer, format!("the answer of no window: {}", heard.attempt));
    }
}

/// Checks what was answered for certain in a window, and gives the number of first answers.
fn in_window(story: &Story<'_>, window: usize, report: &mut Report<'_>) -> usize {
    let mut decided = story.decided(window);
    let Some(known) = decided.next() else { return 0 };
    let mut firsts = usize::from(is_first(known));
    for heard in decided {
        firsts += usize::from(is_first(heard));
        if heard.operation() != known.operation() {
            report
                .add(Rule::OnePayload, format!("in window {window}:\n{}\n{}", known.attempt, heard.attempt));
        } else if !same(known, heard) {
            report
                .add(Rule::SameAnswer, format!("in window {window}:\n{}\n{}", known.attempt, heard.attempt));
        }
    }
    if firsts > 1 {
        report.add(Rule::OneFirstAnswer, format!("{firsts} in window {window}"));
    }
    firsts
}

/// What is stored in the end is what was answered in the last window.
fn stored(story: &Story<'_>, report: &mut Report<'_>) {
    let live = story.records.iter().find(|record| record.is_live);
    let Some((status, body)) = live.and_then(|record| record.answer.as_ref()) else { return };
    for heard in story.decided(story.last_window()) {
        let is_stored = heard
            .attempt
            .answer()
            .is_some_and(|answer| i64::from(answer.status) == *status && answer.body == *body);
        if !is_stored {
            let stored = String::from_utf8_lossy(body);
            report.add(Rule::SameAnswer, format!("stored is {status} {stored}: {}", heard.attempt));
        }
    }
}

fn is_first(heard: &Heard<'_>) -> bool {
    matches!(&heard.said, Some(Said::Decided(decision)) if !decision.is_replay)
}

/// Whether two answers are the same: all of the body, and all of the head but for the date and the mark of a replay.
fn same(one: &Heard<'_>, other: &Heard<'_>) -> bool {
    one.attempt.answer().map(compared) == other.attempt.answer().map(compared)
}

type Compared<'a> = (u16, Vec<(&'a str, &'a [u8])>, &'a [u8]);

fn compared(answer: &Answer) -> Compared<'_> {
    let fields = answer.fields.iter().filter(|(name, _)| name != "date" && name != "idempotent-replayed");
    let mut fields: Vec<_> = fields.map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    fields.sort_unstable();
    (answer.status, fields, &answer.body)
}
