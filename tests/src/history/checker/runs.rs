//! Whether what is there can have come from one of the requests of one key.

use super::super::said::{Decision, Said};
use super::story::{Heard, Story};
use super::{Report, Rule};

pub(super) fn check(story: &Story<'_>, report: &mut Report<'_>) {
    for (window, effects) in story.effects.iter().enumerate() {
        for effect in effects {
            let mut of_it = story.attempts.iter().filter(|heard| heard.operation() == effect.of).peekable();
            if of_it.peek().is_none() {
                report.add(Rule::NothingUnasked, format!("nobody asked for {effect:?}"));
            } else if !of_it.any(|heard| may_have_left_something(heard) && may_be_of(heard, window)) {
                report.add(Rule::SomebodyRan, format!("who was asked for {effect:?} did nothing"));
            }
        }
    }
    for replayed in story.attempts.iter().filter(|heard| is_replay(heard)) {
        let mut before = story.attempts.iter().filter(|heard| heard.attempt.began < replayed.attempt.ended);
        if !before.any(may_have_left_something) {
            report.add(Rule::SomebodyRan, format!("nobody ran before: {}", replayed.attempt));
        }
    }
}

/// Whether a request may have committed something: it was the first to be answered, or nobody told its client what became
/// of it.
fn may_have_left_something(heard: &Heard<'_>) -> bool {
    match &heard.said {
        Some(Said::Decided(Decision { is_replay, .. })) => !is_replay,
        Some(Said::Failed(code)) => code == "idempotency_outcome_unknown",
        Some(Said::InProgress | Said::Reused | Said::Nonsense) => false,
        None => true,
    }
}

/// Whether the server may have been at work on a request in this window; on one without an answer also later.
fn may_be_of(heard: &Heard<'_>, window: usize) -> bool {
    let ended = heard.is_over() && *heard.windows.end() < window;
    *heard.windows.start() <= window && !ended
}

fn is_replay(heard: &Heard<'_>) -> bool {
    matches!(&heard.said, Some(Said::Decided(decision)) if decision.is_replay)
}
