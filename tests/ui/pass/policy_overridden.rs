//! Options of the handler beside a policy: they go before those of the policy, which go before the builder's.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::{AppError, TenantId};
use idem_runtime::{Policy, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[derive(Policy)]
#[policy(scope = "tenant,endpoint", ttl = "72h", record = "success")]
struct Api {
    tenant: TenantId,
}

#[idempotent(policy = Api)]
async fn refuse(tx: &mut SqliteConnection, item: String) -> Result<String, AppError> {
    order(tx, &item).await?;
    Err(AppError::Refused("sold out"))
}

#[idempotent(policy = Api, ttl = "1h", allow(short_ttl), record = "decided", endpoint = "orders.refuse")]
async fn refuse_for_good(tx: &mut SqliteConnection, item: String) -> Result<String, AppError> {
    order(tx, &item).await?;
    Err(AppError::Refused("sold out"))
}

#[tokio::test]
async fn the_handler_is_asked_first() {
    let routes = Router::new().route("/refused", post(refuse)).route("/for_good", post(refuse_for_good));
    serve(routes, async |bench, server| {
        let refused = [(); 2].map(|()| r1().path("/refused").body("tea"));
        for request in refused {
            assert!(!server.send(&request).await.is_replay());
        }
        let for_good = twice(server, &r1().path("/for_good").body("tea")).await;

        assert_eq!(for_good.status, 422);
        let row = bench.key_row().await;
        assert_eq!(row.scope, "tenant=t1&endpoint=orders.refuse");
        assert_eq!(row.expires_at - row.created_at, 3_600_000_000);
        bench.assert_holds(1, 0).await;
    })
    .await;
}
