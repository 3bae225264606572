//! A module without the standard prelude, so without `Some`, `Ok`, `Send` and all macros of `std`.

use axum::routing::post;
use idem_tests::http::r1;
use idem_tests::shape::once;

mod shop {
    #![no_implicit_prelude]

    #[::idem_runtime::idempotent(scope = "tenant,endpoint")]
    pub(super) async fn create(
        tx: &mut ::sqlx::SqliteConnection,
        tenant: ::idem_examples::reference::TenantId,
    ) -> ::std::result::Result<::std::string::String, ::idem_examples::reference::AppError> {
        ::idem_tests::shape::order(tx, &tenant.0).await?;
        ::std::result::Result::Ok(tenant.0)
    }
}

#[tokio::test]
async fn the_prelude_is_not_relied_on() {
    let answer = once("/orders", post(shop::create), &r1()).await;

    assert_eq!(answer.text(), "t1");
}
