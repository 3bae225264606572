//! Times that differ from process to process, so that what they begin together they do not repeat together.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// A source of times. The standard library's random keys are random enough to spread load, and cost no dependency.
#[derive(Debug, Default)]
pub(crate) struct Jitter {
    random: RandomState,
    count: u64,
}

impl Jitter {
    /// A time between the two, in steps of a thousandth of what lies between them.
    pub(crate) fn between(&mut self, shortest: Duration, longest: Duration) -> Duration {
        let random = self.random.hash_one(self.count);
        self.count = self.count.wrapping_add(1);
        let part = u32::try_from(random % 1001).unwrap_or_default();
        shortest + longest.saturating_sub(shortest) / 1000 * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORTEST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_millis(60);

    #[test]
    fn the_times_fill_their_bounds_and_stay_within() {
        let mut jitter = Jitter::default();

        let times: Vec<_> = (0..200).map(|_| jitter.between(SHORTEST, LONGEST)).collect();

        assert!(times.iter().all(|time| (SHORTEST..=LONGEST).contains(time)), "{times:?}");
        // Two hundred that miss a quarter at either end are rarer than one in 10^20.
        assert!(times.iter().any(|time| *time < Duration::from_micros(52_500)), "{times:?}");
        assert!(times.iter().any(|time| *time > Duration::from_micros(57_500)), "{times:?}");
    }

    #[test]
    fn two_sources_differ() {
        let (mut one, mut other) = (Jitter::default(), Jitter::default());

        assert!((0..20).any(|_| one.between(SHORTEST, LONGEST) != other.between(SHORTEST, LONGEST)));
    }
}
