//! The reference application, or another server of the examples, as a process of its own, to be killed.

use std::net::SocketAddr;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::http::{Answer, Request, open};
use crate::patience::soon;

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Process {
    /// Starts `program`, the path of the reference server, on the database at `url`, and waits until it
    /// listens.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start(program: &str, url: &str) -> Self {
        Self::spawn(Command::new(program), url).await
    }

    /// Starts a server by a command that becomes it, on the database at `url`, and waits until it says on its first
    /// line that it listens.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn spawn(mut command: Command, url: &str) -> Self {
        command.env("DATABASE_URL", url).env("PORT", "0").stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the server is built and starts");

        let stdout = child.stdout.take().expect("its standard output is piped");
        let mut line = String::new();
        soon(BufReader::new(stdout).read_line(&mut line)).await.expect("it writes text");
        let address = line.trim_end().strip_prefix("listening on http://").and_then(|text| text.parse().ok());
        let address = address.unwrap_or_else(|| panic!("an address, not {line:?}"));
        Self { child, address }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Panics
    /// The future panics if there is none.
    pub async fn send(&self, request: &Request) -> Answer {
        open(self.address, request).await.answer().await
    }

    /// Sends a request again and again until it is no longer in progress.
    ///
    /// # Panics
    /// The future panics if it stays so.
    pub async fn retry(&self, request: &Request) -> Answer {
        soon(async {
            loop {
                let answer = self.send(request).await;
                if answer.status != 409 || answer.json()["code"] != "idempotency_in_progress" {
                    return answer;
                }
            }
        })
        .await
    }

    /// How many handlers have begun to run in it.
    ///
    /// # Panics
    /// The future panics if it does not answer.
    pub async fn runs(&self) -> i64 {
        let answer = self.send(&Request::new("GET", "/runs")).await;
        answer.json()["runs"].as_i64().expect("a number of runs")
    }

    /// Its process id.
    ///
    /// # Panics
    /// If it has ended.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id().expect("the process still runs")
    }

    /// Asks it to end (SIGTERM), as a deployment does.
    ///
    /// # Panics
    /// If the signal cannot be sent.
    pub async fn terminate(&self) {
        self.signal("-TERM").await;
    }

    /// Has it stand still (SIGSTOP), as a paused container does: its connections stay open.
    ///
    /// # Panics
    /// If the signal cannot be sent.
    pub async fn freeze(&self) {
        self.signal("-STOP").await;
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Panics
    /// If the signal cannot be sent.
    pub async fn thaw(&self) {
        self.signal("-CONT").await;
    }

    async fn signal(&self, signal: &str) {
        let pid = self.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(soon(sent).await.expect("`kill` is a command").success());
    }

    /// Waits until it ends by itself.
    ///
    /// # Panics
    /// The future panics if it does not end, or not well.
    pub async fn ended(mut self) {
        let status = soon(self.child.wait()).await.expect("the process is this test's own");
        assert!(status.success(), "{status}");
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    ///
    /// # Panics
    /// If it cannot be killed.
    pub async fn kill(mut self) {
        soon(self.child.kill()).await.expect("the process is this test's own");
    }
}
