//! What does not compile, and what is said about it. `ui/README.md` tells how to add a mistake.
//!
//! What does compile, however odd, is in `pass.rs`, and in packages of their own: the edition before, a renamed run time.

// Cases: S-06, X-09
#[test]
fn a_mistake_is_one_error_at_the_place_that_must_change() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}
