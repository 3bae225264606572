//! The transaction that a handler takes by `&mut`.

use sqlx::Transaction;

use crate::store::Store;

/// A type whose `&mut` is the handler's transaction: [`sqlx::Transaction`], or the connection inside it.
///
/// Implemented for every lifetime of a transaction, so that the bound never meets one in a future's type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transaction",
    label = "expected `sqlx::Transaction<'_, DB>` or a connection such as `PgConnection`"
)]
pub trait Tx {
    /// The database. `Reported` is [`Once`].
    type Db<Reported>: Store;
}

/// A type with a lifetime of its own. rustc checks a bound without parameters where it is written, unless there is such
/// a type in it; so what is missing for a handler is reported once, where the bound is used.
#[doc(hidden)]
pub type Once = fn(&());

impl<DB: Store> Tx for Transaction<'_, DB> {
    type Db<Reported> = DB;
}

#[cfg(feature = "postgres")]
impl Tx for sqlx::PgConnection {
    type Db<Reported> = sqlx::Postgres;
}

#[cfg(feature = "sqlite")]
impl Tx for sqlx::SqliteConnection {
    type Db<Reported> = sqlx::Sqlite;
}
