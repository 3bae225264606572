//! What of a database error may stand in a log.

use std::fmt;

use sqlx::Error;

/// An error of the database without what it may say of values: for events above debug level.
///
/// The column values of a row that a constraint refuses stand in PostgreSQL's DETAIL, which only `Debug` shows. But some
/// messages quote values too: those about data, and those that triggers and functions of the application word. Of these
/// the code and the constraint are shown.
pub(crate) struct Shown<'e>(&'e Error);

/// `error` for an event above debug level. What it leaves out goes to an event of its own at debug level.
pub(crate) fn shown(error: &Error) -> Shown<'_> {
    if hides(error) {
        tracing::debug!(?error, "an error of the database in full");
    }
    Shown(error)
}

/// Whether the message may quote a value.
fn hides(error: &Error) -> bool {
    let Error::Database(reported) = error else { return false };
    reported.code().is_none_or(|code| !is_in_the_databases_words(&code))
}

/// Whether errors of this code are worded by the database alone, in names and not in values.
fn is_in_the_databases_words(code: &str) -> bool {
    // An SQLSTATE has five characters; SQLite's result codes are decimal numbers below 10 000.
    if code.len() == 5 {
        // PostgreSQL manual, appendix A. Not among them: 22 quotes data, 23 and P0 are what triggers raise.
        return matches!(
            &code[..2],
            "08" | "0A"
                | "25"
                | "26"
                | "28"
                | "3D"
                | "3F"
                | "40"
                | "42"
                | "53"
                | "54"
                | "55"
                | "57"
                | "58"
                | "XX"
        );
    }
    // SQLITE_CONSTRAINT_TRIGGER has the text of the trigger's RAISE.
    code.parse::<u32>().is_ok_and(|code| code != 1811)
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error::Database(reported) = self.0 else { return self.0.fmt(f) };
        if !hides(self.0) {
            return self.0.fmt(f);
        }
        let code = reported.code().unwrap_or_default();
        write!(f, "error returned from database: code {code}")?;
        if let Some(constraint) = reported.constraint() {
            write!(f, ", constraint `{constraint}`")?;
        }
        f.write_str("; the message is logged at debug level")
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::error::Error as StdError;

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::*;

    const KEY: &str = "jane.doe@example.com";

    #[derive(Debug)]
    struct Reported {
        code: Option<&'static str>,
        constraint: Option<&'static str>,
    }

    impl fmt::Display for Reported {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.message())
        }
    }

    impl StdError for Reported {}

    impl DatabaseError for Reported {
        #[expect(clippy::unnecessary_literal_bound, reason = "as the trait has it")]
        fn message(&self) -> &str {
            "no such thing: jane.doe@example.com"
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            self.code.map(Cow::Borrowed)
        }

        fn constraint(&self) -> Option<&str> {
            self.constraint
        }

        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    fn text(code: Option<&'static str>, constraint: Option<&'static str>) -> String {
        shown(&Error::Database(Box::new(Reported { code, constraint }))).to_string()
    }

    #[test]
    fn a_message_that_may_quote_a_value_is_not_shown() {
        for code in [Some("22P02"), Some("23505"), Some("P0001"), Some("AB123"), Some("1811"), Some(""), None]
        {
            let text = text(code, None);
            assert!(!text.contains(KEY), "{text}");
            assert!(text.contains(code.unwrap_or_default()), "{text}");
        }
        assert_eq!(
            text(Some("23505"), Some("orders_pkey")),
            "error returned from database: code 23505, constraint `orders_pkey`; the message is logged at debug level"
        );
    }

    #[test]
    fn what_the_database_says_of_itself_is_shown_as_it_is() {
        for code in ["42P01", "40001", "57P01", "53300", "1", "5", "13", "2067"] {
            let text = text(Some(code), None);
            assert_eq!(text, "error returned from database: no such thing: jane.doe@example.com", "{code}");
        }
        assert_eq!(shown(&Error::PoolClosed).to_string(), Error::PoolClosed.to_string());
    }
}
