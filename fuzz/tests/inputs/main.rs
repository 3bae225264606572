//! The fuzz targets as ordinary tests: over the inputs that are kept for each, and over mutants of them.
//!
//! `FUZZ_MUTANTS` is how many mutants each target is given, 1 000 if it is not set; `FUZZ_SEED`, a number, makes them
//! others.

mod kept;
mod mutant;

use std::env;
use std::panic::catch_unwind;

use kept::Kept;
use mutant::Mutator;

/// A target: its name, and its property.
type Target = (&'static str, fn(&[u8]));

macro_rules! targets {
    ($($target:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($target)),*];

        mod every_kept_input_passes {
            $(#[test] fn $target() { super::check_kept((stringify!($target), idem_fuzz::$target::check)); })*
        }

        mod every_mutant_passes {
            $(#[test] fn $target() { super::check_mutants((stringify!($target), idem_fuzz::$target::check)); })*
        }
    };
}

targets!(canonical_json canonical_types header_key stored_headers ttl);

fn check_kept((target, check): Target) {
    for Kept { path, data } in kept::inputs(target) {
        let passes = catch_unwind(|| check(&data)).is_ok();
        assert!(passes, "{target} fails for {}", path.display());
    }
}

fn check_mutants((target, check): Target) {
    let inputs: Vec<Vec<u8>> = kept::inputs(target).into_iter().map(|kept| kept.data).collect();
    let mut mutator = Mutator::new(number("FUZZ_SEED", 0));
    for _ in 0..number("FUZZ_MUTANTS", 1_000) {
        let mutant = mutator.mutant(&inputs);
        let passes = catch_unwind(|| check(&mutant)).is_ok();
        let mutant = mutant.escape_ascii();
        assert!(passes, "{target} fails for b\"{mutant}\"; keep it in fuzz/seeds/{target}");
    }
}

fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is a number, and not {text:?}")),
        Err(_) => default,
    }
}

#[test]
fn every_target_is_tested_and_has_inputs() {
    for directory in ["fuzz_targets", "seeds", "corpus"] {
        assert_eq!(kept::names(directory), NAMES, "fuzz/{directory}");
    }
}
