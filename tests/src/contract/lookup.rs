//! Look-ups beside the transaction, through a pool that only reads.

use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, TenantId, insert_order};
use idem_runtime::{Idempotency, ReadOnly, idempotent};
use sqlx::{Pool, Transaction};

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::r1;
use crate::patience::soon;
use crate::same::{assert_ran, assert_replays};
use crate::server::Server;

/// The state of an application that looks things up.
struct Shop<DB: TestDatabase> {
    idempotency: Idempotency<DB>,
    lookups: ReadOnly<Pool<DB>>,
}

impl<DB: TestDatabase> Clone for Shop<DB> {
    fn clone(&self) -> Self {
        Self { idempotency: self.idempotency.clone(), lookups: self.lookups.clone() }
    }
}

impl<DB: TestDatabase> FromRef<Shop<DB>> for Idempotency<DB> {
    fn from_ref(shop: &Shop<DB>) -> Self {
        shop.idempotency.clone()
    }
}

impl<DB: TestDatabase> FromRef<Shop<DB>> for ReadOnly<Pool<DB>> {
    fn from_ref(shop: &Shop<DB>) -> Self {
        shop.lookups.clone()
    }
}

/// The number of orders that others can see while this one is under way.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn counts_orders<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(lookups): State<ReadOnly<Pool<DB>>>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<Option<i64>>), AppError> {
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let mut connection = lookups.acquire().await?;
    let seen = DB::integer(&mut connection, "SELECT count(*) FROM orders", &[]).await?;
    Ok((StatusCode::CREATED, Json(seen)))
}

/// Says whether a write beside its transaction was refused.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn writes_beside<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(lookups): State<ReadOnly<Pool<DB>>>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<bool>), AppError> {
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let mut connection = lookups.acquire().await?;
    let beside = insert_order::<DB>(&mut connection, &tenant, &order).await;
    Ok((StatusCode::CREATED, Json(beside.is_err())))
}

async fn shop<DB: TestDatabase>(bench: &Bench<DB>) -> Server<DB> {
    let lookups = bench.place.lookups().await;
    let router = |app: App<DB>| {
        Router::new()
            .route("/orders", post(counts_orders::<DB>))
            .route("/beside", post(writes_beside::<DB>))
            .with_state(Shop { idempotency: app.idempotency, lookups })
    };
    bench.server().router(router).start().await
}

pub async fn a_look_up_beside_the_transaction_sees_what_is_committed<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = shop(bench).await;

    let first = server.send(&r1()).await;
    let second = server.send(&r1().fresh_key()).await;

    assert_ran(&first, 201);
    assert_eq!(first.text(), "0");
    assert_eq!(second.text(), "1");
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(2, 2).await;
}

pub async fn a_write_beside_the_transaction_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = shop(bench).await;

    let first = server.send(&r1().path("/beside")).await;

    assert_ran(&first, 201);
    assert_eq!(first.text(), "true");
    bench.assert_holds(1, 1).await;
}

pub async fn a_read_only_pool_refuses_whatever_writes<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    assert_ran(&server.send(&r1()).await, 201);
    let lookups = bench.place.lookups().await;
    let mut connection = soon(lookups.acquire()).await.expect("the database can be reached");
    let writes = [
        "INSERT INTO orders (tenant, item, qty) VALUES ('t1', 'tea', 1)",
        "UPDATE orders SET qty = 2",
        "DELETE FROM orders",
        "CREATE TABLE others (id bigint)",
        "DROP TABLE orders",
    ];

    for sql in writes {
        assert!(soon(DB::execute(&mut connection, sql, &[])).await.is_err(), "{sql}");
    }

    assert_eq!(
        soon(DB::integer(&mut connection, "SELECT qty FROM orders", &[])).await.expect("it reads"),
        Some(1)
    );
    bench.assert_holds(1, 1).await;
}
