//! Policies that `macro_rules!` makes, with a field that is handed in and one of the macro's own.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::{AppError, TenantId};
use idem_runtime::{Policy, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

macro_rules! policy {
    ($name:ident { $field:ident: $ty:ty } $scope:literal) => {
        #[derive(Policy)]
        #[policy(scope = $scope)]
        struct $name {
            $field: $ty,
        }
    };
    ($name:ident of $ty:ty) => {
        #[derive(Policy)]
        #[policy(scope = "caller,endpoint")]
        struct $name {
            caller: $ty,
        }

        impl $name {
            fn name(&self) -> &str {
                &self.caller.0
            }
        }
    };
}

// The names that the derive gives its own.
policy!(HandedIn { parts: TenantId } "parts, endpoint");
policy!(OfItsOwn of TenantId);

#[idempotent(policy = HandedIn)]
async fn create(tx: &mut SqliteConnection, HandedIn { parts }: &HandedIn) -> Result<String, AppError> {
    order(tx, &parts.0).await?;
    Ok(parts.0.clone())
}

#[idempotent(policy = OfItsOwn)]
async fn create_other(tx: &mut SqliteConnection, api: &OfItsOwn) -> Result<String, AppError> {
    order(tx, api.name()).await?;
    Ok(api.name().to_owned())
}

#[tokio::test]
async fn a_macro_may_make_policies() {
    let routes = Router::new().route("/orders", post(create)).route("/others", post(create_other));
    serve(routes, async |bench, server| {
        let one = twice(server, &r1()).await;
        let other = twice(server, &r1().path("/others")).await;

        assert_eq!((one.text(), other.text()), ("t1", "t1"));
        let scopes: Vec<_> = bench.key_rows().await.into_iter().map(|row| row.scope).collect();
        assert_eq!(scopes, ["parts=t1&endpoint=POST%20/orders", "caller=t1&endpoint=POST%20/others"]);
        bench.assert_holds(2, 2).await;
    })
    .await;
}
