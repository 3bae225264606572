//! The service as a process of its own, to be killed: this very program, started again as `payments serve`.

use std::env;
use std::net::SocketAddr;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::server::Served;

/// A running service. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Service {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Service {
    /// Starts one, with these environment variables, and waits until it listens.
    pub(super) async fn start(variables: &[(&str, String)]) -> Served<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("serve").envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
        command.env("PORT", "0").stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;

        let stdout = child.stdout.take().ok_or("its standard output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let address = line.trim_end().strip_prefix("listening on http://");
        let address = address.ok_or_else(|| format!("the service says {line:?} instead of its address"))?;
        Ok(Self { child, address: address.parse()? })
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub(super) async fn kill(mut self) -> Served {
        Ok(self.child.kill().await?)
    }
}
