//! Numbers that look random and are the same for the same seed.

/// A small generator of numbers (splitmix64).
///
/// Good enough to choose steps of a history, and short enough to be read; not for anything secret.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, any of 64 bits.
    #[must_use]
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `limit`.
    ///
    /// # Panics
    /// If `limit` is 0.
    #[must_use]
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).expect("a small limit");
        usize::try_from(self.number() % limit).expect("below a small limit")
    }

    /// One of these, each as likely as any other.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
