//! Several operations in one request, of which some succeed.

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::r1;
use idem_tests::on_both_databases;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::{Acquire as _, Transaction};

type Results = (StatusCode, Json<Vec<u16>>);

/// Each order in a savepoint of its own: the answer says which of them were taken.
#[expect(clippy::disallowed_methods, reason = "a failed savepoint cannot be released without an error")]
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn each_by_itself<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(orders): Json<Vec<NewOrder>>,
) -> Result<Results, AppError> {
    let mut results = Vec::new();
    for order in &orders {
        let mut savepoint = tx.begin().await?;
        let result = match insert_order::<DB>(&mut savepoint, &tenant, order).await {
            Ok(_) => {
                savepoint.commit().await?;
                201
            }
            Err(AppError::OrderNumberTaken) => {
                savepoint.rollback().await?;
                409
            }
            Err(error) => return Err(error),
        };
        results.push(result);
    }
    Ok((StatusCode::MULTI_STATUS, Json(results)))
}

/// All orders or none.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn all_or_none<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(orders): Json<Vec<NewOrder>>,
) -> Result<Results, AppError> {
    for order in &orders {
        insert_order::<DB>(&mut *tx, &tenant, order).await?;
    }
    Ok((StatusCode::CREATED, Json(vec![201; orders.len()])))
}

/// Three orders, the last with the number of the first.
const BATCH: &str = r#"[{"item":"tea","qty":1,"order_no":"A-1"},
                        {"item":"milk","qty":1,"order_no":"A-2"},
                        {"item":"tea","qty":2,"order_no":"A-1"}]"#;

fn routes<DB: TestDatabase>() -> Router<App<DB>> {
    Router::new().route("/each", post(each_by_itself::<DB>)).route("/all", post(all_or_none::<DB>))
}

// Reports: U07
async fn a_partial_success_is_one_answer_with_the_writes_that_it_names<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let batch = r1().path("/each").body(BATCH);

    let first = server.send(&batch).await;
    let again = server.send(&batch).await;
    let without_the_refused = server.send(&batch.body(BATCH.replace(r#""A-1"}]"#, r#""A-3"}]"#))).await;

    assert_ran(&first, 207);
    assert_eq!(first.text(), "[201,201,409]");
    assert_replays(&first, &again);
    assert_problem(&without_the_refused, "idempotency_key_reused");
    bench.assert_holds(1, 2).await;
}

// Reports: U07
async fn a_batch_that_fails_as_a_whole_takes_every_write_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let batch = r1().path("/all").body(BATCH);

    let first = server.send(&batch).await;

    assert_ran(&first, 409);
    assert_replays(&first, &server.send(&batch).await);
    bench.assert_holds(1, 0).await;
}

on_both_databases! {
    a_partial_success_is_one_answer_with_the_writes_that_it_names
    a_batch_that_fails_as_a_whole_takes_every_write_back
}
