//! `#[fingerprint(body)]`: a payload that cannot be serialised, compared as the JSON that came.

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use serde::Deserialize;
use sqlx::SqliteConnection;

#[derive(Deserialize)]
struct Parcel<'a, T> {
    item: std::borrow::Cow<'a, str>,
    qty: T,
}

#[idempotent(scope = "parcel.item, endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    #[fingerprint(body)] Json(mut parcel): Json<Parcel<'_, i64>>,
) -> Result<String, AppError> {
    parcel.qty += order(tx, &parcel.item).await?;
    Ok(parcel.qty.to_string())
}

#[tokio::test]
async fn a_payload_that_is_only_read_is_compared_by_its_body() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let first = twice(server, &r1()).await;
        let respaced = server.send(&r1().body(r#"{ "qty": 1, "item": "tea" }"#)).await;
        let unread = server.send(&r1().body(r#"{"item":"tea","qty":1,"note":"green"}"#)).await;

        assert_eq!((first.text(), respaced.is_replay(), unread.status), ("2", true, 422));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
