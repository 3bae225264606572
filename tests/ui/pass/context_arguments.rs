//! `#[context]` on what writes nothing, though its type does not say so: the router's whole state, a channel.

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Router};
use idem_examples::reference::{App, AppError};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::{Sqlite, SqliteConnection};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[idempotent(scope = "endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    #[context] State(app): State<App<Sqlite>>,
    #[context] Extension(hints): Extension<UnboundedSender<i64>>,
    item: String,
) -> Result<String, AppError> {
    app.probe.ran();
    let id = order(tx, &item).await?;
    let is_heard = hints.send(id).is_ok();
    Ok(is_heard.to_string())
}

#[tokio::test]
async fn what_a_handler_vouches_for_may_be_anything() {
    let (sender, mut hints) = unbounded_channel::<i64>();
    let routes = Router::new().route("/orders", post(create)).layer(Extension(sender));
    serve(routes, async |bench, server| {
        let answer = twice(server, &r1().body("tea")).await;

        assert_eq!((answer.text(), server.runs(), hints.try_recv()), ("true", 1, Ok(1)));
        assert!(hints.is_empty(), "a replay runs nothing");
        bench.assert_holds(1, 1).await;
    })
    .await;
}
