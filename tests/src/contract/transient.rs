//! An `Err` that is known to be transient is the application's answer, and is not stored.

use std::error::Error;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use idem_examples::reference::{App, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::{Transient, idempotent};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::same::{assert_ran, assert_replays};

/// The application's answer to a failure of the database.
fn answer(status: u16) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (status, "the database is busy").into_response()
}

#[derive(Debug, thiserror::Error)]
#[error("the database failed")]
struct WithSource {
    status: u16,
    source: sqlx::Error,
}

impl IntoResponse for WithSource {
    fn into_response(self) -> Response {
        answer(self.status)
    }
}

/// Shows what the driver's error wraps, and not the driver's error.
#[derive(Debug, thiserror::Error)]
enum Transparent {
    #[error(transparent)]
    Refused(sqlx::Error),
    #[error(transparent)]
    Failed(sqlx::Error),
}

impl IntoResponse for Transparent {
    fn into_response(self) -> Response {
        answer(if matches!(self, Self::Refused(_)) { 409 } else { 500 })
    }
}

/// The wrapper of axum's own example for `anyhow`.
#[derive(Debug)]
struct Anyhow(u16, anyhow::Error);

impl AsRef<dyn Error + Send + Sync> for Anyhow {
    fn as_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        self.1.as_ref()
    }
}

impl IntoResponse for Anyhow {
    fn into_response(self) -> Response {
        answer(self.0)
    }
}

/// An error that says by itself what it is.
#[derive(Debug)]
struct Spoken(u16, bool);

impl Transient for Spoken {
    fn is_transient(&self) -> bool {
        self.1
    }
}

impl IntoResponse for Spoken {
    fn into_response(self) -> Response {
        answer(self.0)
    }
}

/// A route of a handler that inserts an order, then fails transiently on its first run with `$error`, made
/// of the status it is to answer and the driver's error.
macro_rules! failing_once {
    ($error:ty, |$status:ident, $driver:ident| $make:expr) => {{
        #[idempotent(scope = "tenant,endpoint", ttl = "24h")]
        async fn fails_once<DB: TestDatabase>(
            tx: &mut Transaction<'_, DB>,
            tenant: TenantId,
            State(probe): State<Probe>,
            Path($status): Path<u16>,
        ) -> Result<StatusCode, $error> {
            probe.ran();
            let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
            insert_order::<DB>(&mut *tx, &tenant, &order).await.expect("an order can be inserted");
            if probe.runs() == 1 {
                let $driver = DB::fail_transiently(&mut *tx).await;
                return Err($make);
            }
            Ok(StatusCode::CREATED)
        }
        Router::<App<DB>>::new().route("/{status}", post(fails_once::<DB>))
    }};
}

/// Asserts that the first answer is the application's, with this status, and that the retry runs.
async fn assert_not_stored<DB: TestDatabase>(bench: &Bench<DB>, routes: Router<App<DB>>, status: u16) {
    let server = bench.server().routes(routes).start().await;
    let request = r1().path(&format!("/{status}")).fresh_key();
    let (keys, orders) = (bench.key_rows().await.len(), bench.count("orders").await);

    let failed = server.send(&request).await;
    bench.assert_holds(keys, orders).await;
    let first = server.send(&request).await;

    assert_ran(&failed, status);
    assert_eq!(failed.text(), "the database is busy");
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&request).await);
    bench.assert_holds(keys + 1, orders + 1).await;
}

// Cases: T-13
pub async fn an_error_with_the_drivers_as_its_source_is_looked_into<DB: TestDatabase>(bench: &Bench<DB>) {
    for status in [500, 409] {
        let routes = failing_once!(WithSource, |status, source| WithSource { status, source });
        assert_not_stored(bench, routes, status).await;
    }
}

// Cases: T-13
pub async fn a_transparent_wrapper_is_looked_through<DB: TestDatabase>(bench: &Bench<DB>) {
    for status in [500, 409] {
        let routes = failing_once!(Transparent, |status, error| match status {
            409 => Transparent::Refused(error),
            _ => Transparent::Failed(error),
        });
        assert_not_stored(bench, routes, status).await;
    }
}

// Cases: T-13
pub async fn an_anyhow_wrapper_is_looked_into_where_it_lets_one<DB: TestDatabase>(bench: &Bench<DB>) {
    for status in [500, 409] {
        let routes = failing_once!(Anyhow, |status, error| Anyhow(
            status,
            anyhow::Error::new(error).context("while ordering")
        ));
        assert_not_stored(bench, routes, status).await;
    }
}

// Cases: T-13
pub async fn an_error_of_text_is_not_stored_when_it_answers_500<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = failing_once!((StatusCode, String), |status, error| {
        let status = StatusCode::from_u16(status).expect("a status");
        drop(error);
        (status, "the database is busy".to_owned())
    });

    assert_not_stored(bench, routes, 500).await;
}

// Cases: T-13
pub async fn an_error_that_says_it_is_transient_is_believed<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = failing_once!(Spoken, |status, error| {
        drop(error);
        Spoken(status, true)
    });

    assert_not_stored(bench, routes, 409).await;
}

// Cases: T-13
pub async fn an_error_that_says_it_is_not_transient_is_stored<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = failing_once!(Spoken, |status, error| {
        drop(error);
        Spoken(status, false)
    });
    let server = bench.server().routes(routes).start().await;

    let failed = server.send(&r1().path("/409")).await;

    assert_ran(&failed, 409);
    assert_replays(&failed, &server.send(&r1().path("/409")).await);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 0).await;
}
