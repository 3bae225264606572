//! What a policy says for the handlers that name it, and what a handler says for itself.

use std::future::Future;

use axum::extract::{Extension, FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::{Idempotency, Policy, ScopeValue, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::{assert_key_invalid, assert_problem, assert_refusal};
use crate::same::{assert_ran, assert_replays};

type Created = (StatusCode, Json<Order>);

async fn insert<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: &TenantId,
    order: &NewOrder,
) -> Result<Created, AppError> {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, tenant, order).await?)))
}

/// Makes a policy with these options, and a handler that has nothing to say but its name.
macro_rules! policy_and_handler {
    ($policy:ident, $handler:ident, $($options:tt)*) => {
        #[derive(Policy)]
        #[policy(scope = "tenant,endpoint", $($options)*)]
        struct $policy {
            tenant: TenantId,
        }

        #[idempotent(policy = $policy)]
        async fn $handler<DB: TestDatabase>(
            tx: &mut Transaction<'_, DB>,
            policy: &$policy,
            Json(order): Json<NewOrder>,
        ) -> Result<Created, AppError> {
            insert(tx, &policy.tenant, &order).await
        }
    };
}

policy_and_handler!(Strict, create_strictly, syntax = "strict");
policy_and_handler!(Uuids, create_by_uuid, key_format = "uuid");
policy_and_handler!(Named, create_by_other_header, header = "PayPal-Request-Id");
policy_and_handler!(Conflicts, create_or_conflict, mismatch = 409);
policy_and_handler!(Small, create_small, max_response = "16B");

async fn start<DB: TestDatabase>(
    bench: &Bench<DB>,
    routes: Router<idem_examples::reference::App<DB>>,
) -> crate::server::Server<DB> {
    bench.server().routes(routes).start().await
}

// Cases: H-30
pub async fn strict_syntax_is_a_policys_to_ask_for<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/orders", post(create_strictly::<DB>))).await;

    assert_key_invalid(&server.send(&r1().key("k-0001")).await, "syntax");
    bench.assert_holds(0, 0).await;
    assert_ran(&server.send(&r1()).await, 201);
}

// Cases: H-33
pub async fn a_key_of_another_format_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/orders", post(create_by_uuid::<DB>))).await;

    assert_key_invalid(&server.send(&r1().key("\"not-a-uuid\"")).await, "format");
    bench.assert_holds(0, 0).await;
    let key = "8e03978e-40d5-43e8-bc93-6894a57f9324";
    assert_ran(&server.send(&r1().key(key)).await, 201);
}

// Cases: H-34
pub async fn a_policy_may_read_the_key_from_another_field<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/orders", post(create_by_other_header::<DB>))).await;
    let request = r1().without("Idempotency-Key").field("PayPal-Request-Id", "k-0001");

    let first = server.send(&request).await;
    let again = server.send(&request).await;
    let usual = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_refusal(&usual, 400, "idempotency_key_missing");
    assert!(String::from_utf8_lossy(&usual.body).contains("PayPal-Request-Id"), "the field is named");
    bench.assert_holds(1, 1).await;
}

// Cases: F-04
pub async fn the_status_of_a_mismatch_is_a_policys_to_choose<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/orders", post(create_or_conflict::<DB>))).await;

    assert_ran(&server.send(&r1()).await, 201);
    let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;

    assert_refusal(&other, 409, "idempotency_key_reused");
    let body: serde_json::Value = serde_json::from_slice(&other.body).expect("JSON");
    assert_eq!(body["retry"], "never");
    assert_eq!(other.field("retry-after"), None);
    bench.assert_holds(1, 1).await;
}

pub async fn a_policy_may_bound_the_answers_it_stores<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/orders", post(create_small::<DB>))).await;

    assert_problem(&server.send(&r1()).await, "idempotency_response_not_storable");
    bench.assert_holds(0, 0).await;
}

/// Whoever calls on behalf of a tenant; its own rejection is 403.
#[derive(Clone, ScopeValue)]
struct UserId(String);

