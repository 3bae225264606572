//! A key in an `Option`, through a method: whether it must be there is said by `required`.

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

trait Numbered {
    fn number(&self) -> Option<&str>;
}

impl Numbered for NewOrder {
    fn number(&self) -> Option<&str> {
        self.order_no.as_deref()
    }
}

#[idempotent(scope = "endpoint", key = "new.number()", required = false)]
async fn create(tx: &mut SqliteConnection, Json(new): Json<NewOrder>) -> Result<String, AppError> {
    Ok(order(tx, &new.item).await?.to_string())
}

#[idempotent(scope = "endpoint", key = "new.order_no")]
async fn create_numbered(tx: &mut SqliteConnection, Json(new): Json<NewOrder>) -> Result<String, AppError> {
    Ok(order(tx, &new.item).await?.to_string())
}

#[tokio::test]
async fn a_missing_key_is_none_or_refused() {
    let routes = Router::new().route("/orders", post(create)).route("/numbered", post(create_numbered));
    serve(routes, async |bench, server| {
        let numbered = r1().body(r#"{"item":"tea","qty":1,"order_no":"n-1"}"#);
        let first = twice(server, &numbered).await;
        let other = twice(server, &numbered.path("/numbered")).await;
        let unnumbered = [server.send(&r1()).await, server.send(&r1()).await];
        let refused = server.send(&r1().path("/numbered")).await;

        assert_eq!((first.text(), other.text()), ("1", "2"));
        assert_eq!(unnumbered.map(|answer| answer.text().to_owned()), ["3", "4"]);
        assert_eq!(refused.status, 400);
        bench.assert_holds(2, 4).await;
    })
    .await;
}
