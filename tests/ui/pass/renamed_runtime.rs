//! The run time under a name of the application's own, in the attribute and in the derives.

use axum::routing::post;
use idem_examples::reference::{AppError, TenantId};
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

mod framework {
    pub(super) use ::idem_runtime as once;
}

use self::framework::once::{Policy, ScopeValue, idempotent};

#[derive(ScopeValue)]
#[scope_value(crate = self::framework::once)]
struct Item(String);

#[derive(Policy)]
#[policy(scope = "tenant,endpoint", crate = self::framework::once)]
struct Api {
    tenant: TenantId,
}

#[idempotent(policy = Api, crate = self::framework::once)]
async fn create(tx: &mut SqliteConnection, api: &Api, item: String) -> Result<String, AppError> {
    order(tx, &Item(item).scope_value()).await?;
    Ok(api.tenant.0.clone())
}

#[tokio::test]
async fn the_run_time_is_where_the_attribute_says() {
    let answer = once("/orders", post(create), &r1().body("tea")).await;

    assert_eq!(answer.text(), "t1");
}
