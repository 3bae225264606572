//! Random histories: many clients, keys, tenants and payloads, retries and faults, on two processes of the
//! application; and a checker that reads what the clients saw and what the database holds.
//!
//! A [`plan`] says, from a seed, what everybody means to do. The [`client`]s do it and write it down ([`record`]),
//! while [`faults`] break processes and connections. In the end every key is sent once more, with no fault in the
//! way, and must get its final answer. The [`checker`] then proves what is promised, or shows what contradicts it. It
//! never guesses: where the order of two things is not known, it allows what either order allows.
//!
//! The plan of a seed is always the same; how the requests of several clients fall between each other is not.

pub mod checker;
pub mod client;
pub mod database;
pub mod faults;
pub mod figures;
pub mod operation;
pub mod plan;
pub mod record;
pub mod said;
pub mod servers;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sqlx::Postgres;
use tokio::task::JoinSet;

use self::client::Client;
use self::operation::{Endpoint, Operation, ScopedKey};
use self::plan::Plan;
use self::record::{History, Recorder};
use self::servers::{Program, Server};
use crate::bench::Bench;
use crate::database::Place as _;
use crate::patience::within;

/// How many keys get their last answers at the same time.
const SETTLING: usize = 8;

/// How long a history may take for every request in its plan, on a machine that is busy with other tests.
const LIMIT_PER_REQUEST: Duration = Duration::from_millis(50);

/// What is played.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What serves.
    pub program: Program,
    /// What is done to the database once the program has found it in order; nothing to one that is to be right.
    pub sabotage: &'static [&'static str],
    /// What the plan is made from.
    pub seed: u64,
    /// How many requests the plan has at least; retries come on top.
    pub requests: usize,
}

impl Settings {
    /// How long the history may take.
    #[must_use]
    pub fn limit(&self) -> Duration {
        let requests = u32::try_from(self.requests).unwrap_or(u32::MAX);
        Duration::from_mins(1) + LIMIT_PER_REQUEST.saturating_mul(requests)
    }
}

/// Plays a history on an empty database.
///
/// # Panics
/// The future panics if a process does not start, or something hangs.
pub async fn play(bench: &Bench<Postgres>, settings: &Settings) -> History {
    let plan = Plan::new(settings.seed, settings.requests);
    let mut one = Server::start(bench, settings.program, 0).await;
    let mut two = Server::start(bench, settings.program, 1).await;
    for sql in settings.sabotage {
        bench.place.execute(sql).await;
    }

    let recorder = Recorder::begin();
    let processes = [one.address(), two.address()];
    let client = Client { recorder: recorder.clone(), processes, place: bench.place.clone() };
    let [faults_of_one, faults_of_two] = &plan.faults;
    tokio::join!(
        work(&client, plan.clients.clone(), settings.limit()),
        faults::happen(&bench.place, &recorder, &mut one, faults_of_one),
        faults::happen(&bench.place, &recorder, &mut two, faults_of_two),
    );
    settle(&client).await;

    let mut history = std::mem::take(&mut *recorder.history());
    history.effects = database::all_effects(&bench.place).await;
    history.records = database::all_records(bench).await;
    history
}

/// Has every client take its steps.
async fn work(client: &Client, steps: Vec<Vec<plan::Step>>, limit: Duration) {
    let mut clients = JoinSet::new();
    for steps in steps {
        let mut client = client.clone();
        clients.spawn(async move {
            for step in &steps {
                client.take(step).await;
            }
        });
    }
    within(limit, clients.join_all()).await;
    client.recorder.no_more_requests();
}

/// Sends one more request with every key, now that nothing breaks, until the answer is the handler's own.
async fn settle(client: &Client) {
    let mut variants = BTreeMap::<ScopedKey, BTreeSet<u8>>::new();
    for attempt in &client.recorder.history().attempts {
        variants.entry(attempt.operation.at).or_default().insert(attempt.operation.variant);
    }
    // A panic has no answer.
    variants.retain(|at, _| at.endpoint != Endpoint::Panic);

    let keys: Vec<_> = variants.into_iter().collect();
    let mut clients = JoinSet::new();
    for keys in keys.chunks(keys.len().div_ceil(SETTLING).max(1)) {
        let (mut client, keys) = (client.clone(), keys.to_vec());
        clients.spawn(async move {
            for (number, (at, variants)) in keys.into_iter().enumerate() {
                settle_one(&mut client, at, variants, number % plan::PROCESSES).await;
            }
        });
    }
    clients.join_all().await;
}

/// One of the variants that were sent has the key, or can have it.
async fn settle_one(client: &mut Client, at: ScopedKey, variants: BTreeSet<u8>, process: usize) {
    let last = variants.last().copied();
    for variant in variants {
        if client.send_until_final(Operation { at, variant }, process).await {
            return;
        }
    }
    if let Some(variant) = last {
        client.recorder.history().given_up.push(Operation { at, variant });
    }
}
