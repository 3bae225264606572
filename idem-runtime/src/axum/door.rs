//! The side door that `#[fingerprint(skip)]` must not open.

use std::marker::PhantomData;
use std::ops::Deref;

use ::axum::extract::{Extension, State};

use super::extract::InertIn;

/// An argument that is left out of the fingerprint, and so is not asked for
/// [`Fingerprint`](crate::Fingerprint).
///
/// A `State` or an `Extension` must be inert all the same: `skip` says that an input is not compared, not
/// that the handler may write beside its transaction; nor may one within a tuple, whose elements the expansion asks
/// one by one, or within `Cached`. Everything else may be skipped as it is: a wrapper of the application's own that holds
/// a pool is not seen, nor is one that a type parameter stands for.
///
/// Named by the expansion only, as `Door::of(&argument).lets_through()`. For `State` and `Extension` that finds
/// the inherent method with its bound, so that a missing `Inert` is one error on the argument; for any other
/// type it finds, through `Deref`, the one that asks for nothing. No everyday name, since a trait that an application
/// implements for every type would come before the latter.
#[derive(Debug)]
pub struct Door<'a, T>(PhantomData<&'a T>);

impl<'a, T> Door<'a, T> {
    /// The door of `argument`.
    pub fn of(_argument: &'a T) -> Self {
        Self(PhantomData)
    }
}

// Written out one by one, because a macro would show itself in the error.
impl<T> Door<'_, State<T>> {
    /// Asks for an inert argument.
    pub fn lets_through(&self)
    where
        T: InertIn<State<T>>,
    {
    }
}

impl<T> Door<'_, Extension<T>> {
    /// Asks for an inert argument.
    pub fn lets_through(&self)
    where
        T: InertIn<Extension<T>>,
    {
    }
}

impl<T> Door<'_, Option<Extension<T>>> {
    /// Asks for an inert argument.
    pub fn lets_through(&self)
    where
        T: InertIn<Extension<T>>,
    {
    }
}

impl<T, E> Door<'_, Result<Extension<T>, E>> {
    /// Asks for an inert argument.
    pub fn lets_through(&self)
    where
        T: InertIn<Extension<T>>,
    {
    }
}

impl<T, E> Door<'_, Result<State<T>, E>> {
    /// Asks for an inert argument.
    pub fn lets_through(&self)
    where
        T: InertIn<State<T>>,
    {
    }
}

impl<T, E> Door<'_, Result<Option<Extension<T>>, E>> {
    /// Asks for an inert argument.
    pub fn lets_through(&self)
    where
        T: InertIn<Extension<T>>,
    {
    }
}

/// A tuple of extractors that can be asked one by one. None can: the expansion asks the elements of a tuple that is
/// written as one, so one that comes here is hidden by an alias, an `Option` or a `Result`.
#[diagnostic::on_unimplemented(
    message = "the extractors in `{Self}` cannot be asked one by one whether they write",
    label = "a tuple behind an alias, an `Option` or a `Result`",
    note = "a `State` or an `Extension` in it could reach the database outside the handler's transaction",
    note = "take each extractor as an argument of its own, or mark the argument `#[context]` if nothing is written through it"
)]
pub trait InPlainSight {}

macro_rules! close_for_tuples {
    ($($first:ident $($rest:ident)*)?) => {
        $(
            impl<$first, $($rest),*> Door<'_, ($first, $($rest,)*)> {
                /// Asks for what no tuple has.
                pub fn lets_through(&self)
                where
                    ($first, $($rest,)*): InPlainSight,
                {
                }
            }

            impl<$first, $($rest),*> Door<'_, Option<($first, $($rest,)*)>> {
                /// Asks for what no tuple has.
                pub fn lets_through(&self)
                where
                    ($first, $($rest,)*): InPlainSight,
                {
                }
            }

            impl<$first, $($rest,)* Err> Door<'_, Result<($first, $($rest,)*), Err>> {
                /// Asks for what no tuple has.
                pub fn lets_through(&self)
                where
                    ($first, $($rest,)*): InPlainSight,
                {
                }
            }

            close_for_tuples!($($rest)*);
        )?
    };
}

close_for_tuples!(T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T15 T16);

#[cfg(feature = "axum-extra")]
impl<T> Door<'_, axum_extra::extract::Cached<State<T>>> {
    /// Asks for an inert argument.
    pub fn lets_through(&self)
    where
        T: InertIn<State<T>>,
    {
    }
}

#[cfg(feature = "axum-extra")]
impl<T> Door<'_, axum_extra::extract::Cached<Extension<T>>> {
    /// Asks for an inert argument.
    pub fn lets_through(&self)
    where
        T: InertIn<Extension<T>>,
    {
    }
}

/// What is behind the door of an argument that needs no watching.
#[derive(Debug)]
pub struct Unwatched;

impl Unwatched {
    /// Asks for nothing.
    #[expect(clippy::unused_self, reason = "called as the methods that do ask are called")]
    pub fn lets_through(&self) {}
}

impl<T> Deref for Door<'_, T> {
    type Target = Unwatched;

    fn deref(&self) -> &Unwatched {
        &Unwatched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Anything;

    /// Compiled, not run: which of the methods is found is the promise. That a pool is refused is shown by
    /// the compile-fail fixtures.
    #[test]
    fn only_state_and_extensions_are_asked_for_inert() {
        Door::of(&Anything).lets_through();
        Door::of(&Some(Anything)).lets_through();
        Door::of(&State(1_u8)).lets_through();
        Door::of(&Extension("t1")).lets_through();
        Door::of(&Some(Extension("t1"))).lets_through();
        Door::of(&Ok::<_, ()>(Extension("t1"))).lets_through();
    }

    #[test]
    fn a_generic_argument_may_be_skipped() {
        fn skip<T>(argument: &T) {
            Door::of(argument).lets_through();
        }

        skip(&Anything);
    }
}
