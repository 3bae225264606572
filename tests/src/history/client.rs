//! What a client does: it sends, hangs up, tries again, and writes down what it saw.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::database;
use super::operation::{Endpoint, Operation};
use super::plan::{Manner, PROCESSES, Step};
use super::record::{Attempt, Outcome, Recorder};
use super::said::Said;
use crate::database::PgPlace;
use crate::http::{Answer, try_open};
use crate::patience::soon;

/// How long a client tries before it gives up: much longer than any fault lasts.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// A client of the application.
#[derive(Clone, Debug)]
pub struct Client {
    /// Where it writes down what it saw.
    pub recorder: Recorder,
    /// Where the processes listen.
    pub processes: [watch::Receiver<Option<SocketAddr>>; PROCESSES],
    /// Where it makes keys expire.
    pub place: PgPlace,
}

impl Client {
    /// Takes one step.
    ///
    /// # Panics
    /// The future panics if no process comes up again, or the database is gone.
    pub async fn take(&mut self, step: &Step) {
        let Step { operation, process, manner } = *step;
        match manner {
            Manner::Once => drop(self.send(operation, process, None).await),
            Manner::UntilFinal => drop(self.send_until_final(operation, process).await),
            Manner::HangUp(after) => {
                self.send(operation, process, Some(after)).await;
                self.send_until_final(operation, process).await;
            }
            Manner::Twice => {
                let mut other = self.clone();
                tokio::join!(
                    self.send_until_final(operation, process),
                    other.send_until_final(operation, 1 - process)
                );
            }
            Manner::AfterExpiry => {
                database::expire(&self.place, &self.recorder, operation.at).await;
                self.send_until_final(operation, process).await;
            }
        }
    }

    /// Sends a request to one process and the other in turn until the answer is final, and says whether it was the
    /// handler's own.
    ///
    /// # Panics
    /// As [`take`](Self::take).
    pub async fn send_until_final(&mut self, operation: Operation, first: usize) -> bool {
        let end = Instant::now() + PATIENCE;
        for process in (0..PROCESSES).cycle().skip(first) {
            match self.send(operation, process, None).await {
                Some(said) if said.is_final() => return matches!(said, Said::Decided(_)),
                // All that it ever comes to.
                None if operation.at.endpoint == Endpoint::Panic => return false,
                _ if Instant::now() > end => break,
                _ => sleep(PAUSE).await,
            }
        }
        self.recorder.history().given_up.push(operation);
        false
    }

    /// Sends one request and says what the answer said, if there was one. Hangs up after `patience`.
    async fn send(
        &mut self,
        operation: Operation,
        process: usize,
        patience: Option<Duration>,
    ) -> Option<Said> {
        self.recorder.request();
        let began = self.recorder.now();
        let (process, address) = self.find(process).await;
        let exchange = async {
            let pending = try_open(address, &operation.request()).await.ok()?;
            pending.whole().await
        };
        let outcome = match patience {
            None => soon(exchange).await.map_or(Outcome::Silence, answered),
            Some(patience) => match timeout(patience, exchange).await {
                Ok(answer) => answer.map_or(Outcome::Silence, answered),
                Err(_elapsed) => Outcome::HungUp,
            },
        };
        let ended = self.recorder.now();
        let attempt = Attempt { operation, process, began, ended, outcome };
        let said = attempt.said();
        self.recorder.history().attempts.push(attempt);
        said
    }

    /// The process of this number; another if it is down, as a load balancer has it.
    async fn find(&mut self, process: usize) -> (usize, SocketAddr) {
        for process in [process, 1 - process] {
            let address = *self.processes[process].borrow();
            if let Some(address) = address {
                return (process, address);
            }
        }
        let address = soon(self.processes[process].wait_for(Option::is_some)).await;
        let address = *address.expect("the servers outlive their clients");
        (process, address.expect("it was waited for"))
    }
}

/// Whether an answer was to be expected is for the checker to say.
fn answered(answer: Answer) -> Outcome {
    answer.expected();
    Outcome::Answered(answer)
}
