//! Clients that others have written, each in a program of its own: `tests/clients`.
//!
//! A program reads operations, carries them out at once, with the retries that its library makes by itself,
//! and says what became of each.

use std::collections::BTreeMap;
use std::env;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value as JsonValue;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::patience::within;

/// How long a program may take: it starts an interpreter, and its library waits before each retry.
const LIMIT: Duration = Duration::from_mins(1);

/// A client's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// The official `stripe` package for Python: it charges cards (`stripe/charge.py`).
    Stripe,
    /// `axios` with `axios-retry`, for Node.js: it sends orders (`axios/order.cjs`).
    Axios,
}

impl Client {
    /// Carries `operations` out against the server at `address`. Gives the outcome of each, by its name: the
    /// member `operation`.
    ///
    /// # Panics
    /// The future panics if the program cannot be started, fails, or does not speak of each operation once.
    pub async fn run(self, address: SocketAddr, operations: &[JsonValue]) -> BTreeMap<String, JsonValue> {
        let mut command = self.command();
        command.arg(format!("http://{address}"));
        // A proxy for the world outside has nothing to do with this machine.
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} starts: {error}"));

        let lines = operations.iter().map(JsonValue::to_string).collect::<Vec<_>>().join("\n");
        let mut stdin = child.stdin.take().expect("its standard input is piped");
        let output = within(LIMIT, async {
            // A program that ends before it has read everything says why by itself.
            let _ = stdin.write_all(lines.as_bytes()).await;
            drop(stdin);
            child.wait_with_output().await
        });
        let output = output.await.expect("its output can be read");
        assert!(output.status.success(), "{command:?}: {}", output.status);

        let text = String::from_utf8(output.stdout).expect("it writes text");
        let outcomes = text.lines().map(|line| {
            let outcome: JsonValue = serde_json::from_str(line).expect("a JSON object a line");
            (name(&outcome), outcome)
        });
        let outcomes = outcomes.collect::<BTreeMap<_, _>>();
        assert_eq!(text.lines().count(), operations.len(), "a line for each operation: {text}");
        assert!(operations.iter().all(|operation| outcomes.contains_key(&name(operation))), "{text}");
        outcomes
    }

    fn command(self) -> Command {
        let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");
        match self {
            Self::Stripe => {
                let mut command = Command::new(installed("IDEM_TEST_PYTHON"));
                command.arg(format!("{programs}/stripe/charge.py"));
                command
            }
            Self::Axios => {
                let mut command = Command::new("node");
                command.arg(format!("{programs}/axios/order.cjs"));
                command.env("NODE_PATH", installed("IDEM_TEST_NODE_MODULES"));
                command
            }
        }
    }
}

/// The value of a variable that `scripts/with-clients` sets.
fn installed(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| {
        panic!(
            "this test needs {variable}: run `scripts/test`, or \
             `scripts/with-postgres scripts/with-clients cargo test -p idem-tests --test clients`"
        )
    })
}

fn name(operation: &JsonValue) -> String {
    operation["operation"].as_str().unwrap_or_else(|| panic!("a name in {operation}")).to_owned()
}
