//! A sender that may be killed at any time and started again: `sender OPERATIONS OUTCOMES`.
//!
//! Each line of the first file is an operation. One that has its line in the second file, with its key, is done;
//! all others are sent, some at a time, and get theirs. The name of each is written to the standard output as it is done.

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idem_client::{IdempotentClient, Operation, RetryBudget};
use serde_json::{Value as JsonValue, json};
use tokio::task::JoinSet;

/// How many operations are under way at a time.
const AT_A_TIME: usize = 32;

type Failure = Box<dyn Error + Send + Sync>;

/// The keys of what is done. Half a line at the end is what a killed sender leaves: it is cut off, and what it was to
/// say is asked for again.
fn done(path: &str) -> Result<BTreeSet<String>, Failure> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        text => text?,
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    OpenOptions::new().write(true).open(path)?.set_len(u64::try_from(whole)?)?;
    let key = |line| -> Result<String, Failure> {
        let outcome: JsonValue = serde_json::from_str(line)?;
        Ok(outcome["key"].as_str().ok_or("an outcome without a key")?.to_owned())
    };
    text[..whole].lines().map(key).collect()
}

/// Sends operations until there are no more.
async fn work(
    client: IdempotentClient,
    operations: Arc<Mutex<Vec<Operation>>>,
    outcomes: Arc<Mutex<File>>,
) -> Result<(), Failure> {
    loop {
        let next = operations.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(operation) = next else { return Ok(()) };
        let outcome = client.send(&operation).await?;
        let line = json!({
            "key": operation.key().as_str(),
            "status": outcome.status().as_u16(),
            "replayed": outcome.is_replay(),
            "body": outcome.answer().json::<JsonValue>()?,
        });
        let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.write_all(format!("{line}\n").as_bytes())?;
        println!("{}", operation.key().as_str());
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = env::args().collect::<Vec<_>>();
    let [_, operations, outcomes] = arguments.as_slice() else { return Err("two files, please".into()) };

    let done = done(outcomes)?;
    let text = fs::read_to_string(operations)?;
    let all = text.lines().map(serde_json::from_str::<Operation>).collect::<Result<Vec<_>, _>>()?;
    let open = all.into_iter().filter(|operation| !done.contains(operation.key().as_str())).collect();

    // A proxy for the world outside has nothing to do with this machine.
    let http = reqwest::Client::builder().no_proxy().build()?;
    let client = IdempotentClient::builder(http)
        .backoff(Duration::from_millis(5), Duration::from_millis(50))
        .max_retry_after(Duration::from_millis(20))
        .retry_budget(RetryBudget::unlimited())
        .build();
    let open = Arc::new(Mutex::new(open));
    let outcomes = Arc::new(Mutex::new(OpenOptions::new().append(true).create(true).open(outcomes)?));
    let workers = (0..AT_A_TIME).map(|_| work(client.clone(), Arc::clone(&open), Arc::clone(&outcomes)));
    let mut workers = workers.collect::<JoinSet<_>>();
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}
