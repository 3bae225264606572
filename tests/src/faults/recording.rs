use std::sync::atomic::{AtomicUsize, Ordering};

use super::case::Kind;
use super::step::{Expected, Step, expected};
use crate::proxy::{At, Hold, PgProxy, Round, RoundKind};

/// Which rounds are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Every message and its reply, the pool's own and those that only prepare a statement among them.
    Messages,
    /// The statements that are run.
    Statements,
}

impl Counted {
    fn counts(self, round: &Round) -> bool {
        match self {
            Self::Messages => true,
            Self::Statements => round.kind == RoundKind::Run,
        }
    }
}

/// What one request of a kind sends to the server, in order.
#[derive(Debug)]
pub struct Recording {
    kind: Kind,
    counted: Counted,
    rounds: Vec<Round>,
}

/// A moment in a request: before the server gets one of its rounds, or after it has replied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The number of the round, from 0.
    pub index: usize,
    /// Which side of the server.
    pub at: At,
}

impl Recording {
    /// Keeps what `proxy` has seen of a request since it was last told to forget.
    ///
    /// # Panics
    /// If it has seen too little for a request.
    #[must_use]
    pub fn of(kind: Kind, counted: Counted, proxy: &PgProxy) -> Self {
        let mut rounds = proxy.rounds();
        rounds.retain(|round| counted.counts(round));
        let steps = rounds.iter().map(Step::of).collect::<Vec<_>>();
        for needed in [Step::Begin, Step::Reserve] {
            assert!(steps.contains(&needed), "{needed:?} is a step of every request: {rounds:#?}");
        }
        assert_eq!(kind.runs(), rounds.iter().any(Step::is_final), "{kind:?}: {rounds:#?}");
        Self { kind, counted, rounds }
    }

    /// Every moment of the request, first to last.
    pub fn moments(&self) -> impl Iterator<Item = Moment> {
        (0..self.rounds.len()).flat_map(|index| [At::Request, At::Reply].map(|at| Moment { index, at }))
    }

    /// Says where in the request a moment is, for a test that fails there.
    #[must_use]
    pub fn describe(&self, moment: Moment) -> String {
        let round = &self.rounds[moment.index];
        let step = Step::of(round);
        format!("{:?}, {:?} of {}: {:?} of {step:?}", self.kind, moment.at, moment.index, round.kind)
    }

    /// Holds the request that comes next at this moment.
    #[must_use]
    pub fn hold(&self, proxy: &PgProxy, moment: Moment) -> Hold {
        let counted = self.counted;
        let seen = AtomicUsize::new(0);
        proxy.hold(moment.at, move |round| {
            counted.counts(round) && seen.fetch_add(1, Ordering::Relaxed) == moment.index
        })
    }

    /// Asserts that the last round that `proxy` has seen is the recorded one.
    ///
    /// # Panics
    /// If the request took another way than the recorded one.
    pub fn assert_at(&self, proxy: &PgProxy, moment: Moment) {
        let last = proxy.rounds().pop().expect("a round is held");
        let expected = &self.rounds[moment.index];
        assert_eq!((last.kind, &last.sql), (expected.kind, &expected.sql), "another way than recorded");
    }

    /// What must come of it when the connection is lost at this moment.
    #[must_use]
    pub fn expected(&self, moment: Moment) -> Expected {
        expected(self.kind, &self.rounds, moment)
    }

    /// The moment at which a connection that is lost at `moment`, by the server's doing, is first missed: a reply that
    /// is on its way still arrives. `None` if the request has no more to ask.
    #[must_use]
    pub fn missed_at(&self, moment: Moment) -> Option<Moment> {
        match moment.at {
            At::Request => Some(moment),
            At::Reply => {
                let index = moment.index + 1;
                (index < self.rounds.len()).then_some(Moment { index, at: At::Request })
            }
        }
    }
}
