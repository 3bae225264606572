//! A client that sends exactly the bytes it is told to, one connection a request.
//!
//! Real clients repair, join and refuse header fields; the cases about headers need to send what no real
//! client would.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value as JsonValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::patience::soon;
use crate::spared::Tripwire;

/// A request, field by field.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

/// The request that the cases call R1: tenant `t1` orders one tea under the key `k-0001`.
#[must_use]
pub fn r1() -> Request {
    Request::new("POST", "/orders")
        .field("X-Tenant", "t1")
        .field("Content-Type", "application/json")
        .field("Idempotency-Key", "\"k-0001\"")
        .body(r#"{"item":"tea","qty":1}"#)
}

impl Request {
    /// A request without fields (but for `Host`) and body.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            fields: vec![("Host".to_owned(), b"api.test".to_vec())],
            body: Vec::new(),
        }
    }

    /// The same with another method.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    /// The same with another path and query.
    #[must_use]
    pub fn path(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// The same with one more field line.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// The same without any line of this name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(field, _)| !field.eq_ignore_ascii_case(name));
        self
    }

    /// The same with `value` as the only line of this name.
    #[must_use]
    pub fn set(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).field(name, value)
    }

    /// The same with this value of `Idempotency-Key`, byte for byte: quotes are the caller's.
    #[must_use]
    pub fn key(self, value: impl AsRef<[u8]>) -> Self {
        self.set("Idempotency-Key", value)
    }

    /// The same with a key that no other request of this process has.
    #[must_use]
    pub fn fresh_key(self) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        self.key(format!("\"fresh-{number}\""))
    }

    /// The same of another tenant.
    #[must_use]
    pub fn tenant(self, tenant: &str) -> Self {
        self.set("X-Tenant", tenant)
    }

    /// The same with another body.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// The request as it goes over the wire, with `Content-Length` where there is a body, and
    /// `Connection: close`, so that the answer ends where the connection does.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.fields {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        if !self.body.is_empty() {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"Connection: close\r\n\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A request that has been sent and not yet answered. Dropping it closes the connection, as a client does
/// that gives up.
#[derive(Debug)]
pub struct Pending {
    stream: TcpStream,
}

/// Sends `request` to `address` without waiting for the answer.
///
/// # Panics
/// If the connection cannot be made or written to.
pub async fn open(address: SocketAddr, request: &Request) -> Pending {
    soon(try_open(address, request)).await.expect("the server accepts connections and reads the request")
}

/// The same where the server may be gone.
///
/// # Errors
/// If the connection cannot be made or written to. Part of the request may have been sent.
pub async fn try_open(address: SocketAddr, request: &Request) -> io::Result<Pending> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(&request.to_bytes()).await?;
    Ok(Pending { stream })
}

impl Pending {
    /// Closes the sending half, as some clients do that give up.
    ///
    /// # Panics
    /// If the connection is gone already.
    pub async fn half_close(&mut self) {
        self.stream.shutdown().await.expect("the connection is still there");
    }

    /// Waits for the answer.
    ///
    /// # Panics
    /// If the connection ends without one.
    #[track_caller]
    pub fn answer(self) -> impl Future<Output = Answer> {
        let outcome = self.outcome();
        async { outcome.await.expect("an answer before the connection ends") }
    }

    /// Waits for the answer, or for the connection to end without one.
    ///
    /// # Panics
    /// If neither comes, or what comes is not HTTP.
    #[track_caller]
    pub fn outcome(mut self) -> impl Future<Output = Option<Answer>> {
        soon(async move {
            let mut bytes = Vec::new();
            // A reset counts as an end: what came before it is kept.
            let _ = self.stream.read_to_end(&mut bytes).await;
            if bytes.is_empty() { None } else { Some(Answer::parse(&bytes)) }
        })
    }

    /// Waits for the answer, or for the connection to end without a whole one, as that to a process does which dies
    /// while it writes.
    ///
    /// # Panics
    /// If neither comes, or what comes is not HTTP.
    #[track_caller]
    pub fn whole(mut self) -> impl Future<Output = Option<Answer>> {
        soon(async move {
            let mut bytes = Vec::new();
            let _ = self.stream.read_to_end(&mut bytes).await;
            let has_head = bytes.windows(4).any(|window| window == b"\r\n\r\n");
            has_head.then(|| Answer::parse(&bytes)).filter(Answer::is_whole)
        })
    }
}

