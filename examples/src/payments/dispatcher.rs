//! Makes the calls that have been written down: at least once each, and with a key of its own each, so that the provider
//! does once what it is told twice.
//!
//! A call goes through three steps: claimed, made, struck out. Ended between any two of them, in whatever way, it is
//! claimed again when its lease is over. A lease outlasts the longest call; should it not, because the process stood
//! still, two make the same call with the same key, and the second finds the order settled.

use std::time::Duration;

use sqlx::Pool;
use tokio::time::timeout;

use super::app::Outside;
use super::books::{Books, Queued};
use super::pause::Moment;

/// How long until the dispatcher looks by itself: for calls that another process has written down, whose lease is
/// over, or of which it was not told.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Makes calls for as long as it is let. A call stays claimed for `lease`, which is longer than it may take.
///
/// # Cancel safety
/// Dropped, it leaves at most one call claimed: that is made again when its lease is over.
pub(super) async fn dispatch<DB: Books>(pool: Pool<DB>, outside: Outside, lease: Duration) {
    loop {
        outside.pause.reach(Moment::Dispatch).await;
        match dispatch_next(&pool, &outside, lease).await {
            Ok(true) => {}
            Ok(false) => drop(timeout(LOOK_EVERY, outside.wake.notified()).await),
            Err(error) => {
                eprintln!("the dispatcher's database failed: {error}");
                drop(timeout(LOOK_EVERY, outside.wake.notified()).await);
            }
        }
    }
}

/// Makes the next call, if there is one that is due.
async fn dispatch_next<DB: Books>(pool: &Pool<DB>, outside: &Outside, lease: Duration) -> sqlx::Result<bool> {
    // The connection goes back to the pool before the call: nothing waits for the provider but this task.
    let taken = DB::take_queued(&mut *pool.acquire().await?, lease).await?;
    let Some(Queued { key, order, payment }) = taken else { return Ok(false) };

    let verdict = match outside.calls.charge(&key, payment).await {
        Ok(verdict) => verdict,
        Err(error) => {
            eprintln!("order {order}: {error}; the call is due again when its lease is over");
            return Ok(true);
        }
    };
    outside.pause.reach(Moment::Sent).await;

    let mut tx = pool.begin().await?;
    DB::settle(&mut tx, order, &verdict).await?;
    DB::strike_out(&mut tx, &key).await?;
    #[expect(clippy::disallowed_methods, reason = "every error of a statement has left before COMMIT")]
    tx.commit().await?;
    Ok(true)
}
