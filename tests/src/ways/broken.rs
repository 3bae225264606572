//! Ways of requests whose transaction, table or process fails them.

use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, TenantId, insert_order};
use idem_runtime::idempotent;
use sqlx::Transaction;

use super::{Outcomes, Setting};
use crate::database::{Place as _, TestDatabase};
use crate::patience::soon;
use crate::problem::assert_problem;
use crate::same::assert_ran;

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn violates_a_deferred_constraint<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    DB::execute(&mut *tx, "INSERT INTO children (parent) VALUES (42)", &[]).await?;
    Ok(StatusCode::CREATED)
}

pub(super) async fn by_a_commit_that_is_refused<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    for sql in [
        "CREATE TABLE parents (id bigint PRIMARY KEY)",
        "CREATE TABLE children (parent bigint REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)",
    ] {
        setting.bench.place.execute(sql).await;
    }
    let routes = Router::<App<DB>>::new().route("/orders", post(violates_a_deferred_constraint::<DB>));
    let server = setting.launch().routes(routes).start().await;

    assert_problem(&server.send(&setting.request("refused")).await, "idempotency_commit_rejected");
    vec!["commit_rejected"]
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn commits_by_itself<DB: TestDatabase>(tx: &mut Transaction<'_, DB>, tenant: TenantId) -> StatusCode {
    let committed = DB::execute(&mut *tx, "COMMIT", &[]).await;
    assert_eq!(committed.is_ok(), DB::ERRORS_ABORT, "{committed:?}");
    StatusCode::CREATED
}

pub(super) async fn by_a_transaction_that_is_ended<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let routes = Router::<App<DB>>::new().route("/orders", post(commits_by_itself::<DB>));
    let server = setting.launch().routes(routes).start().await;
    let request = setting.request("ended");

    let first = server.send(&request).await;
    if DB::WRITES_IN_PARALLEL {
        assert_problem(&first, "idempotency_outcome_unknown");
        assert_problem(&server.send(&request).await, "idempotency_needs_reconciliation");
        vec!["outcome_unknown", "needs_reconciliation"]
    } else {
        assert_problem(&first, "idempotency_commit_rejected");
        vec!["commit_rejected"]
    }
}

pub(super) async fn by_a_drain<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().start().await;

    let first = server.open_up_to_the_gate(&setting.request("dropped").path("/slow")).await;
    let dropped = soon(server.app.idempotency.drain(Duration::from_millis(50))).await;

    assert_eq!(dropped, 1);
    assert_problem(&first.answer().await, "idempotency_outcome_unknown");
    vec!["outcome_unknown"]
}

pub(super) async fn by_a_row_without_an_answer<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().start().await;
    let request = setting.request("unfinished");
    assert_ran(&server.send(&request).await, 201);

    let (place, table) = (&setting.bench.place, setting.bench.place.key_table());
    let unfinished =
        "response_status = NULL, response_headers = NULL, response_body = NULL, completed_at = NULL";
    place.execute(&format!("UPDATE {table} SET {unfinished} WHERE scope LIKE 'tenant=unfinished&%'")).await;

    assert_problem(&server.send(&request).await, "idempotency_needs_reconciliation");
    vec!["executed", "needs_reconciliation"]
}

/// A key table whose triggers refuse what is written, and say the key.
pub(super) async fn by_messages_that_quote_the_key<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let place = &setting.bench.place;
    let table = place.key_table().replace("idempotency_keys", "quoting_keys");
    let named = table.clone();
    let server = setting.launch().engine(move |builder| builder.table(named)).start().await;
    let mut refused = vec![
        ("reserving", "/orders", "idempotency_store_unavailable"),
        ("completing", "/orders", "idempotency_commit_rejected"),
        ("storing", "/err", "idempotency_transient"),
    ];
    let mut statements = Vec::new();
    let triggers = [
        ("reserving", "BEFORE INSERT", "NEW.response_status IS NULL"),
        ("completing", "BEFORE UPDATE", "NEW.response_status < 400"),
        ("storing", "BEFORE INSERT", "NEW.response_status >= 400"),
    ];
    if DB::WRITES_IN_PARALLEL {
        let (schema, _) = table.split_once('.').expect("the table is named with its schema");
        statements.push(format!(
            "CREATE FUNCTION {schema}.quote() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'not %', NEW.key USING DETAIL = NEW.key; END $$"
        ));
        for (tenant, when, condition) in triggers {
            statements.push(format!(
                "CREATE TRIGGER {tenant} {when} ON {table} FOR EACH ROW
                 WHEN ({condition} AND NEW.scope LIKE 'tenant={tenant}&%') EXECUTE FUNCTION {schema}.quote()"
            ));
        }
        statements.push(format!(
            "CREATE CONSTRAINT TRIGGER committing AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW WHEN (NEW.scope LIKE 'tenant=committing&%') EXECUTE FUNCTION {schema}.quote()"
        ));
        refused.push(("committing", "/orders", "idempotency_commit_rejected"));
    } else {
        for (tenant, when, condition) in triggers {
            statements.push(format!(
                "CREATE TRIGGER {tenant} {when} ON {table}
                 WHEN {condition} AND NEW.scope LIKE 'tenant={tenant}&%'
                 BEGIN SELECT RAISE(ABORT, 'not ' || NEW.key); END"
            ));
        }
    }
    for statement in statements {
        place.execute(&statement).await;
    }

    let mut outcomes = Vec::new();
    for (tenant, path, code) in refused {
        assert_problem(&server.send(&setting.request(tenant).path(path)).await, code);
        outcomes.push(code.strip_prefix("idempotency_").expect("so begins every code"));
    }
    outcomes
}