/// An answer, field by field.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Every field line in order, names in lower case.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The body, its transfer coding undone.
    pub body: Vec<u8>,
    tripwire: Tripwire,
}

impl Answer {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a complete head");
        let mut lines = bytes[..end].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);

        let status_line = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let fields = lines.map(|line| {
            let colon = line.iter().position(|&byte| byte == b':').expect("a colon in every field line");
            let name = String::from_utf8_lossy(&line[..colon]).to_ascii_lowercase();
            (name, line[colon + 1..].trim_ascii().to_vec())
        });

        let mut answer = Self {
            status: status.unwrap_or_else(|| panic!("a status line, not {status_line:?}")),
            fields: fields.collect(),
            body: bytes[end + 4..].to_vec(),
            tripwire: Tripwire::default(),
        };
        if answer.field("transfer-encoding") == Some("chunked") {
            answer.body = unchunked(&answer.body);
        }
        answer.tripwire = Tripwire::of(answer.status, &answer.body);
        answer
    }

    /// One that nobody sent.
    #[cfg(test)]
    pub(crate) fn made(status: u16, fields: Vec<(String, Vec<u8>)>, body: &[u8]) -> Self {
        Self { status, fields, body: body.to_vec(), tripwire: Tripwire::default() }
    }

    /// Whether the body is as long as the head says; true where that says nothing.
    fn is_whole(&self) -> bool {
        self.field("content-length").is_none_or(|length| length.parse() == Ok(self.body.len()))
    }

    /// The values of all lines of this name, in order.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.fields.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_slice())
    }

    /// The value of the first line of this name, if it is there and is text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.values(name).next().and_then(|value| str::from_utf8(value).ok())
    }

    /// Says that the test expects this answer, though it be a 5xx of the library. What asserts a problem by its code says
    /// so by itself; any other answer of that kind fails the test.
    pub fn expected(&self) {
        self.tripwire.expect();
    }

    /// Whether the answer says that it is a replay.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.field("idempotent-replayed") == Some("true")
    }

    /// The body as text.
    ///
    /// # Panics
    /// If it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        str::from_utf8(&self.body).expect("a body of text")
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn json(&self) -> JsonValue {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("a JSON body, not {self:?}"))
    }

    /// The `id` that an order's answer names.
    ///
    /// # Panics
    /// If it names none.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.json()["id"].as_i64().unwrap_or_else(|| panic!("an id in {self:?}"))
    }
}

impl fmt::Debug for Answer {
    /// Shows the answer as it reads on the wire.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        for (name, value) in &self.fields {
            write!(f, " | {name}: {}", value.escape_ascii())?;
        }
        write!(f, " | {}", String::from_utf8_lossy(&self.body))
    }
}

/// The content of a chunked body (RFC 9112, 7.1), without trailers.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = str::from_utf8(&rest[..end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let size = size.expect("a chunk size");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_is_the_request_of_the_protocol() {
        let expected = "POST /orders HTTP/1.1\r\nHost: api.test\r\nX-Tenant: t1\r\n\
                        Content-Type: application/json\r\nIdempotency-Key: \"k-0001\"\r\n\
                        Content-Length: 22\r\nConnection: close\r\n\r\n{\"item\":\"tea\",\"qty\":1}";

        assert_eq!(String::from_utf8(r1().to_bytes()).unwrap(), expected);
    }

    #[test]
    fn an_answer_keeps_repeated_fields_and_raw_bytes() {
        let answer =
            Answer::parse(b"HTTP/1.1 201 Created\r\nLink: <a>\r\nlink: <b>\r\nX: \xfc\r\n\r\n\x00\xff");

        assert_eq!(answer.status, 201);
        assert_eq!(answer.values("link").collect::<Vec<_>>(), [b"<a>", b"<b>"]);
        assert_eq!(answer.values("x").collect::<Vec<_>>(), [b"\xfc"]);
        assert_eq!(answer.body, [0x00, 0xff]);
    }

    #[test]
    fn a_chunked_body_is_put_together() {
        let answer = Answer::parse(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        );

        assert_eq!(answer.body, b"abcde");
    }
}
