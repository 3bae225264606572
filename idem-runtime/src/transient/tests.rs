use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use sqlx::error::{DatabaseError, ErrorKind};

use super::is_transient;
use crate::inbox::InboxError;

/// An error of a database whose only property is its code.
#[derive(Debug)]
struct Coded(Option<&'static str>);

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("coded")
    }
}

impl Error for Coded {}

impl DatabaseError for Coded {
    fn message(&self) -> &'static str {
        "coded"
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.0.map(Cow::Borrowed)
    }

    fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

/// An application's error with a message of its own, as thiserror's `#[error("..")] Db(#[from] E)` makes it.
#[derive(Debug)]
struct Wrapper<E>(E);

impl<E> fmt::Display for Wrapper<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrapper")
    }
}

impl<E: Error + 'static> Error for Wrapper<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// One that passes its inner error's source on as its own, as thiserror's `#[error(transparent)]` makes it.
#[derive(Debug)]
struct Transparent<E>(E);

impl<E> fmt::Display for Transparent<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("transparent")
    }
}

impl<E: Error + 'static> Error for Transparent<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

fn coded(code: &'static str) -> sqlx::Error {
    Coded(Some(code)).into()
}

fn io(kind: io::ErrorKind) -> io::Error {
    kind.into()
}

#[test]
fn listed_sqlstates_are_transient() {
    // G-24a
    let listed = [
        "40001", "40P01", "55P03", "25P03", "25P04", "57P01", "57P02", "57P03", "57P04", "57P05", "08000",
        "08003", "08006", "08P01",
    ];

    for code in listed {
        assert!(is_transient(&coded(code)), "{code}");
    }
}

#[test]
fn other_sqlstates_are_not_transient() {
    let others = [
        "", "0", "08", "0800", "080060", "40000", "40002", "4000", "400010", "40p01", "55000", "25P02",
        "57014", "57P06", "57000", "23505", "22P05", "42P01", "HY000", "00000",
    ];

    for code in others {
        assert!(!is_transient(&coded(code)), "{code}");
    }
    assert!(!is_transient(&sqlx::Error::from(Coded(None))));
}

#[test]
fn a_result_code_of_sqlite_is_not_taken_for_an_sqlstate() {
    // Every primary code up to `SQLITE_DONE`, under every extension in use and far beyond.
    for code in 0..=101_u32 {
        for extension in 0..=64 {
            let code: &'static str = (extension << 8 | code).to_string().leak();

            assert!(!is_transient(&coded(code)), "{code}");
        }
    }
}

#[test]
fn errors_of_the_pool_and_the_connection_are_transient() {
    let errors = [
        sqlx::Error::Io(io(io::ErrorKind::Other)),
        sqlx::Error::PoolTimedOut,
        sqlx::Error::PoolClosed,
        sqlx::Error::WorkerCrashed,
    ];

    for error in errors {
        assert!(is_transient(&error), "{error}");
    }
}

#[test]
fn errors_of_the_program_are_not_transient() {
    let errors = [
        sqlx::Error::RowNotFound,
        sqlx::Error::ColumnNotFound("a".to_owned()),
        sqlx::Error::Protocol("a".to_owned()),
        sqlx::Error::Configuration("a".into()),
    ];

    for error in errors {
        assert!(!is_transient(&error), "{error}");
    }
}

#[test]
fn an_end_of_input_inside_a_value_is_no_lost_connection() {
    let cut = || Box::new(io(io::ErrorKind::UnexpectedEof));

    assert!(!is_transient(&sqlx::Error::Decode(cut())));
    assert!(!is_transient(&sqlx::Error::Encode(cut())));
    assert!(!is_transient(&sqlx::Error::ColumnDecode { index: "0".to_owned(), source: cut() }));
}

#[test]
fn a_connection_lost_in_a_handshake_is_transient() {
    assert!(is_transient(&sqlx::Error::Tls(Box::new(io(io::ErrorKind::ConnectionReset)))));
}

#[test]
fn sources_are_looked_into() {
    // T-13
    assert!(is_transient(&Wrapper(coded("40001"))));
    assert!(is_transient(&Wrapper(Wrapper(Wrapper(sqlx::Error::PoolTimedOut)))));
    assert!(!is_transient(&Wrapper(Wrapper(coded("23505")))));
}

#[test]
fn what_a_transparent_wrapper_shows_is_enough_for_a_database_error_and_a_lost_connection() {
    // T-13
    assert!(is_transient(&Transparent(coded("40P01"))));
    assert!(!is_transient(&Transparent(coded("23505"))));
    assert!(is_transient(&Transparent(sqlx::Error::Io(io(io::ErrorKind::ConnectionReset)))));
}

