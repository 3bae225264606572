//! A trait in scope that gives every type methods with the names that the expansion calls.

use axum::Json;
use axum::http::HeaderMap;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::{Execution, IdempotencyKey, Policy, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

struct Nothing;

macro_rules! methods_of_everything {
    ($($name:ident)*) => {
        #[expect(dead_code, clippy::wrong_self_convention, reason = "whoever calls them is wrong")]
        trait Everything: Sized {
            $(
                fn $name(self) -> Nothing {
                    Nothing
                }
            )*
        }
    };
}

methods_of_everything! {
    call admit fingerprint scope endpoint global key received fingerprinter skipped tasks detach reserve run_limit
    parts record finalize answer look as_inner into_inner lend of outcome stopped describe
}

impl<T> Everything for T {}

#[derive(Policy)]
#[policy(scope = "tenant,endpoint")]
struct Api {
    tenant: TenantId,
}

#[idempotent(policy = Api, key = "new.order_no")]
async fn create(
    tx: &mut SqliteConnection,
    api: &Api,
    execution: &Execution,
    #[context] headers: HeaderMap,
    #[fingerprint(skip)] skipped: HeaderMap,
    #[fingerprint(body)] Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    let _: [Nothing; 3] = [order(&mut *tx, &new.item).await?.look(), headers.lend(), skipped.admit()];
    Ok(format!("{} {:?}", api.tenant.0, Execution::key(execution).map(IdempotencyKey::as_str)))
}

#[tokio::test]
async fn no_trait_comes_between() {
    let request = r1().body(r#"{"item":"tea","qty":1,"order_no":"n-1"}"#);

    let answer = once("/orders", post(create), &request).await;

    assert_eq!(answer.text(), r#"t1 Some("n-1")"#);
}
