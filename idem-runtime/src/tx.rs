//! The transaction that a handler takes by `&mut`.

use sqlx::Transaction;

use crate::store::Store;

/// The parameter of [`Tx::Db`] in an expansion: any type with a lifetime bound inside it.
#[doc(hidden)]
pub type Once = fn(&());

/// A type whose `&mut` is the handler's transaction: [`sqlx::Transaction`], or the connection inside it.
///
/// Implemented for every lifetime of a transaction, so that the bound never meets one in a future's type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transaction",
    label = "expected `sqlx::Transaction<'_, DB>` or a connection such as `PgConnection`"
)]
pub trait Tx {
    /// The database. `Once` is for the compiler's messages alone: see the expansion of a handler.
    type Db<Once>: Store;
}

impl<DB: Store> Tx for Transaction<'_, DB> {
    type Db<Once> = DB;
}

#[cfg(feature = "postgres")]
impl Tx for sqlx::PgConnection {
    type Db<Once> = sqlx::Postgres;
}

#[cfg(feature = "sqlite")]
impl Tx for sqlx::SqliteConnection {
    type Db<Once> = sqlx::Sqlite;
}
