//! What the fixtures of handlers in odd shapes share: a route, an order, a retry.

use axum::Router;
use axum::routing::MethodRouter;
use idem_examples::reference::App;
use sqlx::{Sqlite, SqliteConnection};

use crate::bench::{Bench, run};
use crate::http::{Answer, Request};
use crate::server::Server;

/// Serves `routes` to `test` on an empty SQLite database.
///
/// # Panics
/// As [`run`].
pub async fn serve(routes: Router<App<Sqlite>>, test: impl AsyncFnOnce(&Bench<Sqlite>, &Server<Sqlite>)) {
    run(async |bench: &Bench<Sqlite>| {
        let server = bench.server().routes(routes).start().await;
        test(bench, &server).await;
    })
    .await;
}

/// The answer to a request that is sent twice: the second answer is the first one again.
///
/// # Panics
/// The future panics if the second request is not answered with a replay, or the first is.
pub async fn twice(server: &Server<Sqlite>, request: &Request) -> Answer {
    let first = server.send(request).await;
    let again = server.send(request).await;

    assert!(!first.is_replay(), "{first:?}");
    assert!(again.is_replay(), "{again:?}");
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    first
}

/// The answer of `handler`, which inserts one order, to a request that is sent [`twice`]: it ran once.
///
/// # Panics
/// The future panics as that of [`twice`], or if there is another number of orders than one.
pub async fn once(path: &str, handler: MethodRouter<App<Sqlite>>, request: &Request) -> Answer {
    let mut answer = None;
    serve(Router::new().route(path, handler), async |bench, server| {
        answer = Some(twice(server, request).await);
        bench.assert_holds(1, 1).await;
    })
    .await;
    answer.expect("the test ran")
}

/// Inserts an order and returns its number: 1, unless there are others.
///
/// # Errors
/// The database's.
pub async fn order(connection: &mut SqliteConnection, item: &str) -> sqlx::Result<i64> {
    let insert = "INSERT INTO orders (tenant, item, qty) VALUES ('t1', ?, 1) RETURNING id";
    sqlx::query_scalar(insert).bind(item.to_owned()).fetch_one(connection).await
}
