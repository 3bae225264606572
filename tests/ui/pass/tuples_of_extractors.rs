//! Several extractors in one argument: a tuple of them, and tuples within.

use axum::extract::{Path, Query};
use axum::http::{HeaderMap, Method};
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

type Page = Query<Vec<(String, u64)>>;

#[idempotent(scope = "shop, endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    (method, (Path(shop), Query(page))): (Method, (Path<String>, Page)),
    (_headers, Json(new)): (HeaderMap, Json<NewOrder>),
) -> Result<String, AppError> {
    let id = order(tx, &new.item).await?;
    Ok(format!("{id} {method} {shop} {}", page.len()))
}

#[tokio::test]
async fn each_extractor_of_a_tuple_is_compared() {
    serve(Router::new().route("/{shop}", post(create)), async |bench, server| {
        let first = twice(server, &r1().path("/s1?page=1")).await;
        let other_page = server.send(&r1().path("/s1?page=2")).await;
        let other_order = server.send(&r1().path("/s1?page=1").body(r#"{"item":"milk","qty":1}"#)).await;

        assert_eq!(first.text(), "1 POST s1 1");
        assert_eq!((other_page.status, other_order.status), (422, 422));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
