//! The processes of the application, where clients find them, and what stands between them and PostgreSQL.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use sqlx::{ConnectOptions as _, Postgres};
use tokio::process::Command;
use tokio::sync::watch;

use crate::bench::Bench;
use crate::process::Process;
use crate::proxy::PgProxy;

/// A program that serves the reference application, right or wrong.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The path of its binary.
    pub path: &'static str,
    /// Variables of its environment.
    pub environment: &'static [(&'static str, &'static str)],
}

/// One process after the other, each in the place of the last, behind a proxy of their own.
#[derive(Debug)]
pub struct Server {
    /// Counts the places from 0.
    pub number: usize,
    program: Program,
    url: String,
    /// The name of its sessions in the database server.
    pub sessions: String,
    /// What its connections lead through.
    pub proxy: Arc<PgProxy>,
    process: Option<Process>,
    address: watch::Sender<Option<SocketAddr>>,
}

impl Server {
    /// Starts the process of this number.
    ///
    /// # Panics
    /// The future panics if it does not start.
    pub async fn start(bench: &Bench<Postgres>, program: Program, number: usize) -> Self {
        let proxy = bench.proxy().await;
        let sessions = format!("process-{number}");
        let options = bench.place.options().application_name(&sessions);
        let via = proxy.address();
        let options = options.host(&via.ip().to_string()).port(via.port());
        let url = options.to_url_lossy().to_string();
        let address = watch::Sender::new(None);
        let mut server = Self { number, program, url, sessions, proxy, process: None, address };
        server.restart().await;
        server
    }

    /// Where the process listens; `None` while there is none.
    #[must_use]
    pub fn address(&self) -> watch::Receiver<Option<SocketAddr>> {
        self.address.subscribe()
    }

    /// Kills the process.
    ///
    /// # Panics
    /// The future panics if it cannot be killed.
    pub async fn kill(&mut self) {
        self.address.send_replace(None);
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// Starts a process in place of the one that was killed.
    ///
    /// # Panics
    /// The future panics if it does not start.
    pub async fn restart(&mut self) {
        let mut command = Command::new(self.program.path);
        // It would be full of the panics that the history asks for.
        command.envs(self.program.environment.iter().copied()).stderr(Stdio::null());
        let process = Process::spawn(command, &self.url).await;
        self.address.send_replace(Some(process.address));
        self.process = Some(process);
    }
}
