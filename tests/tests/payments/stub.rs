//! What the other tests rest on: the provider is as strict as a real one, and the load balancer lets go as a real one
//! does. And the example tells its story.

use std::net::SocketAddr;
use std::time::Duration;

use idem_examples::payments::{Balancer, Provider};
use idem_tests::http::{Answer, Request, open};
use idem_tests::patience::{soon, within};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::shop::serve;

async fn ask(provider: SocketAddr, key: Option<&str>, content: &str) -> Answer {
    let mut request =
        Request::new("POST", "/charges").field("Content-Type", "application/json").body(content);
    if let Some(key) = key {
        request = request.key(key);
    }
    open(provider, &request).await.answer().await
}

#[tokio::test]
async fn the_provider_charges_once_for_a_key_and_refuses_a_missing_and_a_reused_one() {
    let provider = Provider::default();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    let serving = serve(listener, provider.routes());
    let tea = r#"{"cents":500,"card":"card_visa"}"#;

    let missing = ask(address, None, tea).await;
    let first = ask(address, Some("a"), tea).await;
    let again = ask(address, Some("a"), tea).await;
    let reused = ask(address, Some("a"), r#"{"cents":501,"card":"card_visa"}"#).await;
    let other = ask(address, Some("b"), tea).await;
    serving.abort();

    assert_eq!((missing.status, reused.status), (400, 422));
    assert_eq!((first.status, first.text()), (201, r#"{"id":"ch_1","cents":500}"#));
    assert_eq!((again.status, again.text()), (201, first.text()));
    assert_eq!((other.status, other.text()), (201, r#"{"id":"ch_2","cents":500}"#));
    assert_eq!(provider.charges().len(), 2);
    assert_eq!(provider.keys(), ["a", "a", "a", "b"]);
}

#[tokio::test]
async fn the_load_balancer_answers_504_and_drops_its_connection() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let balancer = Balancer::new(Duration::from_millis(500)).expect("an HTTP client");
    let front = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let entrance = front.local_addr().expect("a bound listener has an address");
    let balancing = serve(front, balancer.routes());

    let nobody = open(entrance, &Request::new("GET", "/")).await.answer().await;
    balancer.point_to(listener.local_addr().expect("a bound listener has an address"));
    let pending = open(entrance, &Request::new("GET", "/")).await;
    let (mut upstream, _) = soon(listener.accept()).await.expect("the load balancer connects");
    let mut request = Vec::new();
    soon(upstream.read_to_end(&mut request)).await.expect("the connection is closed, not broken");
    let given_up = pending.answer().await;
    balancing.abort();

    assert_eq!(nobody.status, 502);
    assert!(request.starts_with(b"GET / HTTP/1.1"), "{}", request.escape_ascii());
    assert_eq!(given_up.status, 504);
}

#[tokio::test]
async fn the_example_tells_its_story_and_ends() {
    let mut command = Command::new(crate::PROGRAM);
    command.kill_on_drop(true);

    let output = within(Duration::from_mins(1), command.output()).await.expect("the example is built");

    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // It checks each of its steps by itself.
    let headings = text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    assert_eq!(headings.count(), 6, "{text}");
    assert_eq!(text.lines().last(), Some("Everything came as told."));
}
