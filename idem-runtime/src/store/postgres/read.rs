//! What the rows say that statements give back.

use std::time::{Duration, Instant};

use sqlx::postgres::PgRow;
use sqlx::{Error, Row};

use super::super::{Address, Found, KeyRow};
use crate::replay::StoredResponse;

/// Where a reserved row is, and the transaction that wrote it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Mark {
    pub(super) ctid: String,
    /// The transaction's id, or the run's mark where the server has no `xmin`.
    pub(super) transaction: String,
    pub(super) created_at_micros: i64,
    /// Whether the transaction takes predicate locks.
    pub(super) is_serializable: bool,
}

/// Reads what a reserving statement gave back; `None` where the bounded form reports that it wrote nothing.
pub(super) fn mark(row: &PgRow) -> Result<Option<Mark>, Error> {
    let Some(ctid) = row.try_get::<Option<String>, _>("ctid")? else { return Ok(None) };
    Ok(Some(Mark {
        ctid,
        transaction: row.try_get("transaction")?,
        created_at_micros: row.try_get("created_at_micros")?,
        is_serializable: row.try_get("is_serializable")?,
    }))
}

/// Reads a row that is live.
pub(super) fn found(row: &PgRow, address: &Address) -> Result<Found, Error> {
    if row.try_get::<&str, _>("scope")? != address.scope
        || row.try_get::<&str, _>("key")? != address.key.as_str()
    {
        return Ok(Found::Collision);
    }
    let fingerprint: Vec<u8> = row.try_get("fingerprint")?;
    let response = match row.try_get::<Option<i16>, _>("response_status")? {
        None => None,
        Some(status) => {
            let headers: Vec<u8> = row.try_get("response_headers")?;
            let body: Vec<u8> = row.try_get("response_body")?;
            Some(
                StoredResponse::decode(status, &headers, body)
                    .map_err(|error| Error::Decode(error.into()))?,
            )
        }
    };
    Ok(Found::of(KeyRow {
        fingerprint,
        fingerprint_version: row.try_get("fingerprint_version")?,
        response,
        created_at_micros: row.try_get("created_at_micros")?,
        completed_at_micros: row.try_get("completed_at_micros")?,
        expires_at_micros: row.try_get("expires_at_micros")?,
    }))
}

/// Whether the transaction is older than it can be, if its BEGIN was sent after `begun`.
///
/// On a connection that already is in a transaction, BEGIN is a mere warning: the run would join writes that are none
/// of its own, and its row would be dated back.
pub(super) fn is_foreign(row: &PgRow, begun: Instant) -> Result<bool, Error> {
    /// What the two clocks may differ by while a reservation is made.
    const CLOCK_TOLERANCE: Duration = Duration::from_millis(20);
    let age = Duration::from_micros(row.try_get::<i64, _>("age_micros")?.unsigned_abs());
    Ok(age > begun.elapsed() + CLOCK_TOLERANCE)
}
