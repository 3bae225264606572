//! The same conversation with either database, answer by answer.

use idem_tests::bench::{Bench, run};
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::http::{Answer, Request, r1};
use sqlx::{Postgres, Sqlite};

/// A conversation in which every kind of answer comes up. What creates an order comes before what rolls one back:
/// PostgreSQL does not give the number of a row that was rolled back again, SQLite does.
async fn conversation<DB: TestDatabase>(bench: &Bench<DB>) -> Vec<Answer> {
    let server = bench.start().await;
    let other_body = r#"{"item":"tea","qty":2}"#;
    let requests: Vec<Request> = vec![
        r1(),
        r1(),
        r1().body(r#"{ "qty": 1, "item": "tea" }"#),
        r1().body(other_body),
        r1().tenant("t2"),
        r1().key("k-0001"),
        r1().key("\"k-0002\""),
        r1().without("Idempotency-Key"),
        r1().key("\"unbalanced"),
        r1().key("k".repeat(256)),
        r1().without("X-Tenant"),
        r1().fresh_key().body("{"),
        r1().path("/empty"),
        r1().path("/empty"),
        r1().path("/bytes"),
        r1().path("/bytes"),
        r1().path("/declined"),
        r1().path("/declined"),
        r1().path("/err"),
        r1().path("/err"),
        r1().path("/err").body(other_body),
        r1().path("/boom"),
        r1().path("/boom"),
        r1().path("/accounts/7/charges").body(r#"{"amount":100}"#),
        r1().path("/accounts/7/charges?dry=1").body(r#"{"amount":100}"#),
        r1().path("/counters/7").method("PUT"),
        r1().path("/counters/7").method("PUT"),
        r1().path("/counters/7").method("PUT").key("\"k-0002\""),
        r1().path("/things").method("GET"),
    ];
    let mut answers = Vec::new();
    for request in &requests {
        answers.push(server.send(request).await);
    }
    let slow = r1().path("/slow").key("\"k-0003\"");
    let first = server.open_up_to_the_gate(&slow).await;
    answers.push(server.send(&slow).await);
    answers.push(server.send(&slow.clone().body(other_body)).await);
    server.gate().open();
    drop(first.answer().await);

    bench.expire_in(-1).await;
    answers.push(server.send(&r1().path("/refunds")).await);
    answers.push(server.send(&r1().path("/counters/7").method("PUT")).await);
    bench.place.execute(&format!("DROP TABLE {}", bench.place.key_table())).await;
    answers.push(server.send(&r1()).await);
    for answer in &mut answers {
        // The last one is a failure.
        answer.expected();
        answer.fields.retain(|(name, _)| name != "date");
    }
    answers
}

// Reports: B29
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_databases_give_the_same_answers_to_the_same_requests() {
    let (mut postgres, mut sqlite) = (Vec::new(), Vec::new());
    run::<Postgres>(async |bench| postgres = conversation(bench).await).await;
    run::<Sqlite>(async |bench| sqlite = conversation(bench).await).await;

    assert_eq!(postgres.len(), sqlite.len());
    for (number, (one, other)) in postgres.iter().zip(&sqlite).enumerate() {
        assert_eq!(one, other, "the answer with index {number}");
    }
}
