//! Every annotated route of the reference application, by way of its real router.

use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::{Request, r1};
use idem_tests::on_both_databases;
use idem_tests::same::{assert_ran, assert_replays};

// Reports: B52
async fn a_retry_on_any_annotated_route_is_marked_and_has_the_first_status<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = bench.start().await;
    server.gate().open();
    let post = |path: &str| r1().path(path);
    let routes = [
        (post("/orders"), 201),
        (post("/refunds"), 201),
        (post("/slow"), 201),
        (post("/declined"), 402),
        (post("/err"), 422),
        (post("/boom"), 500),
        (post("/empty"), 204),
        (post("/bytes"), 200),
        (post("/accounts/7/charges?dry=1").body(r#"{"amount":100}"#), 201),
        (post("/counters/7").method("PUT"), 200),
        (post("/things").body(r#"{"name":"x"}"#), 201),
        (post("/things").method("PATCH").body(r#"{"name":"x"}"#), 200),
        (post("/things/1").method("DELETE"), 204),
    ];

    for (request, status) in &routes {
        let first = server.send(request).await;
        let again = server.send(request).await;

        assert_ran(&first, *status);
        assert_replays(&first, &again);
    }
    assert_eq!(server.runs(), u64::try_from(routes.len()).expect("a small number"));
    assert_eq!(bench.key_rows().await.len(), routes.len());
}

// Reports: B66
async fn a_head_request_with_a_key_reads_and_stores_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let head = Request::new("HEAD", "/things").field("X-Tenant", "t1").key("\"k-0001\"");

    for _ in 0..2 {
        let answer = server.send(&head).await;

        assert_ran(&answer, 200);
        assert_eq!(answer.body, b"");
    }
    assert_eq!(server.runs(), 2);
    assert_eq!(bench.key_rows().await, []);
}

on_both_databases! {
    a_retry_on_any_annotated_route_is_marked_and_has_the_first_status
    a_head_request_with_a_key_reads_and_stores_nothing
}
