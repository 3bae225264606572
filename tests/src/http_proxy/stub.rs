//! A server that plays a script: so many attempts of one operation, and what becomes of each.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io, mem};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::message::Message;

/// What becomes of one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// This, byte for byte but for the length, which is added: a status line, fields and a body.
    Answer(&'static str),
    /// No answer while the client waits for it.
    Silence,
    /// The connection is reset when the server has got the head of the request and some of its body.
    ResetRequest,
    /// The connection is reset in the midst of an answer's body.
    ResetAnswer,
}

/// A request that a stub has got.
#[derive(Clone, PartialEq, Eq)]
pub struct Got {
    /// Its line and fields.
    pub head: String,
    /// Its body; none if the stub did not read it to its end.
    pub body: Option<Vec<u8>>,
}

impl Got {
    /// The lines of this field, whose name is in lower case.
    pub fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.filter(move |(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

impl fmt::Debug for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, then {:?} bytes", self.head, self.body.as_ref().map(Vec::len))
    }
}

/// The server. Dropping it closes its connections.
#[derive(Debug)]
pub struct Stub {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    /// What is still to come, the next last.
    script: Mutex<Vec<Reply>>,
    got: Mutex<Vec<Got>>,
}

impl Stub {
    /// Starts a server that does with the first request what the first reply says, and so on. Behind the last it closes
    /// connections.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let mut script = script.into_iter().collect::<Vec<_>>();
        script.reverse();
        let shared = Arc::new(Shared { script: Mutex::new(script), got: Mutex::default() });
        let listener = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, listener }
    }

    /// The requests so far.
    #[must_use]
    pub fn got(&self) -> Vec<Got> {
        self.shared.got.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { return };
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // An error is the end of the connection.
            let _ = play(client, &shared).await;
        });
    }
}

/// Answers the requests of one connection.
async fn play(client: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut client = BufReader::new(client);
    while let Some(mut request) = Message::read_head(&mut client).await? {
        let reply = shared.script.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let head = String::from_utf8_lossy(&mem::take(&mut request.bytes)).into_owned();
        let length = head.to_ascii_lowercase().split_once("content-length: ").map_or(0, |(_, rest)| {
            rest.lines().next().and_then(|length| length.parse().ok()).expect("a length is a number")
        });
        let body = if matches!(reply, Some(Reply::ResetRequest)) {
            client.read_u8().await?;
            None
        } else {
            let mut body = vec![0; length];
            client.read_exact(&mut body).await?;
            Some(body)
        };
        shared.got.lock().unwrap_or_else(PoisonError::into_inner).push(Got { head, body });

        match reply {
            None => return Ok(()),
            Some(Reply::Answer(answer)) => {
                let (head, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
                let head =
                    format!("HTTP/1.1 {head}\nContent-Length: {}\n\n", body.len()).replace('\n', "\r\n");
                client.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await?;
            }
            // Until the client closes the connection.
            Some(Reply::Silence) => drop(client.read_u8().await),
            Some(Reply::ResetRequest) => return client.get_ref().set_zero_linger(),
            Some(Reply::ResetAnswer) => {
                client.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{\"id\"").await?;
                // What has been written arrives before the reset: the client is to see it.
                client.flush().await?;
                return client.get_ref().set_zero_linger();
            }
        }
    }
    Ok(())
}
