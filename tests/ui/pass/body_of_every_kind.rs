//! A body with an inner attribute, items of its own, `return`, `?`, `let … else`, a closure and a labelled loop.

use axum::http::StatusCode;
use axum::routing::post;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut SqliteConnection, numbers: String) -> Result<String, StatusCode> {
    #![allow(clippy::items_after_statements)]
    let wrong = |_| StatusCode::BAD_REQUEST;
    const ENOUGH: i64 = 10;
    struct Sum(i64);
    impl Sum {
        const fn new() -> Self {
            Self(0)
        }
    }

    let mut sum = Sum::new();
    let Some((first, rest)) = numbers.split_once(' ') else { return Err(StatusCode::UNPROCESSABLE_ENTITY) };
    sum.0 += first.parse::<i64>().map_err(wrong)?;
    let sum = 'sum: loop {
        for number in rest.split(' ') {
            sum.0 += number.parse::<i64>().map_err(wrong)?;
            if sum.0 > ENOUGH {
                break 'sum sum;
            }
        }
    };
    if sum.0 < 0 {
        return Err(StatusCode::UNPROCESSABLE_ENTITY);
    }
    let id = async { order(&mut *tx, &numbers).await }.await;
    id.map(|id| format!("{id} {}", sum.0)).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

#[tokio::test]
async fn the_body_is_as_it_was_written() {
    let answer = once("/orders", post(create), &r1().body("1 2 3 4 5 6")).await;

    assert_eq!(answer.text(), "1 15");
}
