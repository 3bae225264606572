//! A proxy between a client and the application that loses, cuts, resets and delays exchanges, as networks
//! do.
//!
//! It works exchange by exchange: one request, one answer. Clients keep their connections open from one to
//! the next; the server sees a connection for each.

pub mod fault;
mod message;
pub mod stub;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::http::Answer;
use crate::patience::soon;
use fault::{DELAY, Decide, Fault};
use message::Message;

/// An exchange that the proxy has seen to its end.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What happened to it.
    pub fault: Fault,
    /// The request's `Idempotency-Key`, as sent.
    pub key: Option<String>,
    /// The request's body.
    pub body: Vec<u8>,
    /// What the server answered, whether or not the client got it; none if the client left before.
    pub answer: Option<Answer>,
}

/// The proxy. Dropping it closes its connections.
#[derive(Debug)]
pub struct HttpProxy {
    /// Where the client connects.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

impl HttpProxy {
    /// Starts a proxy to the server at `upstream`. `decide` is asked once for every exchange.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(upstream: SocketAddr, decide: Decide) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            upstream,
            decide,
            attempts: Mutex::default(),
            exchanges: watch::Sender::new(Vec::new()),
        });
        let listener = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, listener }
    }

    /// The exchanges so far, in the order in which they ended.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.exchanges.borrow().clone()
    }

    /// Asserts that each of so many requests came under a key of its own, the same at every attempt, and that all its
    /// answers but those that put the client off are one, byte for byte.
    ///
    /// # Panics
    /// If it is otherwise.
    #[track_caller]
    pub fn assert_one_key_and_one_answer_each(&self, requests: usize) {
        let exchanges = self.exchanges();
        let mut of_request = BTreeMap::<_, Vec<&Exchange>>::new();
        for exchange in &exchanges {
            of_request.entry(&exchange.body).or_default().push(exchange);
        }
        let mut keys = BTreeSet::new();
        for attempts in of_request.values() {
            let key = attempts[0].key.as_ref().expect("a key");
            assert!(attempts.iter().all(|exchange| exchange.key.as_ref() == Some(key)), "{attempts:?}");
            keys.insert(key);

            let answers = attempts.iter().filter_map(|exchange| exchange.answer.as_ref());
            let answers =
                answers.filter(|answer| answer.status != 409).map(|answer| (answer.status, &answer.body));
            assert_eq!(answers.collect::<BTreeSet<_>>().len(), 1, "{attempts:?}");
        }
        assert_eq!((of_request.len(), keys.len()), (requests, requests));
    }

    /// Waits for an exchange that the server answered with this status.
    ///
    /// # Panics
    /// The future panics if there is none.
    #[track_caller]
    pub fn answered(&self, status: u16) -> impl Future<Output = ()> {
        let mut exchanges = self.shared.exchanges.subscribe();
        let is_answered =
            move |exchange: &Exchange| exchange.answer.as_ref().is_some_and(|answer| answer.status == status);
        soon(async move {
            let seen = exchanges.wait_for(|exchanges| exchanges.iter().any(is_answered)).await;
            seen.expect("the proxy still runs");
        })
    }
}

impl Drop for HttpProxy {
    fn drop(&mut self) {
        // The listener's task owns the connections' tasks.
        self.listener.abort();
    }
}

struct Shared {
    upstream: SocketAddr,
    decide: Decide,
    /// How often each request has come, by its body.
    attempts: Mutex<HashMap<Vec<u8>, usize>>,
    exchanges: watch::Sender<Vec<Exchange>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

impl Shared {
    fn decide(&self, request: &Message) -> Fault {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = attempts.entry(request.body().to_vec()).or_default();
        *attempt += 1;
        (self.decide)(request.body(), *attempt)
    }

    /// Says what became of an exchange, before the client can know.
    fn report(&self, fault: Fault, request: &Message, answer: Option<&Message>) {
        let exchange = Exchange {
            fault,
            key: request.field("idempotency-key").map(str::to_owned),
            body: request.body().to_vec(),
            answer: answer.map(|answer| Answer::parse(&answer.bytes)),
        };
        self.exchanges.send_modify(|exchanges| exchanges.push(exchange));
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { return };
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // An error is the end of a connection, on whichever side: both are closed by leaving.
            let _ = relay(client, &shared).await;
        });
    }
}

