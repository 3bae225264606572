//! A body that is larger than what the handler's extractor takes.

use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::r1;
use idem_tests::on_both_databases;
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::same::assert_ran;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const GIB: usize = 1 << 30;

/// axum's limit is 2 MB; the rest is what two sockets and their buffers may hold on the way.
const MOST_TAKEN: usize = 32 << 20;

const HEAD: &str = "POST /orders HTTP/1.1\r\nHost: api.test\r\nX-Tenant: t1\r\nIdempotency-Key: \"k-0001\"\r\n\
                    Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

// Reports: B49
async fn a_gibibyte_in_chunks_is_refused_before_it_is_read<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let stream = soon(TcpStream::connect(server.address)).await.expect("the server accepts connections");
    let (mut incoming, mut outgoing) = stream.into_split();
    // It begins like an order, and its item goes on and on.
    outgoing.write_all(HEAD.as_bytes()).await.expect("the server reads");
    outgoing.write_all(b"9\r\n{\"item\":\"\r\n").await.expect("the server reads");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).into_bytes();

    let sending = tokio::spawn(async move {
        let mut sent = 0;
        // It ends with an error as soon as the server has had enough.
        while sent < GIB && outgoing.write_all(&chunk).await.is_ok() {
            sent += chunk.len();
        }
        sent
    });
    let mut status = [0; 12];
    soon(incoming.read_exact(&mut status)).await.expect("an answer");
    // The end of the connection, or its reset, ends the sending.
    drop(incoming);
    let sent = soon(sending).await.expect("the client does not panic");

    assert_eq!(String::from_utf8_lossy(&status), "HTTP/1.1 413");
    assert!(sent < MOST_TAKEN, "{sent} bytes were taken");
    assert_eq!(server.runs(), 0);
    bench.assert_holds(0, 0).await;
    assert_ran(&server.send(&r1()).await, 201);
}

// Reports: B49
async fn one_byte_too_many_is_refused_and_reserves_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    const LIMIT: usize = 2 * 1024 * 1024;
    let server = bench.start().await;
    let around = r#"{"item":"","qty":1}"#;
    let of_length = |length: usize| {
        r1().body(around.replace("\"\"", &format!("\"{}\"", "x".repeat(length - around.len()))))
    };

    let too_long = server.send(&of_length(LIMIT + 1)).await;
    bench.assert_holds(0, 0).await;
    let just_right = server.send(&of_length(LIMIT)).await;

    assert_ran(&too_long, 413);
    // What comes back holds the item too, and is longer than a stored answer may be.
    assert_problem(&just_right, "idempotency_response_not_storable");
    assert_eq!(server.runs(), 1);
    bench.assert_holds(0, 0).await;
}

on_both_databases! {
    a_gibibyte_in_chunks_is_refused_before_it_is_read
    one_byte_too_many_is_refused_and_reserves_nothing
}
