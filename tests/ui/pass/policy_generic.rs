//! A policy with type and const parameters, `where` clause and default, named with its arguments.

use axum::Router;
use axum::extract::FromRequestParts;
use axum::routing::post;
use idem_examples::reference::{App, AppError, TenantId};
use idem_runtime::{Policy, ScopeValue, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::{Sqlite, SqliteConnection};

#[derive(Policy)]
#[policy(scope = "caller,endpoint")]
struct Shared<C, const LIMIT: usize = 3>
where
    C: ScopeValue + FromRequestParts<App<Sqlite>>,
{
    caller: C,
}

/// With the names that the derive would give parameters of its own.
#[derive(Policy)]
#[policy(scope = "one,other,endpoint")]
struct Both<S, DB> {
    one: S,
    other: DB,
}

#[idempotent(policy = Shared<TenantId>)]
async fn create(tx: &mut SqliteConnection, api: &Shared<TenantId>, item: String) -> Result<String, AppError> {
    order(tx, &item).await?;
    Ok(api.caller.0.clone())
}

#[idempotent(policy = Shared<C, 9>)]
async fn create_for<C: ScopeValue + FromRequestParts<App<Sqlite>> + Sync>(
    tx: &mut SqliteConnection,
    api: &Shared<C, 9>,
    item: String,
) -> Result<String, AppError> {
    order(tx, &item).await?;
    Ok(api.caller.scope_value().into_owned())
}

#[idempotent(policy = Both<TenantId, TenantId>)]
async fn create_for_both(
    tx: &mut SqliteConnection,
    Both { one, other }: &Both<TenantId, TenantId>,
) -> Result<String, AppError> {
    order(tx, &one.0).await?;
    Ok(other.0.clone())
}

#[tokio::test]
async fn a_policy_may_be_generic() {
    let routes = Router::new()
        .route("/one", post(create))
        .route("/two", post(create_for::<TenantId>))
        .route("/both", post(create_for_both));
    serve(routes, async |bench, server| {
        let one = twice(server, &r1().path("/one").body("tea")).await;
        let two = twice(server, &r1().path("/two").body("tea")).await;
        let both = twice(server, &r1().path("/both")).await;

        assert_eq!([one.text(), two.text(), both.text()], ["t1"; 3]);
        bench.assert_holds(3, 3).await;
    })
    .await;
}
