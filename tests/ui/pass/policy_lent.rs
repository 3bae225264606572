//! The policy as an argument: `&Api`, beside `&Execution` and under a path, in any place and unread.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

mod api {
    use super::TenantId;

    #[derive(idem_runtime::Policy)]
    #[policy(scope = "tenant,endpoint")]
    pub(super) struct Api {
        pub(super) tenant: TenantId,
    }
}

type Alias = api::Api;

#[idempotent(policy = api::Api)]
async fn create(
    api: &Alias,
    tx: &mut SqliteConnection,
    _execution: &idem_runtime::Execution,
    Json(new): Json<NewOrder>,
    api::Api { tenant }: &api::Api,
) -> Result<String, AppError> {
    order(tx, &new.item).await?;
    Ok(format!("{} {}", api.tenant.0, tenant.0))
}

#[tokio::test]
async fn a_policy_is_lent_as_often_as_it_is_asked_for() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "t1 t1");
}
