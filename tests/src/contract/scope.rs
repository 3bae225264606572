//! A key is unique within its scope, and in no wider one.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use axum::routing::{get, patch, post};
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::{Fingerprint, Fingerprinter, ScopeValue, idempotent};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Request, r1};
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

type Created = Result<(StatusCode, Json<Order>), AppError>;

// Cases: S-01, S-02
// Reports: B48
pub async fn tenants_do_not_meet<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    let same_body = server.send(&r1().tenant("t2")).await;
    let other_body = server.send(&r1().tenant("t3").body(r#"{"item":"tea","qty":2}"#)).await;

    for answer in [&first, &same_body, &other_body] {
        assert_ran(answer, 201);
    }
    assert_ne!(first.id(), same_body.id());
    bench.assert_holds(3, 3).await;
    assert_replays(&first, &server.send(&r1()).await);
    assert_replays(&same_body, &server.send(&r1().tenant("t2")).await);
}

// Cases: S-03
// Reports: B16
pub async fn endpoints_do_not_meet<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    assert_ran(&server.send(&r1()).await, 201);
    assert_ran(&server.send(&r1().path("/refunds")).await, 201);

    bench.assert_holds(2, 1).await;
    assert_eq!(bench.count("refunds").await, 1);
    let scopes = bench.key_rows().await.into_iter().map(|row| row.scope).collect::<Vec<_>>();
    assert_eq!(scopes, ["tenant=t1&endpoint=POST%20/orders", "tenant=t1&endpoint=POST%20/refunds"]);
}

#[idempotent(scope = "tenant", ttl = "24h")]
async fn per_tenant<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

#[idempotent(scope = "endpoint", ttl = "24h")]
async fn per_endpoint<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    #[fingerprint(skip)] tenant: Auth,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &TenantId(tenant.0), &order).await?)))
}

#[idempotent(scope = "global", ttl = "24h")]
async fn global<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    #[fingerprint(skip)] tenant: Auth,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &TenantId(tenant.0), &order).await?)))
}

// Cases: S-04
pub async fn without_the_endpoint_a_key_is_one_for_all<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes =
        Router::new().route("/orders", post(per_tenant::<DB>)).route("/refunds", post(per_tenant::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;
    let other = server.send(&r1().path("/refunds")).await;

    assert_ran(&first, 201);
    assert_problem(&other, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

// Cases: S-04, F-06
pub async fn without_the_endpoint_the_method_is_still_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/orders", post(per_tenant::<DB>).merge(patch(per_tenant::<DB>)));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;
    let other = server.send(&r1().method("PATCH")).await;

    assert_ran(&first, 201);
    assert_problem(&other, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

// Cases: S-07
pub async fn a_part_may_be_long_and_of_any_script<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(Router::new().route("/orders", post(per_region::<DB>))).start().await;
    let long = "x".repeat(8000);
    let request = r1().field("X-Region", format!("{long}é冪等"));

    let first = server.send(&request).await;
    let again = server.send(&request).await;
    let other = server.send(&r1().field("X-Region", format!("{long}é冪"))).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_ran(&other, 201);
    bench.assert_holds(2, 2).await;
}

// Cases: S-05
pub async fn without_the_tenant_a_key_is_one_for_all<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/orders", post(per_endpoint::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1().tenant("t2")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_eq!(bench.key_row().await.scope, "endpoint=POST%20/orders");
}

// Cases: S-06
pub async fn a_global_key_is_one_for_everything<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/orders", post(global::<DB>)).route("/refunds", post(global::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1().tenant("t2")).await;
    let other = server.send(&r1().path("/refunds")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&other, "idempotency_key_reused");
    assert_eq!(bench.key_row().await.scope, "global");
}

/// A text from a header; any text at all, for the cases in which it should not have been taken.
#[derive(Clone, ScopeValue)]
struct Region(String);

impl<S: Sync> FromRequestParts<S> for Region {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Ok(Self(header(parts, "x-region")?))
    }
}

/// The caller, who is no scope value but has one in a field.
struct Auth(String);

impl<S: Sync> FromRequestParts<S> for Auth {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Ok(Self(header(parts, "x-tenant")?))
    }
}

impl Fingerprint for Auth {
    /// Who calls is told by the scope.
    fn fingerprint(&self, _: &mut Fingerprinter) {}
}

fn header(parts: &Parts, name: &'static str) -> Result<String, StatusCode> {
    let value = parts.headers.get(HeaderName::from_static(name)).ok_or(StatusCode::UNAUTHORIZED)?;
    // `%00` stands for NUL, which no header can hold.
    Ok(String::from_utf8_lossy(value.as_bytes()).replace("%00", "\0"))
}

/// The caller within the tenant.
#[derive(ScopeValue)]
struct UserId(String);

impl<S: Sync> FromRequestParts<S> for UserId {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Ok(Self(header(parts, "x-user")?))
    }
}

#[idempotent(scope = "tenant,user,endpoint", ttl = "24h")]
async fn per_member<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    user: UserId,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Cases: S-11
// Reports: B68
pub async fn users_of_one_tenant_do_not_meet<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(Router::new().route("/orders", post(per_member::<DB>))).start().await;
    let of = |user| r1().field("X-User", user);

    let first = server.send(&of("u1")).await;
    let second = server.send(&of("u2")).await;

    assert_ran(&first, 201);
    assert_ran(&second, 201);
    assert_replays(&first, &server.send(&of("u1")).await);
    assert_replays(&second, &server.send(&of("u2")).await);
    bench.assert_holds(2, 2).await;
}

