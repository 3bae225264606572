//! A time to live, in its units and at its ends.

#![expect(clippy::result_large_err, reason = "handlers answer with whole responses, failed or not")]

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::Bench;
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::hand::Hand;
use idem_tests::http::r1;
use idem_tests::on_both_databases;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Transaction;

type Created = Result<(StatusCode, Json<Order>), AppError>;

/// A handler with this time to live.
macro_rules! remembered_for {
    ($name:ident, $ttl:literal) => {
        #[idempotent(scope = "tenant,endpoint", ttl = $ttl, allow(short_ttl))]
        async fn $name<DB: TestDatabase>(
            tx: &mut Transaction<'_, DB>,
            tenant: TenantId,
            Json(order): Json<NewOrder>,
        ) -> Created {
            Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
        }
    };
}

remembered_for!(for_two_seconds, "2s");
remembered_for!(for_ninety_minutes, "90m");
remembered_for!(for_an_hour, "1h");
remembered_for!(for_seven_days, "7d");
remembered_for!(for_as_long_as_possible, "3650d");

/// The seconds between the reservation and the expiry of the only key row, to the microsecond.
async fn remembered<DB: TestDatabase>(bench: &Bench<DB>) -> Duration {
    let row = bench.key_row().await;
    Duration::from_micros((row.expires_at - row.created_at).unsigned_abs())
}

// Reports: B08
async fn a_time_to_live_is_what_it_says_in_every_unit<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new()
        .route("/2s", post(for_two_seconds::<DB>))
        .route("/90m", post(for_ninety_minutes::<DB>))
        .route("/1h", post(for_an_hour::<DB>))
        .route("/7d", post(for_seven_days::<DB>))
        .route("/3650d", post(for_as_long_as_possible::<DB>));
    let server = bench.server().routes(routes).start().await;

    for (path, seconds) in
        [("/2s", 2), ("/90m", 90 * 60), ("/1h", 3600), ("/7d", 7 * 86_400), ("/3650d", 3650 * 86_400)]
    {
        assert_ran(&server.send(&r1().path(path)).await, 201);

        assert_eq!(remembered(bench).await, Duration::from_secs(seconds), "{path}");
        bench.place.execute(&format!("DELETE FROM {}", bench.place.key_table())).await;
    }
}

/// Moves the only key row so many seconds into the past, as if they had gone by.
async fn let_pass<DB: TestDatabase>(bench: &Bench<DB>, seconds: i64) {
    let (table, later, now) = (bench.place.key_table(), DB::Place::time(seconds), DB::Place::time(0));
    let shift = format!("(({later}) - ({now}))");
    let set = format!("created_at = created_at - {shift}, expires_at = expires_at - {shift}");
    assert_eq!(bench.place.execute(&format!("UPDATE {table} SET {set}")).await, 1);
}

// Reports: B08, B19
async fn a_key_is_remembered_until_its_time_is_over_and_no_cleaner_has_a_say<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let routes = Router::<App<DB>>::new().route("/orders", post(for_an_hour::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;
    // Short of the end by ten seconds: the machine may be busy.
    let_pass(bench, 3590).await;
    let shortly_before = server.send(&r1()).await;
    let_pass(bench, 11).await;
    assert_eq!(bench.key_rows().await.len(), 1, "the row is still there");
    let shortly_after = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &shortly_before);
    assert_ran(&shortly_after, 201);
    assert_replays(&shortly_after, &server.send(&r1()).await);
    bench.assert_holds(1, 2).await;
}

// Reports: B07
async fn a_time_to_live_beyond_its_ends_counts_as_the_nearer_end<DB: TestDatabase>(bench: &Bench<DB>) {
    let ten_years = Duration::from_hours(24 * 3650);
    for (written, kept) in [
        (Duration::ZERO, Duration::from_secs(1)),
        (Duration::from_millis(1), Duration::from_secs(1)),
        (Duration::from_millis(1001), Duration::from_secs(2)),
        (Duration::from_hours(24 * 365 * 100), ten_years),
        (Duration::MAX, ten_years),
    ] {
        let hand = Hand::new(|_, _| Ok(StatusCode::CREATED.into_response()))
            .described(move |operation, _| operation.ttl(written));
        let server = bench.server().routes(hand.routes()).start().await;

        assert_ran(&server.send(&r1()).await, 201);

        assert_eq!(remembered(bench).await, kept, "{written:?}");
        bench.expire_in(-1).await;
        assert_ran(&server.send(&r1()).await, 201);
        bench.place.execute(&format!("DELETE FROM {}", bench.place.key_table())).await;
    }
}

on_both_databases! {
    a_time_to_live_is_what_it_says_in_every_unit
    a_key_is_remembered_until_its_time_is_over_and_no_cleaner_has_a_say
    a_time_to_live_beyond_its_ends_counts_as_the_nearer_end
}
