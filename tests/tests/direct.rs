//! An annotated handler called as a function, the way an application's unit tests do.

use axum::Json;
use axum::body::to_bytes;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::{IdempotencyKey, NoPolicy, Scope, idempotent};
use idem_tests::bench::{Bench, run};
use sqlx::{Sqlite, SqliteConnection};

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn create_order(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    Ok((StatusCode::CREATED, Json(insert_order::<Sqlite>(tx, &tenant, &order).await?)))
}

async fn call(app: &App<Sqlite>, route: &str) -> Response {
    let key = IdempotencyKey::new("k-1").expect("the key is valid");
    let guard = app.idempotency.guard(key, NoPolicy).on(Method::POST, route);
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    create_order(guard, TenantId("t1".to_owned()), Json(order)).await
}

async fn text(response: Response) -> String {
    let body = to_bytes(response.into_body(), 1024).await.expect("the body is whole");
    String::from_utf8(body.to_vec()).expect("the body is text")
}

// Reports: U08
#[tokio::test]
async fn a_handler_can_be_called_with_a_guard_of_its_own() {
    run(async |bench: &Bench<Sqlite>| {
        let app = bench.server().app().await;

        let first = call(&app, "/orders").await;
        let again = call(&app, "/orders").await;
        let elsewhere = call(&app, "/other").await;

        assert_eq!(first.status(), StatusCode::CREATED);
        assert!(!first.headers().contains_key("idempotent-replayed"));
        assert_eq!(again.headers()["idempotent-replayed"], "true");
        assert_eq!(text(again).await, text(first).await);
        assert!(!elsewhere.headers().contains_key("idempotent-replayed"));
        assert_eq!(bench.count("orders").await, 2);
    })
    .await;
}

#[tokio::test]
async fn a_key_can_be_found_and_forgotten_by_its_scope() {
    run(async |bench: &Bench<Sqlite>| {
        let app = bench.server().app().await;
        let scope = Scope::new().with("tenant", "t1").expect("a tenant");
        let scope = scope.endpoint("POST", "/orders").expect("an endpoint");
        let key = IdempotencyKey::new("k-1").expect("the key is valid");
        let find = async || app.idempotency.find(&scope, &key).await.expect("the database answers");
        assert!(find().await.is_none());

        call(&app, "/orders").await;
        let row = find().await.expect("the key has a row");
        assert_eq!(row.response.expect("it is completed").status(), StatusCode::CREATED);
        assert_eq!(row.expires_at_micros - row.created_at_micros, 86_400_000_000);

        assert!(app.idempotency.forget(&scope, &key).await.expect("the database answers"));
        assert!(!app.idempotency.forget(&scope, &key).await.expect("the database answers"));
        assert!(find().await.is_none());
        assert!(!call(&app, "/orders").await.headers().contains_key("idempotent-replayed"));
    })
    .await;
}