#[test]
fn a_transparent_wrapper_hides_what_has_no_source() {
    // The documented limit: the status decides then.
    assert!(!is_transient(&Transparent(sqlx::Error::PoolTimedOut)));
}

#[test]
fn a_boxed_or_shared_error_is_the_error_itself() {
    assert!(is_transient(&Wrapper(Box::new(sqlx::Error::PoolTimedOut))));
    assert!(is_transient(&Wrapper(Arc::new(sqlx::Error::PoolTimedOut))));
    assert!(is_transient(&Box::new(coded("40001"))));
    let database_error: Box<dyn DatabaseError> = Box::new(Coded(Some("40001")));
    assert!(is_transient(&database_error));
}

#[test]
fn an_io_error_is_transient_only_if_the_connection_is_lost() {
    let lost = [
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::HostUnreachable,
        io::ErrorKind::NetworkDown,
        io::ErrorKind::NetworkUnreachable,
        io::ErrorKind::NotConnected,
        io::ErrorKind::TimedOut,
        io::ErrorKind::UnexpectedEof,
    ];
    let others = [
        io::ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::AlreadyExists,
        io::ErrorKind::InvalidData,
        io::ErrorKind::Other,
    ];

    for kind in lost {
        assert!(is_transient(&io(kind)), "{kind:?}");
    }
    for kind in others {
        assert!(!is_transient(&io(kind)), "{kind:?}");
    }
}

#[test]
fn an_error_inside_an_io_error_is_looked_into() {
    assert!(is_transient(&io::Error::other(sqlx::Error::PoolTimedOut)));
    assert!(is_transient(&Wrapper(io::Error::other(Wrapper(coded("40001"))))));
    assert!(!is_transient(&io::Error::other(sqlx::Error::RowNotFound)));
}

#[test]
fn an_error_that_is_its_own_source_comes_to_an_end() {
    #[derive(Debug)]
    struct Loop;

    impl fmt::Display for Loop {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("loop")
        }
    }

    impl Error for Loop {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self)
        }
    }

    assert!(!is_transient(&Loop));
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::time::Duration;

    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions as _, Executor as _};

    use super::super::is_busy_sqlite;
    use super::{DatabaseError, Transparent, is_transient};

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
    }

    fn code(error: &sqlx::Error) -> Option<String> {
        error.as_database_error().and_then(DatabaseError::code).map(Into::into)
    }

    #[test]
    fn a_broken_constraint_is_not_transient() {
        let error = block_on(async {
            let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await?;
            connection.execute("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)").await?;
            connection.execute("INSERT INTO t VALUES (1)").await
        })
        .expect_err("the value is there already");

        assert_eq!(code(&error).as_deref(), Some("2067"));
        assert!(!is_transient(&error));
        assert!(!is_transient(&Transparent(error)));
    }

    #[test]
    fn a_busy_database_is_transient() {
        let file = std::env::temp_dir().join(format!("idem-runtime-busy-{}.db", std::process::id()));
        let options =
            SqliteConnectOptions::new().filename(&file).create_if_missing(true).busy_timeout(Duration::ZERO);

        let error = block_on(async {
            let mut first = options.connect().await?;
            let mut second = options.connect().await?;
            first.execute("BEGIN IMMEDIATE").await?;
            second.execute("BEGIN IMMEDIATE").await
        })
        .expect_err("another connection is writing");
        std::fs::remove_file(&file).expect("the file is there");

        assert_eq!(code(&error).as_deref(), Some("5"));
        assert!(is_transient(&error));
        assert!(is_transient(&Transparent(error)));
    }

    #[test]
    fn busy_and_locked_are_told_by_the_low_byte() {
        // SQLITE_BUSY, _RECOVERY, _SNAPSHOT, _TIMEOUT; SQLITE_LOCKED, _SHAREDCACHE, _VTAB
        for code in ["5", "261", "517", "773", "6", "262", "518"] {
            assert!(is_busy_sqlite(code), "{code}");
        }
        // SQLITE_ERROR, _NOMEM, _READONLY, _INTERRUPT, _IOERR, _FULL, _CONSTRAINT_UNIQUE, and what is no code
        for code in ["1", "7", "8", "9", "10", "13", "2067", "", "-5", "5x", "40001"] {
            assert!(!is_busy_sqlite(code), "{code}");
        }
    }
}

#[test]
fn an_error_of_an_inbox_is_looked_into() {
    assert!(is_transient(&InboxError::InProgress));
    assert!(is_transient(&Wrapper(InboxError::InProgress)));
    assert!(is_transient(&Wrapper(InboxError::Store(sqlx::Error::PoolTimedOut))));

    assert!(!is_transient(&InboxError::Store(sqlx::Error::RowNotFound)));
    assert!(!is_transient(&InboxError::Aborted));
    assert!(!is_transient(&InboxError::MessageIdMissing));
}
