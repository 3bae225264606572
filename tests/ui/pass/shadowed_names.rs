//! A module whose own `Result`, `Ok`, `Option`, `std`, `axum`, … hide the usual ones.

use axum::routing::post;
use idem_tests::http::r1;
use idem_tests::shape::once;

mod shop {
    #![expect(dead_code)]

    struct Result;
    struct Option;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    struct String;
    struct Vec;
    struct Box;
    trait Send {}
    trait Future {}
    trait FnOnce {}
    mod core {}
    mod std {}
    mod axum {}
    mod sqlx {}
    mod idem_runtime {}

    #[::idem_runtime::idempotent(scope = "tenant, new.item, endpoint", ttl = "7d")]
    pub(super) async fn create(
        tx: &mut ::sqlx::SqliteConnection,
        tenant: ::idem_examples::reference::TenantId,
        ::axum::Json(new): ::axum::Json<::idem_examples::reference::NewOrder>,
        execution: &::idem_runtime::Execution,
    ) -> ::core::result::Result<::std::string::String, ::idem_examples::reference::AppError> {
        let id = ::idem_tests::shape::order(tx, &new.item).await?;
        ::core::result::Result::Ok(::std::format!("{id} {} {}", tenant.0, execution.scope().text().len()))
    }
}

#[tokio::test]
async fn no_name_in_scope_is_relied_on() {
    let answer = once("/orders", post(shop::create), &r1()).await;

    assert!(answer.text().starts_with("1 t1 "), "{answer:?}");
}
