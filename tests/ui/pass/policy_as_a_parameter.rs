//! A handler that is generic over its policy, one that names it by an alias, and one by a trait's associated type.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::{AppError, TenantId};
use idem_runtime::{Policy, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[derive(Policy)]
#[policy(scope = "tenant,endpoint")]
struct ByTenant {
    tenant: TenantId,
}

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct ByEndpoint;

trait Named: Policy {
    fn name(&self) -> &str;
}

impl Named for ByTenant {
    fn name(&self) -> &str {
        &self.tenant.0
    }
}

impl Named for ByEndpoint {
    fn name(&self) -> &'static str {
        "everybody"
    }
}

trait Application {
    type Api: Policy;
}

struct Shop;

impl Application for Shop {
    type Api = ByTenant;
}

type Alias = ByEndpoint;

#[idempotent(policy = P)]
async fn create<P: Named>(tx: &mut SqliteConnection, api: &P) -> Result<String, AppError> {
    order(tx, api.name()).await?;
    Ok(api.name().to_owned())
}

#[idempotent(policy = <Shop as Application>::Api)]
async fn create_in(tx: &mut SqliteConnection, api: &<Shop as Application>::Api) -> Result<String, AppError> {
    order(tx, api.name()).await?;
    Ok(api.name().to_owned())
}

#[idempotent(policy = Alias)]
async fn create_by_alias(tx: &mut SqliteConnection, api: &ByEndpoint) -> Result<String, AppError> {
    order(tx, api.name()).await?;
    Ok(api.name().to_owned())
}

#[tokio::test]
async fn a_policy_may_be_any_type_that_is_one() {
    let routes = Router::new()
        .route("/tenant", post(create::<ByTenant>))
        .route("/endpoint", post(create::<ByEndpoint>))
        .route("/shop", post(create_in))
        .route("/alias", post(create_by_alias));
    serve(routes, async |bench, server| {
        for (path, name) in
            [("/tenant", "t1"), ("/endpoint", "everybody"), ("/shop", "t1"), ("/alias", "everybody")]
        {
            assert_eq!(twice(server, &r1().path(path)).await.text(), name, "{path}");
        }
        bench.assert_holds(4, 4).await;
    })
    .await;
}
