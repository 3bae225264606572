//! A look at a handler's value that asks nothing of its type: the most telling trait it has is used.
//!
//! One trait, implemented five times, each for one reference less than the one before. A call of
//! `look_at_answer` on `&&&&&Look(&value)` takes the first that fits, because method look-up tries the receiver as
//! written before it takes a reference away. So a type without any of these traits compiles too, and no error
//! speaks of them. One trait and not five, because rustc tries each trait in scope at each step. The name of the method is
//! a long one, because a trait that an application implements for every type would come
//! first with a method of the same name.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Transient, is_transient};
use crate::outcome::Verdict;

/// The value that a handler returned.
#[derive(Debug)]
pub struct Look<'a, T>(pub &'a T);

/// What a look at a value shows, by the number of references to it.
pub trait LookAt {
    /// What the value shows.
    fn look_at_answer(&self) -> Verdict;
}

/// First: a `Result` whose error implements [`Transient`].
impl<T, E: Transient> LookAt for &&&&Look<'_, Result<T, E>> {
    fn look_at_answer(&self) -> Verdict {
        verdict(self.0, Transient::is_transient)
    }
}

/// Second: a `Result` whose error is a [`std::error::Error`].
impl<T, E: Error + 'static> LookAt for &&&Look<'_, Result<T, E>> {
    fn look_at_answer(&self) -> Verdict {
        verdict(self.0, |error| is_transient(error))
    }
}

/// Third: a `Result` whose error lends one, as `anyhow::Error` and boxed errors do.
impl<T, E: AsRef<dyn Error + Send + Sync>> LookAt for &&Look<'_, Result<T, E>> {
    fn look_at_answer(&self) -> Verdict {
        verdict(self.0, |error| is_transient(error.as_ref()))
    }
}

/// Fourth: any other `Result`.
impl<T, E> LookAt for &Look<'_, Result<T, E>> {
    fn look_at_answer(&self) -> Verdict {
        if self.0.is_ok() { Verdict::Ok } else { Verdict::Unknown }
    }
}

/// Last: anything.
impl<R> LookAt for Look<'_, R> {
    fn look_at_answer(&self) -> Verdict {
        Verdict::Plain
    }
}

