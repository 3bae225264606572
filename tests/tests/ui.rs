//! What does not compile, and what is said about it. `ui/README.md` tells how to add a mistake.
//!
//! What does compile, however odd, is in `pass.rs`, and in packages of their own: the edition before, a renamed run time.

use std::fs;
use std::path::Path;

// Cases: S-06, X-09
// Reports: B07, B35, B49, B53, B69, U01, U06
#[test]
fn a_mistake_is_one_error_at_the_place_that_must_change() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}

/// A row of the manual's table stands for a message if it has the same text around its `…`.
#[test]
fn the_manual_has_a_row_for_every_error() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manual = fs::read_to_string(tests.join("../idem-macros/src/manual/errors.md")).unwrap();
    let messages: Vec<&str> = manual
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .flat_map(|cell| cell.split("``").skip(1).step_by(2))
        .map(str::trim)
        .collect();

    for file in fs::read_dir(tests.join("ui/fail")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "stderr") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines().filter(|line| line.starts_with("error")) {
            let (_, message) = line.split_once(": ").unwrap();
            assert!(messages.iter().any(|pattern| fits(message, pattern)), "{}: {message}", path.display());
        }
    }
}

fn fits(message: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| message.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
