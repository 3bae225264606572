//! What an operator sees of a request: its span.

use axum::http::StatusCode;
use axum::response::IntoResponse as _;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::hand::Hand;
use crate::http::r1;
use crate::same::assert_ran;
use crate::scripted::Script;
use crate::spans::Spans;
use crate::ways::{self, Outcomes, Setting};

pub async fn each_request_has_a_span_that_says_how_it_ended<DB: TestDatabase>(bench: &Bench<DB>) {
    let spans = Spans::default();
    let subscribed = spans.clone();
    let setting = Setting::new(bench, "jane.doe@example.com", move |router| subscribed.subscribe(router));

    let check = async |way: &str, outcomes: &Outcomes| {
        let ended = spans.take(outcomes.len()).await;
        let mut found: Vec<_> = ended.iter().map(|span| span.field("idempotency.outcome")).collect();
        let mut expected = outcomes.clone();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{way}");
        for span in &ended {
            assert_eq!(span.path, "request:idempotency", "{way}: {span:?}");
        }
    };
    ways::go(&setting, check).await;
}

pub async fn a_span_leads_to_the_key_row_and_does_not_say_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let spans = Spans::default();
    let subscribed = spans.clone();
    let server = bench.server().wrap(move |router| subscribed.subscribe(router)).start().await;

    assert_ran(&server.send(&r1()).await, 201);
    server.send(&r1()).await;

    let (row, table) = (bench.key_row().await, bench.place.key_table());
    for span in spans.take(2).await {
        // As the page says it: a UUID, or a blob.
        let id = span.field("idempotency.id");
        let literal = if DB::WRITES_IN_PARALLEL { format!("'{id}'") } else { format!("x'{id}'") };
        let rows = bench.place.integer(&format!("SELECT count(*) FROM {table} WHERE id = {literal}")).await;
        assert_eq!((id.len(), rows), (32, 1), "{span:?}");
        assert_eq!(span.field("idempotency.scope"), row.scope);
        assert_eq!(span.field("idempotency.endpoint"), "POST /orders");
        assert_eq!(span.fields.len(), 4, "{span:?}");
        assert!(!format!("{span:?}").contains("k-0001"), "{span:?}");
    }
}

pub async fn the_work_is_within_its_requests_span<DB: TestDatabase>(bench: &Bench<DB>) {
    let spans = Spans::default();
    let subscribed = spans.clone();
    let script = Script::ok(|| {
        tracing::info_span!("work").in_scope(|| ());
        StatusCode::CREATED
    });
    let server =
        bench.server().routes(script.routes()).wrap(move |router| subscribed.subscribe(router)).start().await;

    assert_ran(&server.send(&r1()).await, 201);

    assert_eq!(spans.path_of("work").await, "request:idempotency:work");
}

pub async fn an_endpoint_of_its_own_name_is_seen_under_it<DB: TestDatabase>(bench: &Bench<DB>) {
    let spans = Spans::default();
    let subscribed = spans.clone();
    let named = Hand::new(|_, _| Ok(StatusCode::CREATED.into_response()));
    let server = bench
        .server()
        .routes(named.routes_as("orders.create"))
        .wrap(move |router| subscribed.subscribe(router))
        .start()
        .await;

    assert_ran(&server.send(&r1()).await, 201);

    assert_eq!(spans.take(1).await[0].field("idempotency.endpoint"), "orders.create");
}
