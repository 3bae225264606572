//! What the requests of one key were refused for.

use super::super::said::Said;
use super::story::{Heard, Story};
use super::{Report, Rule};

pub(super) fn check(story: &Story<'_>, report: &mut Report<'_>) {
    for (index, heard) in story.attempts.iter().enumerate() {
        let others = || {
            let others = story.attempts.iter().enumerate().filter(move |(other, _)| *other != index);
            others.map(|(_, heard)| heard)
        };
        match &heard.said {
            Some(Said::InProgress) if !may_be_in_progress(story, heard, others()) => {
                report.add(Rule::TrueInProgress, heard.attempt.to_string());
            }
            Some(Said::Reused) if !may_be_reused(story, heard, others()) => {
                report.add(Rule::TrueReuse, heard.attempt.to_string());
            }
            _ => {}
        }
    }
}

/// Whether another request may be at work. Once the key has its answer, that has to be one from before: a request may
/// learn what another found out that came before it.
fn may_be_in_progress<'s, 'h: 's>(
    story: &'s Story<'h>,
    refused: &Heard<'h>,
    mut others: impl Iterator<Item = &'s Heard<'h>>,
) -> bool {
    let (began, ended) = (refused.attempt.began, refused.attempt.ended);
    let answered = refused.window().and_then(|window| {
        let before = story.decided(window).map(|heard| heard.attempt.ended).filter(|end| *end < began);
        before.min()
    });
    others.any(|other| {
        other.may_be_at_work(began, ended) && answered.is_none_or(|answered| other.attempt.began < answered)
    })
}

/// Whether another payload may have the key, or have had it. Once this one has its answer, another has to be at work,
/// as one may be in a process that does not know yet that its transaction is lost.
fn may_be_reused<'s, 'h: 's>(
    story: &'s Story<'h>,
    refused: &Heard<'h>,
    mut others: impl Iterator<Item = &'s Heard<'h>>,
) -> bool {
    let (began, ended) = (refused.attempt.began, refused.attempt.ended);
    let is_answered = refused.window().is_some_and(|window| {
        let mut own = story.decided(window).filter(|heard| heard.operation() == refused.operation());
        own.any(|heard| heard.attempt.ended < began)
    });
    others.any(|other| {
        // One that was over in a window before has nothing in this one.
        let is_of_before = other.is_over() && other.windows.end() < refused.windows.start();
        other.operation() != refused.operation()
            && other.may_have_run()
            && other.attempt.began < ended
            && !is_of_before
            && (!is_answered || other.may_be_at_work(began, ended))
    })
}