#[idempotent(scope = "tenant,region", ttl = "24h")]
async fn per_region<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    region: Region,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Cases: S-07
pub async fn parts_that_join_to_the_same_text_are_told_apart<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(Router::new().route("/orders", post(per_region::<DB>))).start().await;
    // Tenant, region and key; the second of each pair imitates the first.
    let pairs = [
        [("a", "bc", "d"), ("ab", "c", "d")],
        [("a&region=b", "c", "d"), ("a", "b&region=c", "d")],
        [("a", "b%26", "d"), ("a", "b&", "d")],
        [("x", "b", "cd"), ("x", "bc", "d")],
    ];

    for pair in pairs {
        for (tenant, region, key) in pair {
            let request = r1().tenant(tenant).field("X-Region", region).key(key);
            assert_ran(&server.send(&request).await, 201);
        }
    }

    let mut scopes = bench.key_rows().await.into_iter().map(|row| (row.scope, row.key)).collect::<Vec<_>>();
    scopes.sort();
    scopes.dedup();
    assert_eq!(scopes.len(), 8);
}

// Cases: S-08
// Reports: B69
pub async fn a_part_that_is_empty_or_holds_nul_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(Router::new().route("/orders", post(per_region::<DB>))).start().await;

    for region in ["", "a%00b"] {
        let answer = server.send(&r1().field("X-Region", region)).await;

        assert_problem(&answer, "idempotency_scope_unresolved");
    }
    bench.assert_holds(0, 0).await;
}

// Cases: S-08
pub async fn an_endpoint_without_a_route_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let fallback: Router<App<DB>> = Router::new().fallback(post(endpoint_and_tenant::<DB>));
    let server = bench.server().routes(fallback).start().await;

    let answer = server.send(&r1()).await;

    assert_problem(&answer, "idempotency_scope_unresolved");
    bench.assert_holds(0, 0).await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn endpoint_and_tenant<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Cases: S-09
pub async fn methods_of_one_path_do_not_meet<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new()
        .route("/orders", post(endpoint_and_tenant::<DB>).merge(patch(endpoint_and_tenant::<DB>)));
    let server = bench.server().routes(routes).start().await;

    assert_ran(&server.send(&r1()).await, 201);
    assert_ran(&server.send(&r1().method("PATCH")).await, 201);

    bench.assert_holds(2, 2).await;
}

// Cases: S-03
pub async fn the_endpoint_is_the_route_with_its_nesting<DB: TestDatabase>(bench: &Bench<DB>) {
    let orders = || Router::new().route("/{shop}/orders", post(endpoint_and_tenant::<DB>));
    let routes = Router::new().nest("/v1", orders()).nest("/v2", orders());
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1().path("/v1/a/orders")).await;
    let other_shop = server.send(&r1().path("/v1/b/orders")).await;
    let other_route = server.send(&r1().path("/v2/a/orders")).await;

    assert_ran(&first, 201);
    assert_problem(&other_shop, "idempotency_key_reused");
    assert_ran(&other_route, 201);
    let scopes = bench.key_rows().await.into_iter().map(|row| row.scope).collect::<Vec<_>>();
    assert_eq!(
        scopes,
        ["tenant=t1&endpoint=POST%20/v1/{shop}/orders", "tenant=t1&endpoint=POST%20/v2/{shop}/orders",]
    );
}

#[idempotent(scope = "tenant = auth.0, endpoint", ttl = "24h")]
async fn labelled<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    auth: Auth,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &TenantId(auth.0), &order).await?)))
}

/// [`labelled`] in a later build: the argument has another name, the label is the same.
#[idempotent(scope = "tenant = caller.0, endpoint", ttl = "24h")]
async fn relabelled<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    caller: Auth,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &TenantId(caller.0), &order).await?)))
}

// Cases: S-12
pub async fn a_label_keeps_the_scope_when_an_argument_is_renamed<DB: TestDatabase>(bench: &Bench<DB>) {
    let old = bench.server().routes(Router::new().route("/orders", post(labelled::<DB>))).start().await;
    let new = bench.server().routes(Router::new().route("/orders", post(relabelled::<DB>))).start().await;

    let first = old.send(&r1()).await;
    let again = new.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_eq!(bench.key_row().await.scope, "tenant=t1&endpoint=POST%20/orders");
}

#[idempotent(scope = "user", ttl = "24h")]
async fn per_user<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    user: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &user, &order).await?)))
}

// Cases: S-13
pub async fn one_value_under_two_labels_is_two_scopes<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/tenant", post(per_tenant::<DB>)).route("/user", post(per_user::<DB>));
    let server = bench.server().routes(routes).start().await;

    assert_ran(&server.send(&r1().tenant("5").path("/tenant")).await, 201);
    assert_ran(&server.send(&r1().tenant("5").path("/user")).await, 201);

    let scopes = bench.key_rows().await.into_iter().map(|row| row.scope).collect::<Vec<_>>();
    assert_eq!(scopes, ["tenant=5", "user=5"]);
    bench.assert_holds(2, 2).await;
}

// Cases: S-09
pub async fn a_get_beside_the_route_does_not_disturb_it<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new()
        .route("/orders", post(endpoint_and_tenant::<DB>).merge(get(async || StatusCode::NO_CONTENT)));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;

    assert_ran(&server.send(&Request::new("GET", "/orders")).await, 204);
    assert_replays(&first, &server.send(&r1()).await);
}
