//! What a handler takes by shared reference.

use crate::execution::Execution;
use crate::policy::Policy;

/// What the run of a handler holds and lends it: its [`Execution`], or the policy `P` of its attribute.
///
/// Not for implementing: an extractor is taken by value.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not lent to an `#[idempotent]` handler",
    label = "a shared reference is `&Execution` or the policy of the attribute",
    note = "an extractor is taken by value: remove the `&`"
)]
pub trait Lent<P> {
    /// The one of the two that this is.
    fn lent<'a>(execution: &'a Execution, policy: &'a P) -> &'a Self;
}

// Without the hints rustc would list the two instead of saying them.
#[diagnostic::do_not_recommend]
impl<P> Lent<P> for Execution {
    fn lent<'a>(execution: &'a Execution, _: &'a P) -> &'a Self {
        execution
    }
}

#[diagnostic::do_not_recommend]
impl<P: Policy> Lent<P> for P {
    fn lent<'a>(_: &'a Execution, policy: &'a P) -> &'a Self {
        policy
    }
}

/// Lends a handler what an argument of type `&T` asks for.
#[doc(hidden)]
#[must_use]
pub fn lend<'a, T: Lent<P> + ?Sized, P>(execution: &'a Execution, policy: &'a P) -> &'a T {
    T::lent(execution, policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::NoPolicy;
    use crate::scope::Scope;

    #[test]
    fn a_handler_is_lent_its_execution_and_its_policy() {
        let execution = Execution::new(Scope::global(), None);
        let policy = NoPolicy;

        assert!(std::ptr::eq(lend::<Execution, NoPolicy>(&execution, &policy), &raw const execution));
        assert!(std::ptr::eq(lend::<NoPolicy, NoPolicy>(&execution, &policy), &raw const policy));
    }
}
