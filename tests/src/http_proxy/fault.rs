//! What can happen to an exchange, and who decides it.

use std::time::Duration;

use crate::random::Random;

/// How late a late answer is.
pub(super) const DELAY: Duration = Duration::from_millis(50);

/// How often in a row a request meets a fault, at most. Less often than the clients of these tests try.
const MOST_IN_A_ROW: usize = 4;

/// What happens to one exchange of a request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing: the client gets the server's answer.
    None,
    /// The client gets the answer a little later.
    Delay,
    /// The connection is closed before the server has seen the request.
    DropRequest,
    /// The connections are closed when the server has got the head of the request and half of its body.
    CutRequest,
    /// The connection is closed when the server has answered, without a byte of the answer.
    DropAnswer,
    /// The connection is closed in the midst of the answer's head.
    CutHead,
    /// The connection is closed in the midst of the answer's body.
    CutAnswer,
    /// The connection is reset (RST) when the server has got the request, which it goes on with.
    Reset,
}

/// The faults by which an exchange fails, one for each place where it can.
const FAILURES: [Fault; 6] = [
    Fault::DropRequest,
    Fault::CutRequest,
    Fault::Reset,
    Fault::DropAnswer,
    Fault::CutHead,
    Fault::CutAnswer,
];

/// Decides what happens to the `attempt`-th exchange of a request, counted from 1, by the request's body.
pub type Decide = Box<dyn Fn(&[u8], usize) -> Fault + Send + Sync>;

/// No faults.
#[must_use]
pub fn none() -> Decide {
    Box::new(|_, _| Fault::None)
}

/// `fault` at the first attempt of each request, and no other.
#[must_use]
pub fn first(fault: Fault) -> Decide {
    Box::new(move |_, attempt| if attempt == 1 { fault } else { Fault::None })
}

/// Now and then one of `faults`, none of them oftener than the others.
///
/// What is decided depends on the seed, the request and the attempt, and on nothing else. So each operation
/// meets the same faults in every run of a seed, in whatever order the client sends them.
///
/// # Panics
/// If `faults` is empty.
#[must_use]
pub fn seeded(seed: u64, faults: &'static [Fault]) -> Decide {
    assert!(!faults.is_empty(), "a fault to choose from");
    Box::new(move |body, attempt| {
        let number = number(seed, body, attempt);
        // Two of three attempts meet a fault.
        if attempt > MOST_IN_A_ROW || number.is_multiple_of(3) {
            return Fault::None;
        }
        let count = u64::try_from(faults.len()).expect("a handful of faults");
        faults[usize::try_from((number / 3) % count).expect("below a handful")]
    })
}

/// Half of all exchanges fail, each at a random place, however often a request has failed already.
#[must_use]
pub fn half(seed: u64) -> Decide {
    Box::new(move |body, attempt| {
        let mut random = Random::new(number(seed, body, attempt));
        if random.below(2) == 0 { Fault::None } else { random.one_of(&FAILURES) }
    })
}

/// A number that looks random: FNV-1a of what it depends on, well mixed (the last step of splitmix64).
fn number(seed: u64, body: &[u8], attempt: usize) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(attempt.to_le_bytes()).chain(body.iter().copied());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAULTS: [Fault; 2] = [Fault::DropRequest, Fault::DropAnswer];

    #[test]
    fn a_seed_decides_the_same_each_time() {
        let (one, other) = (seeded(7, &FAULTS), seeded(7, &FAULTS));

        for attempt in 1..100 {
            assert_eq!(one(b"tea", attempt), other(b"tea", attempt));
        }
    }

    #[test]
    fn seeds_and_requests_differ() {
        let decisions = |seed, body: &[u8]| {
            let decide = seeded(seed, &FAULTS);
            (0_u8..50).map(|number| decide(&[body, &[number]].concat(), 1)).collect::<Vec<_>>()
        };

        assert_ne!(decisions(7, b"tea"), decisions(8, b"tea"));
        assert_ne!(decisions(7, b"tea"), decisions(7, b"rum"));
    }

    #[test]
    fn half_of_the_exchanges_fail_and_at_every_place_as_often() {
        let decide = half(7);
        let mut counts = std::collections::BTreeMap::new();
        for number in 0_u16..2000 {
            for attempt in 1..=3 {
                *counts.entry(decide(&number.to_le_bytes(), attempt)).or_insert(0) += 1;
            }
        }

        assert!((2850..=3150).contains(&counts[&Fault::None]), "{counts:?}");
        assert!(FAILURES.iter().all(|fault| (420..=580).contains(&counts[fault])), "{counts:?}");
    }

    #[test]
    fn a_request_comes_through_in_the_end() {
        for seed in 0..100 {
            assert_eq!(seeded(seed, &FAULTS)(b"tea", MOST_IN_A_ROW + 1), Fault::None);
        }
    }
}
