//! Random histories on two processes with faults, and the proof that they would be noticed if they went wrong.
//!
//! A history that fails names its seed and how to play it again. What everybody does is the same then; how requests
//! fall between each other is not, so it may take several times. The seed stays, in [`SEEDS`].
//!
//! `IDEM_TEST_LONG=1` plays ten seeds at full length. `IDEM_TEST_SEED` plays one seed, `IDEM_TEST_REQUESTS` so many
//! requests.

use std::collections::BTreeSet;
use std::env;

use idem_tests::bench::{Bench, run_on_own_database_within};
use idem_tests::faults::is_long;
use idem_tests::history::checker::{Rule, Violation, check, excerpt};
use idem_tests::history::figures::Figures;
use idem_tests::history::record::History;
use idem_tests::history::servers::Program;
use idem_tests::history::{Settings, play};
use sqlx::Postgres;

/// The reference server, as it should be.
const REFERENCE: Program = Program { path: env!("CARGO_BIN_EXE_reference"), environment: &[] };

/// The seeds that are always played: the first, and each that has found a fault.
const SEEDS: &[u64] = &[1];

/// The requests of each of them.
const REQUESTS: usize = 2_000;

/// The seeds that are played at full length.
const LONG_SEEDS: &[u64] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/// The requests of each of them.
const LONG_REQUESTS: usize = 20_000;

/// The requests of a history that is wrong whatever happens.
const FEW_REQUESTS: usize = 400;

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a whole number, not {text:?}")))
}

async fn play_settings(settings: Settings) -> History {
    let mut history = None;
    run_on_own_database_within(2 * settings.limit(), async |bench: &Bench<Postgres>| {
        history = Some(Box::pin(play(bench, &settings)).await);
    })
    .await;
    history.expect("it was played")
}

/// What a person needs to see of a history that went wrong.
fn explain(settings: &Settings, history: &History, violations: &[Violation]) -> String {
    let (seed, requests) = (settings.seed, settings.requests);
    let head = format!(
        "seed {seed} with {requests} requests: {} violations. To play it again:\n\
         IDEM_TEST_SEED={seed} IDEM_TEST_REQUESTS={requests} scripts/test --package idem-tests --test history random",
        violations.len()
    );
    let shown = violations.iter().take(10);
    let keys: BTreeSet<_> = shown.clone().filter_map(|violation| violation.at).collect();
    let shown = shown.map(ToString::to_string);
    let excerpts = keys.into_iter().map(|at| format!("{at}:\n{}", excerpt(history, at)));
    [head].into_iter().chain(shown).chain(excerpts).collect::<Vec<_>>().join("\n\n")
}

/// Plays a history that must not break any promise.
async fn assert_right(seed: u64, requests: usize) {
    let settings = Settings { program: REFERENCE, sabotage: &[], seed, requests };
    let history = play_settings(settings).await;
    let figures = Figures::of(&history);
    println!("seed {seed}: {figures}");

    let violations = check(&history);
    assert!(violations.is_empty(), "{}", explain(&settings, &history, &violations));
    if requests >= REQUESTS {
        assert_eq!(figures.missing(), [""; 0], "seed {seed} was an easy one: {figures}");
    }
}

// Cases, F-01, C-05, S-01, X-03, T-04, T-05, T-06, T-07, T-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_with_faults_break_no_promise() {
    let (seeds, requests) = if is_long() { (LONG_SEEDS, LONG_REQUESTS) } else { (SEEDS, REQUESTS) };
    let seeds = number("IDEM_TEST_SEED").map_or_else(|| seeds.to_vec(), |seed| vec![seed]);
    let requests = number("IDEM_TEST_REQUESTS").map_or(Ok(requests), usize::try_from);
    for seed in seeds {
        assert_right(seed, requests.expect("a small number of requests")).await;
    }
}

/// Plays a history with something that is wrong on purpose, and gives the promises that it broke.
async fn broken_by(program: Program, sabotage: &'static [&'static str], requests: usize) -> BTreeSet<Rule> {
    let history = play_settings(Settings { program, sabotage, seed: 1, requests }).await;
    let violations = check(&history);
    // Shown when the test fails.
    println!("{}", Figures::of(&history));
    for violation in violations.iter().take(10) {
        println!("{violation}");
    }
    violations.into_iter().map(|violation| violation.rule).collect()
}

/// Lets a scope and a key have several rows: the primary key stays, but a row does not keep its id.
const NO_UNIQUE_KEYS: &[&str] = &[
    "CREATE FUNCTION another_id() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN NEW.id := gen_random_uuid(); RETURN NEW; END $$",
    "CREATE TRIGGER another_id BEFORE UPDATE ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION another_id()",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_without_a_unique_constraint_is_found_out() {
    let broken = broken_by(REFERENCE, NO_UNIQUE_KEYS, FEW_REQUESTS).await;

    for rule in [Rule::OneEffect, Rule::OneRecord, Rule::OneFirstAnswer, Rule::SameAnswer] {
        assert!(broken.contains(&rule), "{rule:?} is not among {broken:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_ignores_the_fingerprint_is_found_out() {
    let program =
        Program { path: env!("CARGO_BIN_EXE_flawed"), environment: &[("FLAW", "fingerprint-ignored")] };
    let broken = broken_by(program, &[], FEW_REQUESTS).await;

    for rule in [Rule::OnePayload, Rule::OwnAnswer, Rule::AnswerWithEffect] {
        assert!(broken.contains(&rule), "{rule:?} is not among {broken:?}");
    }
    assert!(!broken.contains(&Rule::OneEffect), "it still runs once: {broken:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_committed_before_its_record_is_found_out() {
    let program =
        Program { path: env!("CARGO_BIN_EXE_flawed"), environment: &[("FLAW", "commit-before-record")] };
    // Only a fault in the short time between the two shows it.
    let broken = broken_by(program, &[], REQUESTS).await;

    // Nobody is given a wrong answer: what is wrong is in the database.
    let expected = BTreeSet::from([Rule::OneEffect, Rule::EffectWithRecord, Rule::SomebodyRan]);
    assert!(broken.contains(&Rule::OneEffect) && broken.is_subset(&expected), "{broken:?}");
}