/// Passes a client's exchanges on until one meets a fault that ends the connection.
async fn relay(client: TcpStream, shared: &Shared) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    while let Some(request) = Message::read(&mut client).await? {
        let fault = shared.decide(&request);
        if fault == Fault::DropRequest {
            shared.report(fault, &request, None);
            return Ok(());
        }

        let mut server = TcpStream::connect(shared.upstream).await?;
        if fault == Fault::CutRequest {
            shared.report(fault, &request, None);
            return server.write_all(request.first_half()).await;
        }
        server.write_all(&request.bytes).await?;
        let mut server = BufReader::new(server);
        if fault == Fault::Reset {
            shared.report(fault, &request, None);
            client.get_ref().set_zero_linger()?;
            drop(client);
            // A server that sees its client leave may not even begin.
            Message::read(&mut server).await?;
            return Ok(());
        }

        let answer = Message::read(&mut server).await?;
        let answer = answer.ok_or_else(|| io::Error::other("the server does not answer"))?;
        shared.report(fault, &request, Some(&answer));
        match fault {
            Fault::DropAnswer => return Ok(()),
            Fault::CutHead => return client.write_all(answer.half_a_head()).await,
            Fault::CutAnswer => return client.write_all(answer.first_half()).await,
            Fault::Delay => sleep(DELAY).await,
            Fault::None | Fault::DropRequest | Fault::CutRequest | Fault::Reset => {}
        }
        client.write_all(&answer.bytes).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::sync::mpsc;

    use super::*;

    const REQUEST: &[u8] = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\ntea";
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";

    /// What a client gets for [`REQUEST`] that meets `fault`, up to the end of its connection, and whether the
    /// server has seen the whole request.
    async fn meet(fault: Fault) -> (io::Result<Vec<u8>>, bool) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let upstream = listener.local_addr().unwrap();
        let (seen, mut was_seen) = mpsc::channel(1);
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            // Half a request is none.
            let Ok(Some(request)) = Message::read(&mut stream).await else { return };
            seen.send(request.bytes).await.unwrap();
            // Whether it can be written or not: the proxy may be gone.
            let _ = stream.write_all(ANSWER).await;
        });

        let proxy = HttpProxy::start(upstream, fault::first(fault)).await;
        let mut client = TcpStream::connect(proxy.address).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        let mut bytes = vec![0; ANSWER.len()];
        let mut length = 0;
        let outcome = soon(async {
            while length < ANSWER.len() {
                match client.read(&mut bytes[length..]).await? {
                    0 => break,
                    read => length += read,
                }
            }
            Ok(bytes[..length].to_vec())
        });
        let outcome = outcome.await;

        assert_eq!(proxy.exchanges().iter().map(|exchange| exchange.fault).collect::<Vec<_>>(), [fault]);
        let is_seen = if fault == Fault::DropRequest {
            server.abort();
            was_seen.recv().await.is_some()
        } else if fault == Fault::CutRequest {
            soon(was_seen.recv()).await.is_some()
        } else {
            assert_eq!(soon(was_seen.recv()).await.as_deref(), Some(REQUEST));
            true
        };
        (outcome, is_seen)
    }

    #[tokio::test]
    async fn an_exchange_without_a_fault_is_passed_on() {
        for fault in [Fault::None, Fault::Delay] {
            let (answer, is_seen) = meet(fault).await;

            assert_eq!((answer.unwrap().as_slice(), is_seen), (ANSWER, true));
        }
    }

    #[tokio::test]
    async fn the_server_does_not_see_a_dropped_request() {
        let (answer, is_seen) = meet(Fault::DropRequest).await;

        assert_eq!((answer.unwrap().as_slice(), is_seen), (b"".as_slice(), false));
    }

    #[tokio::test]
    async fn the_server_does_not_see_the_whole_of_a_cut_request() {
        let (answer, is_seen) = meet(Fault::CutRequest).await;

        assert_eq!((answer.unwrap().as_slice(), is_seen), (b"".as_slice(), false));
    }

    #[tokio::test]
    async fn the_client_gets_half_a_head() {
        let (answer, is_seen) = meet(Fault::CutHead).await;

        let head = ANSWER.len() - b"done".len();
        assert_eq!((answer.unwrap().as_slice(), is_seen), (&ANSWER[..head / 2], true));
    }

    #[tokio::test]
    async fn the_client_gets_nothing_of_a_dropped_answer() {
        let (answer, is_seen) = meet(Fault::DropAnswer).await;

        assert_eq!((answer.unwrap().as_slice(), is_seen), (b"".as_slice(), true));
    }

    #[tokio::test]
    async fn the_client_gets_half_of_a_cut_answer() {
        let (answer, is_seen) = meet(Fault::CutAnswer).await;

        assert_eq!((answer.unwrap().as_slice(), is_seen), (&ANSWER[..ANSWER.len() - 2], true));
    }

    #[tokio::test]
    async fn a_reset_is_an_error_to_the_client() {
        let (answer, is_seen) = meet(Fault::Reset).await;

        assert_eq!((answer.unwrap_err().kind(), is_seen), (io::ErrorKind::ConnectionReset, true));
    }
}
