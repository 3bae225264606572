//! The keys that this process is working on.
//!
//! The map only makes answers quicker: a duplicate in the same process learns at once what another process would
//! learn from the database. An entry is *attempting* while one request is on its way to the reserving statement, and
//! *running* once that statement returned fresh. Only then may a duplicate be told 409 or 422 from here: before, the
//! request may itself be the wrong one, and refusing the right retry of a completed key would be a lie. It is
//! *elsewhere* while one request waits for a run of another process, whose fingerprint nobody here knows: that is 409
//! for those who do not wait, and never 422.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::fingerprint::Digest;
use crate::problem::Problem;
use crate::store::{Found, KeyText};

/// A scope and a key, both in full: two keys never share an entry.
type FullKey = (String, KeyText);

/// What is known of the key's one attempt.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// A request is on its way to the reserving statement; nothing is known yet.
    Attempting,
    /// The request with this fingerprint runs.
    Running(Digest),
    /// Another process runs the key, and a request that waits for it asks now and then.
    Elsewhere,
    /// The attempt is over.
    Over(Attempt),
}

/// How an attempt ended, for those who waited for it.
#[derive(Debug, Clone)]
pub(crate) enum Attempt {
    /// Nothing that a waiter could use: it tries for itself.
    Nothing,
    /// The key has a live row.
    Found(Arc<Found>),
    /// Another process runs the key.
    InProgress,
    /// The store could not be asked.
    Failed(Problem),
}

/// The map of one engine.
#[derive(Debug, Default)]
pub(crate) struct InProcess {
    entries: Arc<Mutex<HashMap<FullKey, watch::Receiver<Phase>>>>,
}

/// Whether a request is the key's only one here.
#[derive(Debug)]
pub(crate) enum Entered {
    /// It is: it goes on to the database, and holds the entry meanwhile.
    Alone(Claim),
    /// It is not: the other's phase can be watched.
    Behind(watch::Receiver<Phase>),
}

impl InProcess {
    pub(crate) fn enter(&self, scope: &str, key: &KeyText) -> Entered {
        let mut entries = lock(&self.entries);
        match entries.entry((scope.to_owned(), key.clone())) {
            Entry::Occupied(occupied) => Entered::Behind(occupied.get().clone()),
            Entry::Vacant(vacant) => {
                let (sender, receiver) = watch::channel(Phase::Attempting);
                let key = vacant.key().clone();
                vacant.insert(receiver);
                let entries = Arc::clone(&self.entries);
                Entered::Alone(Claim { entries, key, sender, attempt: Attempt::Nothing })
            }
        }
    }

    /// How many keys are being worked on.
    pub(crate) fn len(&self) -> usize {
        lock(&self.entries).len()
    }
}

/// A key's entry. Dropping it takes the entry out of the map, whatever happened.
#[derive(Debug)]
pub(crate) struct Claim {
    entries: Arc<Mutex<HashMap<FullKey, watch::Receiver<Phase>>>>,
    key: FullKey,
    sender: watch::Sender<Phase>,
    /// What those who wait may use once the claim is gone.
    attempt: Attempt,
}

impl Claim {
    /// The reserving statement returned fresh: from now on duplicates are answered from the entry.
    pub(crate) fn running(&self, fingerprint: Digest) {
        self.sender.send_replace(Phase::Running(fingerprint));
    }

    /// The reserving statement found the key in another process, and this request waits for it.
    pub(crate) fn elsewhere(&self) {
        self.sender.send_replace(Phase::Elsewhere);
    }

    /// Sets what those who wait may use once the claim is dropped; nothing if not set.
    pub(crate) fn leave(&mut self, attempt: Attempt) {
        self.attempt = attempt;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // First out of the map, so that whoever is woken finds it gone.
        lock(&self.entries).remove(&self.key);
        self.sender.send_replace(Phase::Over(self.attempt.clone()));
    }
}

/// No code panics while it holds the lock, so a poisoned map is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(map: &InProcess, scope: &str, key: &str) -> Entered {
        map.enter(scope, &KeyText::new(key.to_owned()))
    }

    fn claim(map: &InProcess) -> Claim {
        match enter(map, "tenant=t1", "k") {
            Entered::Alone(claim) => claim,
            Entered::Behind(_) => panic!("the key is taken"),
        }
    }

    #[test]
    fn a_second_request_for_a_key_is_behind_the_first() {
        let map = InProcess::default();
        let _first = claim(&map);

        assert!(matches!(enter(&map, "tenant=t1", "k"), Entered::Behind(_)));
        assert!(matches!(enter(&map, "tenant=t1", "l"), Entered::Alone(_)));
        assert!(matches!(enter(&map, "tenant=t2", "k"), Entered::Alone(_)));
    }

    #[test]
    fn a_claim_that_is_dropped_leaves_no_entry_and_tells_those_behind() {
        let map = InProcess::default();
        let first = claim(&map);
        let Entered::Behind(watching) = enter(&map, "tenant=t1", "k") else { panic!("the key is free") };

        drop(first);

        assert_eq!(map.len(), 0);
        assert!(matches!(&*watching.borrow(), Phase::Over(Attempt::Nothing)));
    }

    #[test]
    fn those_behind_learn_how_the_attempt_ended() {
        let map = InProcess::default();
        let mut first = claim(&map);
        let Entered::Behind(watching) = enter(&map, "tenant=t1", "k") else { panic!("the key is free") };

        first.leave(Attempt::InProgress);
        assert!(matches!(&*watching.borrow(), Phase::Attempting), "it is not over before its connection is");
        drop(first);

        assert_eq!(map.len(), 0);
        assert!(matches!(&*watching.borrow(), Phase::Over(Attempt::InProgress)));
    }

    #[test]
    fn the_map_shows_no_key() {
        let map = InProcess::default();
        let claim = match enter(&map, "tenant=t1", "jane.doe@example.com") {
            Entered::Alone(claim) => claim,
            Entered::Behind(_) => panic!("the key is taken"),
        };

        let shown = format!("{map:?} {claim:?}");

        assert!(shown.contains("tenant=t1") && !shown.contains("jane"), "{shown}");
    }
}