fn verdict<T, E>(result: &Result<T, E>, is_transient: impl FnOnce(&E) -> bool) -> Verdict {
    let Err(error) = result else { return Verdict::Ok };
    // The error's own code is asked. Where it panics nothing is known of the error, and its answer still counts.
    match catch_unwind(AssertUnwindSafe(|| is_transient(error))) {
        Ok(true) => Verdict::Transient,
        Ok(false) => Verdict::Looked,
        Err(_panic) => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fmt;

    use http::{Response, StatusCode};

    use super::{Look, LookAt as _};
    use crate::outcome::Verdict;
    use crate::transient::Transient;

    /// As the expansion writes it. A macro, for a function would fix the type before the look.
    macro_rules! look {
        ($value:expr) => {{
            let value = $value;
            (&&&&&Look(&value)).look_at_answer()
        }};
    }

    type Answer<E> = Result<StatusCode, E>;

    /// Knows by itself, and is an error whose source says the opposite.
    #[derive(Debug)]
    struct Knowing {
        transient: bool,
        source: sqlx::Error,
    }

    impl fmt::Display for Knowing {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("knowing")
        }
    }

    impl Error for Knowing {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.source)
        }
    }

    impl Transient for Knowing {
        fn is_transient(&self) -> bool {
            self.transient
        }
    }

    /// What `#[error("..")] Db(#[from] sqlx::Error)` of thiserror makes.
    #[derive(Debug)]
    enum Wrapping {
        Db(sqlx::Error),
        Declined,
    }

    impl fmt::Display for Wrapping {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapping")
        }
    }

    impl Error for Wrapping {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            match self {
                Self::Db(error) => Some(error),
                Self::Declined => None,
            }
        }
    }

    /// What a newtype over `anyhow::Error` with `AsRef` makes: not an error itself.
    struct Lending(Box<dyn Error + Send + Sync>);

    impl AsRef<dyn Error + Send + Sync> for Lending {
        fn as_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
            self.0.as_ref()
        }
    }

    /// axum's own example of an error type: nothing can be asked of it.
    struct Opaque(#[expect(dead_code, reason = "it is not looked into")] sqlx::Error);

    #[test]
    fn a_type_that_knows_has_the_last_word() {
        let answer = |transient, source| look!(Answer::<Knowing>::Err(Knowing { transient, source }));

        assert_eq!(answer(true, sqlx::Error::RowNotFound), Verdict::Transient);
        assert_eq!(answer(false, sqlx::Error::PoolTimedOut), Verdict::Looked);
        assert_eq!(look!(Answer::<Knowing>::Ok(StatusCode::OK)), Verdict::Ok);
    }

    #[test]
    fn an_error_is_looked_into() {
        let answer = |error| look!(Answer::<Wrapping>::Err(error));

        assert_eq!(answer(Wrapping::Db(sqlx::Error::PoolTimedOut)), Verdict::Transient);
        assert_eq!(answer(Wrapping::Db(sqlx::Error::RowNotFound)), Verdict::Looked);
        assert_eq!(answer(Wrapping::Declined), Verdict::Looked);
        assert_eq!(look!(Answer::<Wrapping>::Ok(StatusCode::OK)), Verdict::Ok);
        assert_eq!(look!(sqlx::Result::<()>::Err(sqlx::Error::PoolClosed)), Verdict::Transient);
    }

    #[test]
    fn what_lends_an_error_is_looked_into() {
        let answer = |error: sqlx::Error| look!(Answer::<Lending>::Err(Lending(error.into())));
        let boxed = |error: sqlx::Error| look!(Answer::<Box<dyn Error + Send + Sync>>::Err(error.into()));

        assert_eq!(answer(sqlx::Error::WorkerCrashed), Verdict::Transient);
        assert_eq!(answer(sqlx::Error::RowNotFound), Verdict::Looked);
        assert_eq!(boxed(sqlx::Error::WorkerCrashed), Verdict::Transient);
        assert_eq!(boxed(sqlx::Error::RowNotFound), Verdict::Looked);
        assert_eq!(look!(Answer::<Lending>::Ok(StatusCode::OK)), Verdict::Ok);
    }

    #[test]
    fn an_err_of_another_type_is_unknown() {
        assert_eq!(look!(Answer::<String>::Err(sqlx::Error::PoolClosed.to_string())), Verdict::Unknown);
        assert_eq!(look!(Answer::<Opaque>::Err(Opaque(sqlx::Error::PoolClosed))), Verdict::Unknown);
        assert_eq!(look!(Answer::<String>::Ok(StatusCode::OK)), Verdict::Ok);
    }

    #[test]
    fn a_status_is_not_transient_by_itself() {
        assert_eq!(
            look!(Answer::<(StatusCode, String)>::Err((StatusCode::CONFLICT, String::new()))),
            Verdict::Looked
        );
        assert_eq!(look!(Answer::<StatusCode>::Err(StatusCode::CONFLICT)), Verdict::Looked);
        assert_eq!(look!(Answer::<Response<()>>::Err(Response::new(()))), Verdict::Looked);
    }

    /// Panics when it is asked.
    struct Panicking;

    impl Transient for Panicking {
        fn is_transient(&self) -> bool {
            panic!("asked");
        }
    }

    // It went on in the run's task, which then ended without its ROLLBACK.
    #[test]
    fn an_error_that_panics_when_it_is_asked_is_unknown() {
        assert_eq!(look!(Answer::<Panicking>::Err(Panicking)), Verdict::Unknown);
        assert_eq!(look!(Answer::<Panicking>::Ok(StatusCode::OK)), Verdict::Ok);
    }

    #[test]
    fn what_is_no_result_is_plain() {
        fn hidden() -> impl Sized {
            Answer::<sqlx::Error>::Err(sqlx::Error::PoolClosed)
        }

        assert_eq!(look!(StatusCode::INTERNAL_SERVER_ERROR), Verdict::Plain);
        assert_eq!(look!(()), Verdict::Plain);
        assert_eq!(look!(Some(sqlx::Error::PoolClosed)), Verdict::Plain);
        assert_eq!(look!(sqlx::Error::PoolClosed), Verdict::Plain);
        assert_eq!(look!(hidden()), Verdict::Plain);
    }

    #[test]
    fn a_bound_on_a_generic_error_is_used() {
        fn look_at<E: Error + 'static>(error: E) -> Verdict {
            look!(Answer::<E>::Err(error))
        }

        assert_eq!(look_at(Wrapping::Db(sqlx::Error::PoolTimedOut)), Verdict::Transient);
        assert_eq!(look_at(Wrapping::Declined), Verdict::Looked);
    }
}
