//! Replays as a client reads them that holds the server to the length it announces: hyper's, over one connection.
//!
//! A body that is shorter than announced is an error there; one that is longer spoils the next answer on HTTP/1.1, and
//! is an error of the stream on HTTP/2.

#![expect(clippy::result_large_err, reason = "handlers answer with whole responses, failed or not")]

use axum::http::{Request, StatusCode, header};
use axum::response::IntoResponse as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::on_both_databases;
use idem_tests::patience::soon;
use idem_tests::scripted::Script;
use idem_tests::server::Server;
use tokio::net::TcpStream;

/// What the runs answer, one after the other.
const ANSWERS: [(StatusCode, usize); 6] = [
    (StatusCode::CREATED, 22),
    (StatusCode::NOT_ACCEPTABLE, 15),
    (StatusCode::OK, 0),
    (StatusCode::NO_CONTENT, 0),
    (StatusCode::OK, 300_000),
    (StatusCode::NOT_FOUND, 0),
];

/// The handler that gives them.
fn script() -> Script {
    Script::new(|run| {
        let (status, length) = ANSWERS[run - 1];
        Ok((status, "x".repeat(length)).into_response())
    })
}

/// One connection, in either version of the protocol.
enum Connection {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// An answer that was read to its end.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    status: StatusCode,
    length: Option<String>,
    body: Bytes,
    is_replay: bool,
}

impl Connection {
    async fn one<DB: TestDatabase>(server: &Server<DB>) -> Self {
        let stream = soon(TcpStream::connect(server.address)).await.expect("the server accepts connections");
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        Self::One(sender)
    }

    async fn two<DB: TestDatabase>(server: &Server<DB>) -> Self {
        let stream = soon(TcpStream::connect(server.address)).await.expect("the server accepts connections");
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = soon(handshake).await.expect("HTTP/2");
        tokio::spawn(connection);
        Self::Two(sender)
    }

    async fn send(&mut self, key: usize) -> Whole {
        let request = Request::post("http://api.test/orders")
            .header(header::HOST, "api.test")
            .header(header::CONTENT_TYPE, "application/json")
            .header("X-Tenant", "t1")
            .header("Idempotency-Key", format!("\"k-{key}\""))
            .body(Full::from(r#"{"item":"tea","qty":1}"#))
            .expect("a request");
        let response = match self {
            Self::One(sender) => {
                soon(sender.ready()).await.expect("the last answer has left the connection in order");
                soon(sender.send_request(request)).await
            }
            Self::Two(sender) => soon(sender.send_request(request)).await,
        };
        let (parts, body) = response.expect("an answer on the same connection").into_parts();
        let field =
            |name: &str| parts.headers.get(name).map(|value| value.to_str().expect("text").to_owned());
        Whole {
            status: parts.status,
            length: field("content-length"),
            is_replay: field("idempotent-replayed").is_some(),
            body: soon(body.collect()).await.expect("as many bytes as announced").to_bytes(),
        }
    }
}

async fn assert_read_in_full<DB: TestDatabase>(bench: &Bench<DB>, mut client: Connection) {
    for (key, (status, length)) in ANSWERS.into_iter().enumerate() {
        let first = client.send(key).await;
        let again = client.send(key).await;

        assert_eq!((first.status, first.body.len(), first.is_replay), (status, length, false));
        assert_eq!((again.status, &again.body, again.is_replay), (status, &first.body, true));
        // RFC 9110, section 8.6: no length with 204. axum gives every answer one, the handler annotated or not, and
        // hyper takes it away again on HTTP/1.1 only.
        let is_announced = status != StatusCode::NO_CONTENT || matches!(client, Connection::Two(_));
        let announced = is_announced.then(|| length.to_string());
        assert_eq!([first.length, again.length], [announced.clone(), announced], "{status}, {length} bytes");
    }
    drop(client);
    assert_eq!(bench.key_rows().await.len(), ANSWERS.len());
}

// Reports: B05
async fn http_1_1_reads_every_replay_to_its_end<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(script().routes()).start().await;
    let client = Connection::one(&server).await;

    assert_read_in_full(bench, client).await;
}

// Reports: B05
async fn http_2_reads_every_replay_to_its_end<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(script().routes()).start().await;
    let client = Connection::two(&server).await;

    assert_read_in_full(bench, client).await;
}

on_both_databases! {
    http_1_1_reads_every_replay_to_its_end
    http_2_reads_every_replay_to_its_end
}
