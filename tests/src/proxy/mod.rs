//! A proxy between the application and PostgreSQL that counts what the application sends, and can hold or
//! cut a connection at a chosen statement, before it or at its reply.
//!
//! It works round by round: everything up to a `Sync` or a simple query goes to the server, everything up
//! to `ReadyForQuery` comes back (PostgreSQL manual, 55.2, message flow). That is also what a round trip is.

mod wire;

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::patience::soon;
use wire::Session;

/// What the application sent in one round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Counts the proxy's connections from 0.
    pub connection: usize,
    /// What was asked of the server.
    pub kind: RoundKind,
    /// The statement; empty for a ping.
    pub sql: String,
}

/// What a round trip asks of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundKind {
    /// To parse and describe a statement, once per connection and statement.
    Prepare,
    /// To run a statement.
    Run,
    /// Only whether it is there, as sqlx's pool does.
    Ping,
    /// To forget a statement.
    Close,
}

impl Round {
    /// Whether a statement is run that contains `text`.
    #[must_use]
    pub fn runs(&self, text: &str) -> bool {
        self.kind == RoundKind::Run && self.sql.contains(text)
    }
}

/// Where a round is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Before the server gets the statement.
    Request,
    /// When the server has run the statement, before the application gets the reply.
    Reply,
}

/// The proxy. Dropping it closes its connections.
#[derive(Debug)]
pub struct PgProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

impl PgProxy {
    /// Starts a proxy to the PostgreSQL server at `upstream`.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared::default());
        let listener = tokio::spawn(accept(listener, upstream, Arc::clone(&shared)));
        Self { address, shared, listener }
    }

    /// Where the application connects.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the application has sent so far, or since [`forget`](Self::forget).
    #[must_use]
    pub fn rounds(&self) -> Vec<Round> {
        self.shared.rounds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Empties the list of rounds.
    pub fn forget(&self) {
        self.shared.rounds.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The SQLSTATE of every error that the server has reported.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        self.shared.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Closes its connections and takes no more, as a server that is down.
    pub fn stop(&self) {
        // The listener's task owns the connections' tasks.
        self.listener.abort();
    }

    /// Closes the connection that is made next, after so many messages of its start-up.
    pub fn cut_next_start(&self, messages: usize) {
        *self.shared.cut_start.lock().unwrap_or_else(PoisonError::into_inner) = Some(messages);
    }

    /// Holds the next round that `matches`, once.
    pub fn hold(&self, at: At, matches: impl Fn(&Round) -> bool + Send + 'static) -> Hold {
        let (reached, was_reached) = oneshot::channel();
        let (decide, decision) = oneshot::channel();
        let trap = Trap { at, matches: Box::new(matches), reached, decision };
        self.shared.traps.lock().unwrap_or_else(PoisonError::into_inner).push(trap);
        Hold { reached: was_reached, decide }
    }
}

impl Drop for PgProxy {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A round that is held, or will be.
#[derive(Debug)]
pub struct Hold {
    reached: oneshot::Receiver<()>,
    decide: oneshot::Sender<Decision>,
}

impl Hold {
    /// Waits until the application is at the held round.
    ///
    /// # Panics
    /// The future panics if it does not come there.
    #[track_caller]
    pub fn reached(&mut self) -> impl Future<Output = ()> {
        let reached = soon(&mut self.reached);
        async { reached.await.expect("the proxy still runs") }
    }

    /// Lets the round go on.
    pub fn release(self) {
        // Nobody is told if the connection is gone meanwhile, and nobody needs to be.
        let _ = self.decide.send(Decision::Release);
    }

    /// Closes the connection, on both sides.
    pub fn cut(self) {
        let _ = self.decide.send(Decision::Cut);
    }

    /// Passes half of the bytes on, then closes the connection on both sides.
    pub fn cut_midway(self) {
        let _ = self.decide.send(Decision::CutMidway);
    }
}

#[derive(Debug)]
enum Decision {
    Release,
    Cut,
    CutMidway,
}

struct Trap {
    at: At,
    matches: Box<dyn Fn(&Round) -> bool + Send>,
    reached: oneshot::Sender<()>,
    decision: oneshot::Receiver<Decision>,
}

#[derive(Default)]
struct Shared {
    rounds: Mutex<Vec<Round>>,
    errors: Mutex<Vec<String>>,
    traps: Mutex<Vec<Trap>>,
    /// How much of its start-up the next connection is granted, if not all of it.
    cut_start: Mutex<Option<usize>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("rounds", &self.rounds).finish_non_exhaustive()
    }
}

impl Shared {
    /// Stops at a trap, if one is set for this round, and says what becomes of the bytes.
    async fn pass(&self, at: At, round: &Round) -> Decision {
        let trap = {
            let mut traps = self.traps.lock().unwrap_or_else(PoisonError::into_inner);
            traps
                .iter()
                .position(|trap| trap.at == at && (trap.matches)(round))
                .map(|index| traps.remove(index))
        };
        let Some(trap) = trap else { return Decision::Release };
        let _ = trap.reached.send(());
        // A test that lets go of its hold without a word has no more interest in it.
        trap.decision.await.unwrap_or(Decision::Release)
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, shared: Arc<Shared>) {
    let mut sessions = JoinSet::new();
    for connection in 0.. {
        let Ok((client, _)) = listener.accept().await else { return };
        let shared = Arc::clone(&shared);
        sessions.spawn(async move {
            // An error is the end of a connection, on whichever side: both are closed by leaving.
            let _ = relay(connection, client, upstream, &shared).await;
        });
    }
}

async fn relay(
    connection: usize,
    client: TcpStream,
    upstream: SocketAddr,
    shared: &Shared,
) -> std::io::Result<()> {
    let server = TcpStream::connect(upstream).await?;
    let messages = shared.cut_start.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut session = Session::start(client, server, messages.unwrap_or(usize::MAX)).await?;
    while let Some((kind, sql, bytes)) = session.next_round().await? {
        let round = Round { connection, kind, sql };
        shared.rounds.lock().unwrap_or_else(PoisonError::into_inner).push(round.clone());
        match shared.pass(At::Request, &round).await {
            Decision::Release => {}
            Decision::Cut => return Ok(()),
            Decision::CutMidway => return session.send(half(&bytes)).await,
        }
        let reply = session.ask(&bytes).await?;
        shared.errors.lock().unwrap_or_else(PoisonError::into_inner).extend(wire::errors(&reply));
        match shared.pass(At::Reply, &round).await {
            Decision::Release => session.reply(&reply).await?,
            Decision::Cut => return Ok(()),
            Decision::CutMidway => return session.reply(half(&reply)).await,
        }
    }
    Ok(())
}

/// The first half of a message.
fn half(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() / 2]
}
