//! What does not compile, and what is said about it.
//!
//! `TRYBUILD=overwrite cargo test -p idem-tests --test ui` rewrites the expected output; `ui/README.md` says how to
//! read it.

#[test]
fn a_mistake_is_one_error_at_the_place_that_must_change() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}

#[test]
fn what_a_handler_may_look_like_compiles() {
    trybuild::TestCases::new().pass("ui/pass/*.rs");
}
