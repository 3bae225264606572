//! A key row that one build of the application wrote, read by the next.

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, Order};
use idem_tests::bench::Bench;
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::http::r1;
use idem_tests::on_both_databases;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};

type Created = Result<(StatusCode, Json<Order>), AppError>;

/// The handler as it was first written.
mod build_1 {
    use super::Created;
    use axum::Json;
    use axum::http::StatusCode;
    use idem_examples::reference::{NewOrder, TenantId, insert_order};
    use idem_runtime::idempotent;
    use idem_tests::database::TestDatabase;
    use sqlx::Transaction;

    #[idempotent(scope = "tenant,endpoint", ttl = "24h")]
    pub(crate) async fn create_order<DB: TestDatabase>(
        tx: &mut Transaction<'_, DB>,
        tenant: TenantId,
        Json(order): Json<NewOrder>,
    ) -> Created {
        Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
    }
}

/// The same handler, moved and renamed, with a type of its own for the body.
mod build_2 {
    pub(crate) mod shop {
        use super::super::Created;
        use axum::Json;
        use axum::http::StatusCode;
        use idem_examples::reference::{NewOrder, TenantId, insert_order};
        use idem_runtime::idempotent;
        use idem_tests::database::TestDatabase;
        use serde::{Deserialize, Serialize};
        use sqlx::Transaction;

        #[derive(Deserialize, Serialize)]
        pub(crate) struct Purchase {
            qty: i64,
            item: String,
        }

        #[idempotent(scope = "tenant,endpoint", ttl = "24h")]
        pub(crate) async fn place<DB: TestDatabase>(
            tenant: TenantId,
            tx: &mut Transaction<'_, DB>,
            Json(purchase): Json<Purchase>,
        ) -> Created {
            let order = NewOrder { item: purchase.item, qty: purchase.qty, order_no: None };
            Ok((StatusCode::CREATED, Json(insert_order::<DB>(tx, &tenant, &order).await?)))
        }
    }
}

// Reports: B13
async fn a_handler_that_was_renamed_and_moved_replays_what_it_answered_before<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let old = Router::new().route("/orders", post(build_1::create_order::<DB>));
    let new = Router::new().route("/orders", post(build_2::shop::place::<DB>));
    let old = bench.server().routes(old).start().await;
    let new = bench.server().routes(new).start().await;

    let first = old.send(&r1()).await;
    let again = new.send(&r1()).await;
    let other = new.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&other, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

// Reports: B55
async fn a_fingerprint_of_rules_that_are_not_known_proves_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let first = server.send(&r1()).await;
    let version = bench.key_row().await.fingerprint_version;
    let set = async |version: i64| {
        let table = bench.place.key_table();
        bench.place.execute(&format!("UPDATE {table} SET fingerprint_version = {version}")).await;
    };

    for unknown in [0, version + 1] {
        set(unknown).await;

        // Neither that it is the same request nor that it is another: both are refused, and neither runs.
        assert_problem(&server.send(&r1()).await, "idempotency_key_reused");
        let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;
        assert_problem(&other, "idempotency_key_reused");
    }
    set(version).await;

    assert_replays(&first, &server.send(&r1()).await);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

on_both_databases! {
    a_handler_that_was_renamed_and_moved_replays_what_it_answered_before
    a_fingerprint_of_rules_that_are_not_known_proves_nothing
}
