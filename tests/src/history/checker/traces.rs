//! What the database holds of one key.

use super::super::operation::Endpoint;
use super::story::Story;
use super::{Report, Rule};

pub(super) fn check(story: &Story<'_>, report: &mut Report<'_>) {
    for (window, effects) in story.effects.iter().enumerate() {
        if effects.len() > 1 {
            report.add(Rule::OneEffect, format!("in window {window}: {effects:?}"));
        }
        if !story.at.endpoint.has_effect() && !effects.is_empty() {
            report.add(Rule::NothingAfterRollback, format!("in window {window}: {effects:?}"));
        }
        for effect in effects {
            if effect.tenant != story.at.tenant_name() {
                report.add(Rule::OwnTenant, format!("{effect:?}"));
            }
        }
    }

    if story.records.len() > 1 {
        report.add(Rule::OneRecord, format!("{} key rows", story.records.len()));
    }
    if story.records.iter().any(|record| record.is_live && record.answer.is_none()) {
        report.add(Rule::EffectWithRecord, "a record without an answer, and nobody at work");
    }
    let is_recorded = story.records.iter().any(|record| record.is_live && record.answer.is_some());
    let has_effect = story.effects.last().is_some_and(|effects| !effects.is_empty());
    if has_effect && !is_recorded {
        report.add(Rule::EffectWithRecord, "an effect without a record");
    }
    if is_recorded && story.at.endpoint.has_effect() && !has_effect {
        report.add(Rule::EffectWithRecord, "a record without an effect");
    }
    if !is_recorded && let Some(heard) = story.decided(story.last_window()).next() {
        report.add(Rule::AnswerWithRecord, format!("no record: {}", heard.attempt));
    }
    if story.at.endpoint == Endpoint::Panic && !story.records.is_empty() {
        report.add(Rule::NothingAfterRollback, "a panic has a record");
    }
}
