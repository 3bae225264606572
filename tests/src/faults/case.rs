use std::sync::atomic::{AtomicU32, Ordering};

use crate::bench::Bench;
use crate::database::{KeyRow, TestDatabase};
use crate::http::{Answer, Request, open, r1};
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

/// A kind of request, told by what it does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A success, committed with its writes.
    Success,
    /// An `Err`, stored after the rollback.
    Failure,
    /// A 500 that the handler decided on, which is probed for a failed statement before it is stored.
    Decided500,
    /// A failure that keeps its writes.
    KeptWrites,
    /// A repeat of a completed request.
    Replay,
    /// Another request under the key of a completed one.
    Mismatch,
    /// A success in place of a row that is expired.
    TakeOver,
}

impl Kind {
    /// Each of them.
    pub const ALL: [Self; 7] = [
        Self::Success,
        Self::Failure,
        Self::Decided500,
        Self::KeptWrites,
        Self::Replay,
        Self::Mismatch,
        Self::TakeOver,
    ];

    fn path(self) -> &'static str {
        match self {
            Self::Success | Self::Replay | Self::Mismatch | Self::TakeOver => "/orders",
            Self::Failure => "/err",
            Self::Decided500 => "/boom",
            Self::KeptWrites => "/declined",
        }
    }

    /// The status of its right answer.
    fn status(self) -> u16 {
        match self {
            Self::Success | Self::Replay | Self::TakeOver => 201,
            Self::Failure | Self::Mismatch => 422,
            Self::Decided500 => 500,
            Self::KeptWrites => 402,
        }
    }

    /// Asserts that `answer` has the status of the right one.
    ///
    /// # Panics
    /// If it has not.
    #[track_caller]
    pub fn assert_status(self, answer: &Answer) {
        assert_eq!(answer.status, self.status(), "{answer:?}");
    }

    /// Whether the handler runs for it.
    pub(super) fn runs(self) -> bool {
        !matches!(self, Self::Replay | Self::Mismatch)
    }

    /// The table that its handler writes to, and how many rows it leaves there.
    fn writes(self) -> (&'static str, i64) {
        match self {
            Self::Success | Self::TakeOver => ("orders", 1),
            Self::KeptWrites => ("audit", 1),
            Self::Failure | Self::Decided500 | Self::Replay | Self::Mismatch => ("orders", 0),
        }
    }
}

/// One request with a key of its own, ready to be sent, with what has to be there before it.
#[derive(Debug)]
pub struct Case {
    kind: Kind,
    key: String,
    /// What a fault is to strike.
    pub request: Request,
    /// The answer to the request that came before it with the same key, if one did.
    before: Option<Answer>,
    /// The rows in the handler's table.
    rows: i64,
}

impl Case {
    /// Makes one of this kind, by requests to the server at `address` if any have to come before it.
    ///
    /// # Panics
    /// The future panics if those go wrong.
    pub async fn prepare<DB: TestDatabase>(
        kind: Kind,
        bench: &Bench<DB>,
        address: std::net::SocketAddr,
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let key = format!("{kind:?}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let mut request = r1().path(kind.path()).key(format!("\"{key}\""));
        let mut before = None;
        if matches!(kind, Kind::Replay | Kind::Mismatch | Kind::TakeOver) {
            let first = open(address, &request).await.answer().await;
            assert_ran(&first, 201);
            before = Some(first);
        }
        if kind == Kind::Mismatch {
            request = request.body(r#"{"item":"tea","qty":2}"#);
        }
        if kind == Kind::TakeOver {
            bench.expire_in(-1).await;
        }
        let rows = bench.count(kind.writes().0).await;
        Self { kind, key, request, before, rows }
    }

    /// Asserts that the request's writes are there if and only if it `is_done`, and then its answer is as well.
    ///
    /// # Panics
    /// The future panics if it is otherwise.
    pub async fn assert_done<DB: TestDatabase>(&self, bench: &Bench<DB>, is_done: bool) {
        let (table, written) = self.kind.writes();
        let rows = bench.count(table).await - self.rows;
        assert_eq!(rows, if is_done { written } else { 0 }, "rows in {table}");

        let key_row = self.key_row(bench).await;
        if self.before.is_some() {
            let key_row = key_row.expect("the row of the first request stays until it is replaced");
            let is_first = self.before.as_ref().map(|before| &before.body) == key_row.body.as_ref();
            assert_eq!(is_first, !(is_done && self.kind == Kind::TakeOver), "the first answer: {key_row:?}");
        } else {
            assert_eq!(key_row.is_some(), is_done, "{key_row:?}");
        }
    }

    /// Asserts that `answer` is the request's right one, replayed if that was `done` before, and that its writes and
    /// its stored answer are there once.
    ///
    /// # Panics
    /// The future panics if it is otherwise.
    pub async fn assert_right<DB: TestDatabase>(&self, bench: &Bench<DB>, answer: &Answer, done: bool) {
        match (self.kind, &self.before) {
            (Kind::Mismatch, _) => assert_problem(answer, "idempotency_key_reused"),
            (Kind::Replay, Some(before)) => assert_replays(before, answer),
            _ if done => {
                assert_eq!((answer.status, answer.is_replay()), (self.kind.status(), true), "{answer:?}");
            }
            _ => assert_ran(answer, self.kind.status()),
        }

        self.assert_done(bench, true).await;
        let key_row = self.key_row(bench).await.expect("the key has a row");
        assert!(key_row.is_completed(), "{key_row:?}");
        let stored = if self.kind == Kind::Mismatch { self.before.as_ref() } else { Some(answer) };
        let stored = stored.expect("a mismatch comes after a first request");
        assert_eq!(key_row.status, Some(i64::from(stored.status)));
        assert_eq!(key_row.body.as_ref(), Some(&stored.body));
    }

    /// The row of the request's key.
    async fn key_row<DB: TestDatabase>(&self, bench: &Bench<DB>) -> Option<KeyRow> {
        let mut rows = bench.key_rows().await;
        rows.retain(|row| row.key == self.key);
        assert!(rows.len() <= 1, "one row a key: {rows:?}");
        rows.pop()
    }
}
