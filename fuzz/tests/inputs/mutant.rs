//! Inputs that differ a little from the kept ones, for machines without libFuzzer.

/// `SplitMix64` (Steele, Lea and Flood, 2014): the same mutants for the same seed.
pub(crate) struct Mutator(u64);

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `most`.
    fn up_to(&mut self, most: usize) -> usize {
        let count = u64::try_from(most).expect("64 bits") + 1;
        usize::try_from(self.next() % count).expect("no more than it was")
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let (one, other) = (self.up_to(length), self.up_to(length));
        one.min(other)..one.max(other)
    }

    /// One of `inputs`, of which there are some, after one to four edits.
    pub(crate) fn mutant(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut mutant = inputs[self.up_to(inputs.len() - 1)].clone();
        for _ in 0..=self.up_to(3) {
            let at = self.up_to(mutant.len());
            match self.up_to(4) {
                0 => mutant.insert(at, self.byte()),
                1 => {
                    let bit = 1 << self.up_to(7);
                    mutant.get_mut(at).into_iter().for_each(|byte| *byte ^= bit);
                }
                2 => drop(mutant.drain(self.range(mutant.len()))),
                3 => {
                    let copied = self.range(mutant.len());
                    let piece = mutant[copied].to_vec();
                    mutant.splice(at..at, piece);
                }
                _ => {
                    let other = &inputs[self.up_to(inputs.len() - 1)];
                    let (from, to) = (self.range(other.len()), self.range(mutant.len()));
                    mutant.splice(to, other[from].iter().copied());
                }
            }
        }
        mutant
    }
}
