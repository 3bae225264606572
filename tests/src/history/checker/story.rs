//! What happened to one key, and in which window of its TTL.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::super::operation::{Operation, ScopedKey};
use super::super::record::{Attempt, Effect, Expiry, History, Record};
use super::super::said::Said;

/// How long the server may be at work on a request after its client has heard the last of it: the run limit, and what the
/// engine and the database server take at most to end a run and its session after that.
const LEFT_BEHIND: Duration = Duration::from_secs(80);

/// One key's part of a history.
#[derive(Debug)]
pub(super) struct Story<'h> {
    pub(super) at: ScopedKey,
    /// By the time of their beginning.
    pub(super) attempts: Vec<Heard<'h>>,
    /// By time; each is the end of a window and the beginning of the next.
    expiries: Vec<&'h Expiry>,
    /// The effects of each window, one window more than expiries.
    pub(super) effects: Vec<Vec<&'h Effect>>,
    pub(super) records: Vec<&'h Record>,
}

/// A request and what its answer said.
#[derive(Debug)]
pub(super) struct Heard<'h> {
    pub(super) attempt: &'h Attempt,
    /// None without an answer.
    pub(super) said: Option<Said>,
    /// The windows that its answer may be of.
    pub(super) windows: RangeInclusive<usize>,
}

impl<'h> Story<'h> {
    /// The stories of all keys of a history.
    pub(super) fn all(history: &'h History) -> Vec<Self> {
        let mut stories = BTreeMap::<ScopedKey, Self>::new();
        for attempt in &history.attempts {
            Self::of(attempt.operation.at, &mut stories).attempts.push(Heard::new(attempt));
        }
        for expiry in &history.expiries {
            Self::of(expiry.at, &mut stories).expiries.push(expiry);
        }
        for story in stories.values_mut() {
            story.attempts.sort_by_key(|heard| heard.attempt.began);
            story.expiries.sort_by_key(|expiry| expiry.ended);
            story.effects = vec![Vec::new(); story.expiries.len() + 1];
            let windows: Vec<_> = story.attempts.iter().map(|heard| story.windows(heard.attempt)).collect();
            for (heard, windows) in story.attempts.iter_mut().zip(windows) {
                heard.windows = windows;
            }
        }
        for effect in &history.effects {
            // Also one that nobody asked for.
            let story = Self::of(effect.of.at, &mut stories);
            // The first expiry that saw it ended its window.
            let window = story.expiries.iter().position(|expiry| expiry.effects.contains(effect));
            story.effects[window.unwrap_or(story.expiries.len())].push(effect);
        }
        let mut records = BTreeMap::<_, Vec<_>>::new();
        for record in &history.records {
            records.entry(&record.row).or_default().push(record);
        }
        for story in stories.values_mut() {
            story.records = records.remove(&story.at.row()).unwrap_or_default();
        }
        stories.into_values().collect()
    }

    /// The story of this key, begun if there is none.
    fn of(at: ScopedKey, stories: &mut BTreeMap<ScopedKey, Self>) -> &mut Self {
        stories.entry(at).or_insert_with(|| Self {
            at,
            attempts: Vec::new(),
            expiries: Vec::new(),
            effects: vec![Vec::new()],
            records: Vec::new(),
        })
    }

    /// The windows that the answer to a request may be of.
    ///
    /// Those that were open while the server worked on it; and, because a request may be given what another found out
    /// that was on its way before it in the same process, those that were open while the server worked on that one.
    fn windows(&self, attempt: &Attempt) -> RangeInclusive<usize> {
        let shared = self.attempts.iter().filter(|other| {
            other.attempt.process == attempt.process && other.may_be_at_work(attempt.began, attempt.ended)
        });
        let began = shared.map(|other| other.attempt.began).min().unwrap_or(attempt.began);
        let first = self.expiries.iter().filter(|expiry| expiry.ended <= began).count();
        let last = self.expiries.iter().filter(|expiry| expiry.began < attempt.ended).count();
        first..=last
    }

    /// The last window.
    pub(super) fn last_window(&self) -> usize {
        self.expiries.len()
    }

    /// The requests of a window that the handler has answered.
    pub(super) fn decided(&self, window: usize) -> impl Iterator<Item = &Heard<'h>> {
        let decided = self.attempts.iter().filter(|heard| matches!(heard.said, Some(Said::Decided(_))));
        decided.filter(move |heard| heard.window() == Some(window))
    }
}

impl<'h> Heard<'h> {
    fn new(attempt: &'h Attempt) -> Self {
        Self { attempt, said: attempt.said(), windows: 0..=0 }
    }

    /// The window that its answer is of, if there is no doubt.
    pub(super) fn window(&self) -> Option<usize> {
        (self.windows.start() == self.windows.end()).then(|| *self.windows.start())
    }

    pub(super) fn operation(&self) -> Operation {
        self.attempt.operation
    }

    /// Whether the server may have been at work on it at some time in this span.
    pub(super) fn may_be_at_work(&self, from: Duration, to: Duration) -> bool {
        let ended = self.attempt.ended + if self.is_over() { Duration::ZERO } else { LEFT_BEHIND };
        self.attempt.began < to && from <= ended
    }

    /// Whether nothing of it was left when it ended. Not so without an answer; nor with a failure, because the database
    /// server learns late of a connection that is gone.
    pub(super) fn is_over(&self) -> bool {
        matches!(&self.said, Some(Said::Decided(_) | Said::InProgress | Said::Reused))
    }

    /// Whether it may have had the key.
    pub(super) fn may_have_run(&self) -> bool {
        match &self.said {
            Some(Said::InProgress | Said::Reused) => self.operation().at.endpoint.is_stored_after_rollback(),
            _ => true,
        }
    }
}
