//! A handler in a generic `impl`, whose parameter it uses: only the function beside it can, by `inner = "Self::…"`.

use std::marker::PhantomData;

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::SqliteConnection;

struct Shop<T>(PhantomData<T>);

impl<T> Shop<T>
where
    T: Serialize + DeserializeOwned + Send + 'static,
{
    #[idempotent(scope = "endpoint", inner = "Self::insert")]
    async fn create(tx: &mut SqliteConnection, Json(new): Json<T>) -> Result<Json<T>, AppError> {
        order(tx, "tea").await?;
        Ok(Json(new))
    }

    /// It has no use for the parameter, so it needs no function beside it.
    #[idempotent(scope = "endpoint")]
    async fn open(tx: &mut SqliteConnection) -> Result<String, AppError> {
        Ok(order(tx, "tea").await?.to_string())
    }
}

#[tokio::test]
async fn a_generic_type_may_have_handlers() {
    let routes = Router::new()
        .route("/orders", post(Shop::<NewOrder>::create))
        .route("/numbers", post(Shop::<[u8; 2]>::create))
        .route("/open", post(Shop::<()>::open));
    serve(routes, async |bench, server| {
        let orders = twice(server, &r1()).await;
        let numbers = twice(server, &r1().path("/numbers").body("[1,2]")).await;
        let open = twice(server, &r1().path("/open")).await;

        assert_eq!([orders.text(), numbers.text(), open.text()], [r#"{"item":"tea","qty":1}"#, "[1,2]", "3"]);
        bench.assert_holds(3, 3).await;
    })
    .await;
}
