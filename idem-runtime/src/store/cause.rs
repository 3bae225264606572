//! What a database error means to a run, whichever database reports it.

use sqlx::Error;

/// The kinds of database error that the engine answers differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The transaction lost against another and was rolled back: 40001, 40P01.
    Conflict,
    /// The connection is gone, or the server does not know what came of the statement: class 08, 25P03, 25P04, 40003,
    /// 57P01 to 57P05, or no reply at all.
    ConnectionLost,
    /// A lock was not had in time: 55P03.
    LockTimeout,
    /// The server takes no writes, as after a failover: 25006.
    ReadOnly,
    /// The table is missing, not as it should be, or not allowed to this role: classes 0A, 22, 28, 3F and 42, 23502.
    Misconfigured,
    /// The database is too busy or too full to work now.
    Unavailable,
    /// Any other error that the server reported.
    Other,
}

impl Cause {
    /// Reads the error of a statement that the engine sent.
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::Database(reported) => reported.code().map_or(Self::Other, |code| {
                // An SQLSTATE has five characters; SQLite's result codes are decimal numbers below 10 000.
                if code.len() == 5 { of_sqlstate(&code) } else { of_result_code(&code) }
            }),
            Error::Io(_)
            | Error::Tls(_)
            | Error::Protocol(_)
            | Error::PoolClosed
            | Error::PoolTimedOut
            | Error::WorkerCrashed
            | Error::BeginFailed => Self::ConnectionLost,
            _ => Self::Other,
        }
    }

    /// Whether the server refuses the statement because one before it has failed in the transaction: 25P02.
    pub(crate) fn is_aborted(error: &Error) -> bool {
        // SQLite, which goes on, has no such code.
        error.as_database_error().is_some_and(|reported| reported.code().as_deref() == Some("25P02"))
    }

    /// Whether no reply came, so that the server may have done the work.
    pub(crate) fn is_silent(error: &Error) -> bool {
        !matches!(error, Error::Database(_)) || Self::of(error) == Self::ConnectionLost
    }
}

/// PostgreSQL manual, appendix A.
fn of_sqlstate(code: &str) -> Cause {
    match code {
        "40001" | "40P01" => Cause::Conflict,
        "25P03" | "25P04" | "40003" | "57P01" | "57P02" | "57P03" | "57P04" | "57P05" => {
            Cause::ConnectionLost
        }
        "55P03" => Cause::LockTimeout,
        "25006" => Cause::ReadOnly,
        "23502" => Cause::Misconfigured,
        _ => match &code[..2] {
            "08" => Cause::ConnectionLost,
            "0A" | "22" | "28" | "3F" | "42" => Cause::Misconfigured,
            // 25: the connection came with a transaction that is not ours, or one that has failed.
            "25" | "53" | "57" | "58" => Cause::Unavailable,
            _ => Cause::Other,
        },
    }
}

/// SQLite result codes, <https://www.sqlite.org/rescode.html>; the low byte is the primary code.
fn of_result_code(code: &str) -> Cause {
    const ERROR: u32 = 1;
    const BUSY: u32 = 5;
    const LOCKED: u32 = 6;
    const READONLY: u32 = 8;
    const INTERRUPT: u32 = 9;
    const IOERR: u32 = 10;
    const FULL: u32 = 13;
    const CANTOPEN: u32 = 14;
    const CONSTRAINT_NOTNULL: u32 = 1299;
    const CONSTRAINT_DATATYPE: u32 = 3091;

    match code.parse::<u32>() {
        Ok(CONSTRAINT_NOTNULL | CONSTRAINT_DATATYPE) => Cause::Misconfigured,
        Ok(code) => match code & 0xff {
            // "no such table" and its kind: the engine's own statements are never wrong otherwise.
            ERROR => Cause::Misconfigured,
            BUSY | LOCKED | INTERRUPT | IOERR | FULL | CANTOPEN => Cause::Unavailable,
            READONLY => Cause::ReadOnly,
            _ => Cause::Other,
        },
        Err(_) => Cause::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlstate_is_the_cause_that_the_manual_gives_it() {
        for (cause, codes) in [
            (Cause::Conflict, &["40001", "40P01"][..]),
            // 40003 and 25P04 were errors that had no effect for sure.
            (
                Cause::ConnectionLost,
                &["08000", "08006", "25P03", "25P04", "40003", "57P01", "57P02", "57P03", "57P04", "57P05"],
            ),
            (Cause::LockTimeout, &["55P03"]),
            (Cause::ReadOnly, &["25006"]),
            (Cause::Misconfigured, &["0A000", "22023", "23502", "28000", "3F000", "42501", "42P01", "42703"]),
            // 25P02 and 25001, of a connection that came in a transaction, were a table to be repaired.
            (Cause::Unavailable, &["25P02", "25001", "25P01", "53100", "53300", "57000", "57014", "58030"]),
            (Cause::Other, &["23505", "23514", "40002", "40000", "54000", "55000", "P0001", "XX000"]),
        ] {
            for code in codes {
                assert_eq!(of_sqlstate(code), cause, "{code}");
            }
        }
    }

    #[test]
    fn a_result_code_is_the_cause_of_its_primary_code() {
        for (cause, codes) in [
            // SQLITE_ERROR, SQLITE_CONSTRAINT_NOTNULL, SQLITE_CONSTRAINT_DATATYPE
            (Cause::Misconfigured, &["1", "1299", "3091"][..]),
            // BUSY, BUSY_SNAPSHOT, LOCKED, INTERRUPT, IOERR, IOERR_FSYNC, FULL, CANTOPEN
            (Cause::Unavailable, &["5", "517", "6", "9", "10", "1034", "13", "14"]),
            // READONLY, READONLY_DBMOVED
            (Cause::ReadOnly, &["8", "1032"]),
            // CORRUPT, CONSTRAINT_COMMITHOOK, CONSTRAINT_UNIQUE, and what is no code
            (Cause::Other, &["11", "531", "2067", "", "none"]),
        ] {
            for code in codes {
                assert_eq!(of_result_code(code), cause, "{code}");
            }
        }
    }

    #[test]
    fn no_reply_is_told_from_an_error_that_was_replied() {
        assert!(Cause::is_silent(&Error::WorkerCrashed));
        assert!(Cause::is_silent(&Error::Io(std::io::ErrorKind::TimedOut.into())));
        assert!(Cause::is_silent(&Error::Protocol("out of step".to_owned())));
    }
}