impl<S: Sync> FromRequestParts<S> for UserId {
    type Rejection = (StatusCode, &'static str);

    fn from_request_parts(
        parts: &mut Parts,
        _: &S,
    ) -> impl Future<Output = Result<Self, Self::Rejection>> + Send {
        let user = parts.headers.get("x-user").and_then(|user| user.to_str().ok());
        let user = user.map(|user| Self(user.to_owned())).ok_or((StatusCode::FORBIDDEN, "no user"));
        std::future::ready(user)
    }
}

#[derive(Policy)]
#[policy(scope = "tenant,user,endpoint", ttl = "48h")]
struct PerUser {
    tenant: TenantId,
    user: UserId,
}

#[idempotent(policy = PerUser)]
async fn create_per_user<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    caller: &PerUser,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    insert(tx, &caller.tenant, &order).await
}

// Cases: S-11
pub async fn users_whom_a_policy_names_do_not_meet<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/orders", post(create_per_user::<DB>))).await;
    let request = r1().field("X-User", "u1");

    let first = server.send(&request).await;
    let other = server.send(&request.clone().set("X-User", "u2")).await;

    assert_ran(&first, 201);
    assert_ran(&other, 201);
    assert_replays(&first, &server.send(&request).await);
    bench.assert_holds(2, 2).await;
    let scopes: Vec<String> = bench.key_rows().await.into_iter().map(|row| row.scope).collect();
    assert!(scopes.contains(&"tenant=t1&user=u2&endpoint=POST%20/orders".to_owned()), "{scopes:?}");
}

pub async fn the_rejection_of_a_policys_extractor_is_the_answer<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/orders", post(create_per_user::<DB>))).await;

    // In the order of the fields, and before the key is judged.
    let nobody = server.send(&r1().without("X-Tenant").key("\"")).await;
    let no_user = server.send(&r1()).await;

    assert_eq!(nobody.status, 401);
    assert_eq!((no_user.status, no_user.body.as_slice()), (403, b"no user".as_slice()));
    bench.assert_holds(0, 0).await;
}

#[idempotent(policy = PerUser, ttl = "72h", record = "success")]
async fn refuse_briefly<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    Json(_order): Json<NewOrder>,
) -> StatusCode {
    StatusCode::CONFLICT
}

pub async fn a_handler_overrides_its_policy<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new()
        .route("/orders", post(create_per_user::<DB>))
        .route("/refused", post(refuse_briefly::<DB>));
    let server = start(bench, routes).await;
    let request = r1().field("X-User", "u1");

    assert_ran(&server.send(&request).await, 201);
    assert_eq!(server.send(&request.path("/refused")).await.status, 409);

    let row = bench.key_row().await;
    assert_eq!(row.ttl_secs(), 48 * 3_600, "the policy's, where the handler says nothing");
}

#[derive(Policy)]
#[policy(scope = "tenant,endpoint", engine = "extension")]
struct Stateless {
    tenant: TenantId,
}

#[idempotent(policy = Stateless)]
async fn create_stateless<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    policy: &Stateless,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    insert(tx, &policy.tenant, &order).await
}

pub async fn an_application_without_state_keeps_the_engine_in_an_extension<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let router = |idempotency: Option<Idempotency<DB>>| {
        let router = Router::new().route("/orders", post(create_stateless::<DB>));
        match idempotency {
            Some(idempotency) => router.layer(Extension(idempotency)),
            None => router,
        }
    };
    let with = bench.server().router(move |app| router(Some(app.idempotency))).start().await;
    let without = bench.server().router(move |_| router(None)).start().await;

    let first = with.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &with.send(&r1()).await);
    assert_problem(&without.send(&r1()).await, "idempotency_store_misconfigured");
    bench.assert_holds(1, 1).await;
}

#[derive(Deserialize, Serialize)]
struct Version {
    version: u8,
}

#[derive(Policy)]
#[policy(scope = "tenant,endpoint")]
struct Versioned {
    tenant: TenantId,
    version: Query<Version>,
}

#[idempotent(policy = Versioned)]
async fn create_versioned<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    api: &Versioned,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    let order = NewOrder { qty: order.qty + i64::from(api.version.version), ..order };
    insert(tx, &api.tenant, &order).await
}

pub async fn a_policys_field_outside_the_scope_is_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/orders", post(create_versioned::<DB>))).await;
    let request = r1().path("/orders?version=1");

    let first = server.send(&request).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&request).await);
    assert_problem(&server.send(&r1().path("/orders?version=2")).await, "idempotency_key_reused");
}
