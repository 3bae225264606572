//! What does not compile, and what is said about it. `ui/README.md` tells how to add a mistake.
//!
//! What does compile is in `lints.rs` and in the package of the edition before.

// Cases: S-06, X-09
#[test]
fn a_mistake_is_one_error_at_the_place_that_must_change() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}
