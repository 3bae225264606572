//! Ways of requests whose handler runs.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, TenantId, insert_order};
use idem_runtime::idempotent;
use sqlx::Transaction;

use super::{Outcomes, Setting};
use crate::database::TestDatabase;
use crate::hand::Hand;
use crate::patience::soon;
use crate::problem::{assert_problem, assert_refusal};
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Script;

pub(super) async fn executed_and_replayed<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().start().await;
    let request = setting.request("executed");

    let first = server.send(&request).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&request).await);
    assert_problem(&server.send(&request.body(r#"{"item":"tea","qty":2}"#)).await, "idempotency_key_reused");
    vec!["executed", "replayed", "mismatch"]
}

pub(super) async fn by_another_process<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let (one, two) = (setting.launch().start().await, setting.launch().start().await);
    let request = setting.request("elsewhere");

    let first = one.send(&request).await;

    assert_replays(&first, &two.send(&request).await);
    vec!["executed", "replayed"]
}

pub(super) async fn failed_and_stored<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().start().await;
    let request = setting.request("failed").path("/err");

    let first = server.send(&request).await;

    assert_ran(&first, 422);
    assert_replays(&first, &server.send(&request).await);
    vec!["failed", "replayed"]
}

pub(super) async fn failed_and_not_stored<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let script = Script::err(|| StatusCode::SERVICE_UNAVAILABLE);
    let server = setting.launch().routes(script.routes()).start().await;

    for _ in 0..2 {
        assert_ran(&server.send(&setting.request("unstored")).await, 503);
    }
    vec!["failed_unstored", "failed_unstored"]
}

pub(super) async fn panicked<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let script = Script::new(|_| panic!("the handler was told to"));
    let server = setting.launch().routes(script.routes()).start().await;

    let panicked = server.open(&setting.request("panicked")).await.outcome().await;

    assert_eq!(panicked, None, "a panic ends the connection");
    vec!["panicked"]
}

pub(super) async fn over_the_run_limit<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let limit = Duration::from_secs(1);
    let server = setting.launch().engine(move |builder| builder.run_limit(limit)).start().await;

    assert_problem(&server.send(&setting.request("late").path("/slow")).await, "idempotency_transient");
    vec!["transient"]
}

pub(super) async fn too_large<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let script = Script::ok(|| vec![b'x'; 100].into_response());
    let launch = setting.launch().routes(script.routes());
    let server = launch.engine(|builder| builder.max_response(99)).start().await;

    assert_problem(&server.send(&setting.request("large")).await, "idempotency_response_not_storable");
    vec!["response_not_storable"]
}

#[idempotent(scope = "tenant,endpoint", required = false)]
async fn create_if_keyed<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    if order.qty == 0 { Err(AppError::Refused("none")) } else { Ok(StatusCode::CREATED) }
}

pub(super) async fn without_a_key<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let routes = Router::new().route("/orders", post(create_if_keyed::<DB>));
    let server = setting.launch().routes(routes).start().await;
    let request = setting.request("unprotected").without("Idempotency-Key");

    assert_ran(&server.send(&request).await, 201);
    assert_ran(&server.send(&request.body(r#"{"item":"tea","qty":0}"#)).await, 422);
    vec!["unprotected", "unprotected"]
}

pub(super) async fn with_the_engine_off<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().engine(|builder| builder.enabled(false)).start().await;

    for _ in 0..2 {
        assert_ran(&server.send(&setting.request("off")).await, 201);
    }
    vec!["unprotected", "unprotected"]
}

/// Nobody watches them: of the two requests, one has an outcome.
pub(super) async fn by_a_safe_method<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let both = get(create_if_keyed::<DB>).post(create_if_keyed::<DB>);
    let server = setting.launch().routes(Router::new().route("/orders", both)).start().await;
    let request = setting.request("safe");

    assert_ran(&server.send(&request.clone().method("GET")).await, 201);
    assert_ran(&server.send(&request).await, 201);
    vec!["executed"]
}

#[idempotent(scope = "tenant,endpoint", key = "order.order_no")]
async fn create_by_number<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok(StatusCode::CREATED)
}

pub(super) async fn with_the_key_in_the_body<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let routes = Router::new().route("/orders", post(create_by_number::<DB>));
    let server = setting.launch().routes(routes).start().await;
    let request = setting.request("in-the-body").without("Idempotency-Key");
    let numbered = request.clone().body(format!(r#"{{"item":"tea","qty":1,"order_no":"{}"}}"#, setting.key));

    let first = server.send(&numbered).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&numbered).await);
    assert_refusal(&server.send(&request).await, 400, "idempotency_key_missing");
    vec!["executed", "replayed", "rejected"]
}

/// By hand, and what was queued for after COMMIT says the key as it fails.
pub(super) async fn panicking_after_commit<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let hand = Hand::new(|_, execution| {
        let key = execution.key().expect("the request has one").as_str().to_owned();
        execution.after_commit(async move { panic!("no effect for {key}") });
        tracing::info!(?execution, "what an application may log");
        Ok(StatusCode::CREATED.into_response())
    });
    let server = setting.launch().routes(hand.routes()).start().await;

    assert_ran(&server.send(&setting.request("after-commit")).await, 201);
    assert_eq!(soon(server.app.idempotency.drain(Duration::from_secs(20))).await, 0);
    vec!["executed"]
}
