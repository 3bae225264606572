//! `inner = "…"`: the handler as it was written stays callable beside the one that the router sees.

use axum::extract::Path;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::SqliteConnection;

#[idempotent(scope = "shop,endpoint", inner = "create_one")]
async fn create<T>(
    tx: &mut SqliteConnection,
    Path(shop): Path<String>,
    Json(new): Json<T>,
) -> Result<Json<T>, AppError>
where
    T: Serialize + DeserializeOwned,
{
    order(tx, "tea").await?;
    Ok(Json(new))
}

/// Two orders of one request, in one transaction, by the handler of one.
#[idempotent(scope = "shop,endpoint")]
async fn create_two(
    tx: &mut SqliteConnection,
    Path(shop): Path<String>,
    Json([one, two]): Json<[NewOrder; 2]>,
) -> Result<Json<[NewOrder; 2]>, AppError> {
    let Json(one) = create_one(&mut *tx, Path(shop.clone()), Json(one)).await?;
    let Json(two) = create_one(tx, Path(shop), Json(two)).await?;
    Ok(Json([one, two]))
}

#[tokio::test]
async fn the_handler_can_be_called_as_it_was_written() {
    let routes =
        Router::new().route("/{shop}/one", post(create::<NewOrder>)).route("/{shop}/two", post(create_two));
    serve(routes, async |bench, server| {
        let tea = r#"{"item":"tea","qty":1}"#;
        let one = twice(server, &r1().path("/s1/one")).await;
        let two = twice(server, &r1().path("/s1/two").body(format!("[{tea},{tea}]"))).await;

        assert_eq!((one.text(), two.text()), (tea, &*format!("[{tea},{tea}]")));
        bench.assert_holds(2, 3).await;
    })
    .await;
}
