//! What happens to a payment when something goes wrong, played with real processes.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value as JsonValue;

use super::provider::{DECLINED_CARD, Treatment};
use super::server::Served;
use super::stage::{Seen, Stage};

const CARD: &str = "card_visa";

/// Longer than the load balancer waits, and shorter than the service does.
const SLOW: Duration = Duration::from_secs(3);

/// How long the service waits for the provider: longer where the provider is slow.
const SLOW_CALL_LIMIT: Duration = Duration::from_secs(10);
const CALL_LIMIT: Duration = Duration::from_secs(2);

/// Plays the story and tells it on standard output.
///
/// # Errors
/// If anything comes otherwise than told, or cannot be played: the database is a file in the temporary directory.
///
/// # Cancel safety
/// Dropped, it stops the service and removes its files.
pub async fn tell() -> Served {
    let stage = Stage::set().await?;
    slow_provider(&stage).await?;
    killed_before_commit(&stage).await?;
    declined(&stage).await?;
    killed_before_dispatch(&stage).await?;
    killed_before_mark(&stage).await?;
    killed_after_commit(&stage).await?;

    println!("\nEverything came as told.");
    Ok(())
}

async fn slow_provider(stage: &Stage) -> Served {
    println!("1. The call in the transaction: a slow provider");
    let service = stage.start(None, SLOW_CALL_LIMIT).await?;
    stage.provider.next(Treatment::AnswersAfter(SLOW));

    let first = stage.order("/orders", "k-1", CARD).await?;
    told("POST /orders: the load balancer waits 2 s and no longer", &first);
    check("504", first.status == 504)?;
    let answer = stage.order_until_answered("/orders", "k-1", CARD).await?;
    told(
        "the same again, until it is no longer in progress: the work went on, and here is its answer",
        &answer,
    );
    check("a replay of 201", answer.status == 201 && answer.is_replay)?;
    charges(stage, 1, 1)?;
    stage.receipts(1).await?;
    service.kill().await
}

async fn killed_before_commit(stage: &Stage) -> Served {
    println!("\n2. The call in the transaction: killed between the provider's answer and COMMIT");
    let service = stage.start(Some("answered"), CALL_LIMIT).await?;

    let (first, killed) =
        tokio::join!(stage.order("/orders", "k-2", CARD), stage.kill_where_it_stands(service));
    killed?;
    let first = first?;
    told("POST /orders: the money has moved, the order is rolled back", &first);
    check("502", first.status == 502)?;
    charges(stage, 2, 2)?;

    let service = stage.start(None, CALL_LIMIT).await?;
    let answer = stage.order_until_answered("/orders", "k-2", CARD).await?;
    told("the same again, to the next process: it runs, and calls with the same key", &answer);
    check("201 of its own run", answer.status == 201 && !answer.is_replay)?;
    charges(stage, 3, 2)?;
    stage.receipts(2).await?;
    service.kill().await
}

async fn declined(stage: &Stage) -> Served {
    println!("\n3. The call in the transaction: the card is declined");
    let service = stage.start(None, CALL_LIMIT).await?;

    let first = stage.order("/orders", "k-3", DECLINED_CARD).await?;
    told("POST /orders: a decision, so it is kept, and no order", &first);
    check("402", first.status == 402 && !first.is_replay)?;
    let answer = stage.order("/orders", "k-3", DECLINED_CARD).await?;
    told("the same again: nobody is asked", &answer);
    check("a replay of 402", answer.status == 402 && answer.is_replay)?;
    charges(stage, 4, 2)?;
    service.kill().await
}

async fn killed_before_dispatch(stage: &Stage) -> Served {
    println!("\n4. The outbox: killed between COMMIT and the call");
    let service = stage.start(Some("dispatch"), CALL_LIMIT).await?;

    let answer = stage.order("/orders/queued", "k-4", CARD).await?;
    told("POST /orders/queued: the order is there, its call written down", &answer);
    check("202", answer.status == 202)?;
    stage.kill_where_it_stands(service).await?;
    charges(stage, 4, 2)?;

    let service = stage.start(None, CALL_LIMIT).await?;
    println!("   the next process finds the call in the outbox and makes it");
    paid(&stage.settled(answer.order()?).await?)?;
    charges(stage, 5, 3)?;
    service.kill().await
}

async fn killed_before_mark(stage: &Stage) -> Served {
    println!("\n5. The outbox: killed between the call and its mark");
    let service = stage.start(Some("sent"), CALL_LIMIT).await?;

    let answer = stage.order("/orders/queued", "k-5", CARD).await?;
    told("POST /orders/queued: the answer does not wait for the provider", &answer);
    check("202", answer.status == 202)?;
    stage.kill_where_it_stands(service).await?;
    println!("   the money has moved, and the order does not know");
    charges(stage, 6, 4)?;

    let service = stage.start(None, CALL_LIMIT).await?;
    println!("   the next process makes the call again when its lease is over: at least once, with one key");
    paid(&stage.settled(answer.order()?).await?)?;
    charges(stage, 7, 4)?;
    service.kill().await
}

async fn killed_after_commit(stage: &Stage) -> Served {
    println!("\n6. after_commit: killed between COMMIT and the receipt");
    println!("   receipts so far: {}, for the orders of 1 and 2", stage.mail.sent().len());
    let service = stage.start(Some("committed"), CALL_LIMIT).await?;

    let first = stage.order("/orders", "k-6", CARD).await?;
    told("POST /orders: the receipt does not hold up the answer", &first);
    check("201", first.status == 201)?;
    stage.kill_where_it_stands(service).await?;

    let service = stage.start(None, CALL_LIMIT).await?;
    let answer = stage.order("/orders", "k-6", CARD).await?;
    told("the same again: a replay runs nothing", &answer);
    check("a replay of 201", answer.status == 201 && answer.is_replay)?;
    println!("   receipts: {}. This one is lost, and was allowed to be", stage.mail.sent().len());
    check("no third receipt", stage.mail.sent().len() == 2)?;
    charges(stage, 8, 5)?;
    service.kill().await
}

fn told(what: &str, seen: &Seen) {
    let replay = if seen.is_replay { ", replayed" } else { "" };
    // The load balancer's own answers have no body.
    let body = if seen.body.is_null() { String::new() } else { format!(" {}", seen.body) };
    println!("   {what}\n      {}{replay}{body}", seen.status);
}

/// Says what the provider has seen so far, and that it should be this.
fn charges(stage: &Stage, calls: usize, charges: usize) -> Served {
    let keys = stage.provider.keys();
    let made = stage.provider.charges().len();
    let different = keys.iter().collect::<BTreeSet<_>>().len();
    println!("   the provider so far: calls {}, keys {different}, charges {made}", keys.len());
    check(&format!("{calls} calls and {charges} charges"), (keys.len(), made) == (calls, charges))
}

fn paid(order: &JsonValue) -> Served {
    println!("      {order}");
    check("a paid order", order["state"] == "paid")
}

fn check(what: &str, holds: bool) -> Served {
    if holds { Ok(()) } else { Err(format!("it should have been {what}").into()) }
}
