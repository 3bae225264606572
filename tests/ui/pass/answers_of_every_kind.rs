//! Answers that say little of themselves: axum's own `Result`, an open part, `use<>`, `Infallible`, a doubled `Result`.

use std::convert::Infallible;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn of_axum(tx: &mut SqliteConnection, item: String) -> axum::response::Result<String> {
    order(tx, &item).await.map_err(AppError::from)?;
    Err((StatusCode::CONFLICT, item))?
}

#[idempotent(scope = "endpoint")]
async fn open_in_part(tx: &mut SqliteConnection, item: String) -> (StatusCode, impl IntoResponse) {
    let id = order(tx, &item).await.unwrap_or_default();
    (StatusCode::CREATED, id.to_string())
}

#[idempotent(scope = "endpoint")]
async fn open_and_precise(tx: &mut SqliteConnection, item: String) -> impl IntoResponse + use<> {
    order(tx, &item).await.unwrap_or_default().to_string()
}

#[idempotent(scope = "endpoint")]
async fn infallible(tx: &mut SqliteConnection, item: String) -> Result<Response, Infallible> {
    Ok(order(tx, &item).await.unwrap_or_default().to_string().into_response())
}

#[idempotent(scope = "endpoint")]
async fn doubled(tx: &mut SqliteConnection, item: String) -> Result<Result<String, StatusCode>, AppError> {
    order(tx, &item).await?;
    Ok(Err(StatusCode::CONFLICT))
}

#[tokio::test]
async fn an_answer_is_whatever_axum_takes() {
    let routes = Router::new()
        .route("/axum", post(of_axum))
        .route("/part", post(open_in_part))
        .route("/precise", post(open_and_precise))
        .route("/infallible", post(infallible))
        .route("/doubled", post(doubled));
    serve(routes, async |bench, server| {
        let mut answers = Vec::new();
        for path in ["/axum", "/part", "/precise", "/infallible", "/doubled"] {
            let answer = twice(server, &r1().path(path).body("tea")).await;
            answers.push((answer.status, answer.text().to_owned()));
        }

        let texts: Vec<_> = answers.iter().map(|(status, text)| (*status, text.as_str())).collect();
        assert_eq!(texts, [(409, "tea"), (201, "1"), (200, "2"), (200, "3"), (409, "")]);
        bench.assert_holds(5, 3).await;
    })
    .await;
}
