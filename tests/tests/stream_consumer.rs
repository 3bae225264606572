//! The example `stream-consumer`: messages of a real Redis, consumers that are killed.

use std::process::Stdio;
use std::time::Duration;

use idem_tests::bench::{Bench, run, run_on_own_database};
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::patience::{eventually, soon};
use idem_tests::random::Random;
use idem_tests::stream::{Orders, RedisProxy, StopAt, event_ids, redis_url};
use sqlx::{Postgres, Sqlite};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::sleep;

/// The example's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_stream-consumer");

/// A process that consumes. Dropping it kills it.
struct Consumer {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Consumer {
    /// Starts one, which takes over what was left lying for so long.
    fn start(orders: &Orders, database: &str, redis: &str, idle: Duration) -> Self {
        let mut command = Command::new(PROGRAM);
        command
            .arg("consume")
            .env("DATABASE_URL", database)
            .env("REDIS_URL", redis)
            .env("STREAM", &orders.stream)
            .env("CLAIM_IDLE_MS", idle.as_millis().to_string())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("the example is built and starts");
        let output = BufReader::new(child.stdout.take().expect("its standard output is piped"));
        Self { child, output }
    }

    /// Waits until it says something that ends so, and gives what it said until then.
    async fn says(&mut self, end: &str) -> Vec<String> {
        soon(async {
            let mut said = Vec::new();
            while !said.last().is_some_and(|line: &String| line.ends_with(end)) {
                let mut line = String::new();
                let length = self.output.read_line(&mut line).await.expect("it writes text");
                assert_ne!(length, 0, "it ended, and had said {said:?}");
                said.push(line.trim_end().to_owned());
            }
            said
        })
        .await
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    async fn kill(mut self) {
        soon(self.child.kill()).await.expect("the process is this test's own");
    }

    /// Asks it to end (SIGTERM), and waits until it has done so well.
    async fn stop(mut self) {
        let id = self.child.id().expect("the process still runs").to_string();
        let sent = soon(Command::new("kill").args(["-TERM", &id]).status()).await;
        assert!(sent.expect("`kill` is a command").success());
        let status = soon(self.child.wait()).await.expect("the process is this test's own");
        assert!(status.success(), "{status}");
    }
}

/// Long enough for nobody to take anything over.
const NEVER: Duration = Duration::from_mins(10);

/// So short that whatever is left lying is taken over at once.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Asserts that each of so many orders is shipped once, and gives how often each event was sent.
async fn assert_shipped<DB: TestDatabase>(bench: &Bench<DB>, orders: &Orders, count: usize) -> Vec<usize> {
    let expected = i64::try_from(count).expect("few");
    let shipped = bench.place.integer("SELECT count(DISTINCT order_no) FROM shipments").await;
    assert_eq!((shipped, bench.count("shipments").await), (expected, expected), "shipments");
    assert_eq!(bench.count("outbox").await, 0, "events that wait");
    let events = orders.shipped().await;
    let ids = events.keys().cloned().collect::<Vec<_>>();
    let mut named = (1..=count).map(|number| format!("shipped-order-{number}")).collect::<Vec<_>>();
    named.sort();
    assert_eq!(ids, named, "the events that were sent");
    events.into_values().collect()
}

/// Waits until every entry is acknowledged and every event is sent.
async fn all_done<DB: TestDatabase>(bench: &Bench<DB>, orders: &Orders) {
    orders.acknowledged().await;
    eventually(async || bench.count("outbox").await == 0).await;
}

/// A producer that was not told of its first try adds the order again, and a second consumer reads as well.
// Cases: W-14
// Reports: B37
async fn a_message_is_shipped_once<DB: TestDatabase>(bench: &Bench<DB>, database: &str) {
    let orders = Orders::create().await;
    let mut one = Consumer::start(&orders, database, &redis_url(), NEVER);
    one.says("consuming").await;
    let other = Consumer::start(&orders, database, &redis_url(), NEVER);
    for _ in 0..2 {
        for id in event_ids(20) {
            orders.add(Some(&id), &id.replace("evt", "order")).await;
        }
    }

    all_done(bench, &orders).await;

    let sent = assert_shipped(bench, &orders, 20).await;
    assert!(sent.iter().all(|times| *times == 1), "without a crash nothing is sent twice: {sent:?}");
    one.stop().await;
    other.stop().await;
    orders.remove().await;
}

/// It must not be taken for one whose id is empty, which would be the same message as the next of its kind.
// Cases: W-16
async fn a_message_without_an_id_is_set_aside<DB: TestDatabase>(bench: &Bench<DB>, database: &str) {
    let orders = Orders::create().await;
    for (id, order) in [(None, "order-7"), (Some(""), "order-8"), (Some("evt-1"), "order-1")] {
        orders.add(id, order).await;
    }
    let consumer = Consumer::start(&orders, database, &redis_url(), AT_ONCE);

    all_done_or_aside(bench, &orders).await;

    assert_shipped(bench, &orders, 1).await;
    assert_eq!(orders.aside().await, ["the message has no id", "the message has no id"]);
    consumer.stop().await;
    orders.remove().await;
}

/// Nothing of it is lost, and it holds up nobody.
async fn an_entry_that_is_no_order_is_set_aside_as_it_is<DB: TestDatabase>(
    bench: &Bench<DB>,
    database: &str,
) {
    let orders = Orders::create().await;
    orders.add_other("greeting", "hello").await;
    orders.add(Some("evt-1"), "order-1").await;
    let mut consumer = Consumer::start(&orders, database, &redis_url(), AT_ONCE);
    consumer.says("consuming").await;

    eventually(async || orders.aside().await.len() == 1).await;
    all_done(bench, &orders).await;

    assert_shipped(bench, &orders, 1).await;
    assert_eq!(orders.aside().await, ["it is no order"]);
    assert_eq!(orders.aside_with("greeting").await, ["hello"]);
    consumer.stop().await;
    orders.remove().await;
}

/// An entry that fails each time is tried again, and then holds up nobody.
async fn an_order_that_fails_too_often_is_set_aside<DB: TestDatabase>(bench: &Bench<DB>, database: &str) {
    let orders = Orders::create().await;
    let mut consumer = Consumer::start(&orders, database, &redis_url(), AT_ONCE);
    consumer.says("consuming").await;
    bench.place.execute("CREATE UNIQUE INDEX once ON shipments (order_no)").await;
    bench.place.execute("INSERT INTO shipments (order_no, item) VALUES ('order-1', 'tea')").await;

    orders.add(Some("evt-1"), "order-1").await;
    let tries = consumer.says("set aside: it failed too often").await;
    all_done(bench, &orders).await;

    assert_eq!(tries.iter().filter(|line| line.contains(": failed: ")).count(), 21, "{tries:?}");
    assert_eq!(orders.aside_with("event_id").await, ["evt-1"]);
    assert_eq!(orders.aside_with("order").await, ["order-1"]);
    assert_eq!((bench.count("shipments").await, bench.key_rows().await.len()), (1, 0));
    consumer.stop().await;
    orders.remove().await;
}

/// Like [`all_done`], for a consumer that has not made the tables yet.
async fn all_done_or_aside<DB: TestDatabase>(bench: &Bench<DB>, orders: &Orders) {
    eventually(async || orders.aside().await.len() == 2).await;
    all_done(bench, orders).await;
}

/// As after a restart of Redis without its data: the producer adds what it was not told of, and goes on.
async fn a_group_that_redis_has_lost_is_made_again<DB: TestDatabase>(bench: &Bench<DB>, database: &str) {
    let orders = Orders::create().await;
    let consumer = Consumer::start(&orders, database, &redis_url(), AT_ONCE);
    orders.add(Some("evt-1"), "order-1").await;
    all_done(bench, &orders).await;

    orders.lose().await;
    orders.add(Some("evt-1"), "order-1").await;
    orders.add(Some("evt-2"), "order-2").await;

    all_done(bench, &orders).await;
    assert_shipped(bench, &orders, 2).await;
    consumer.stop().await;
    orders.remove().await;
}

/// However often it is tried meanwhile: nothing is wrong with it.
async fn a_message_outlives_an_outage_of_the_database<DB: TestDatabase>(bench: &Bench<DB>, database: &str) {
    let orders = Orders::create().await;
    let mut consumer = Consumer::start(&orders, database, &redis_url(), AT_ONCE);
    consumer.says("consuming").await;
    bench.place.execute("ALTER TABLE idempotency_keys RENAME TO away").await;
    orders.add(Some("evt-1"), "order-1").await;
    eventually(async || orders.most_deliveries().await > 25 || !orders.aside().await.is_empty()).await;

    bench.place.execute("ALTER TABLE away RENAME TO idempotency_keys").await;

    all_done(bench, &orders).await;
    assert_eq!(orders.aside().await, [""; 0], "set aside");
    assert_shipped(bench, &orders, 1).await;
    consumer.stop().await;
    orders.remove().await;
}

/// The consumer dies after COMMIT, before Redis is told.
// Cases: W-15
async fn killed_before_it_acknowledges<DB: TestDatabase>(bench: &Bench<DB>, database: &str) {
    for stop_at in [StopAt::Command, StopAt::Reply] {
        let orders = Orders::create().await;
        let mut proxy = RedisProxy::start("XACK", stop_at).await;
        let victim = Consumer::start(&orders, database, &proxy.url, NEVER);
        orders.add(Some("evt-1"), "order-1").await;
        proxy.stopped().await;
        victim.kill().await;
        assert_eq!(bench.count("shipments").await, 1, "it was committed");
        assert_eq!(orders.pending().await, usize::from(stop_at == StopAt::Command));

        let mut next = Consumer::start(&orders, database, &redis_url(), AT_ONCE);
        if stop_at == StopAt::Command {
            next.says("was shipped before").await;
        }
        all_done(bench, &orders).await;

        assert_shipped(bench, &orders, 1).await;
        next.stop().await;
        orders.remove().await;
        for table in ["shipments", &bench.place.key_table()] {
            bench.place.execute(&format!("DELETE FROM {table}")).await;
        }
    }
}

/// The dispatcher dies after Redis has the event, before the outbox forgets it.
// Reports: B37
async fn killed_while_it_dispatches<DB: TestDatabase>(bench: &Bench<DB>, database: &str) {
    let orders = Orders::create().await;
    // Of what a consumer sends, only events for the next stream are called so.
    let mut proxy = RedisProxy::start("shipped-order-1", StopAt::Reply).await;
    let victim = Consumer::start(&orders, database, &proxy.url, NEVER);
    orders.add(Some("evt-1"), "order-1").await;
    proxy.stopped().await;
    victim.kill().await;

    let next = Consumer::start(&orders, database, &redis_url(), AT_ONCE);
    all_done(bench, &orders).await;

    assert_eq!(assert_shipped(bench, &orders, 1).await, [2], "sent again, by the same name");
    next.stop().await;
    orders.remove().await;
}

/// Two consumers at work, of which one or the other is killed at a random moment, fifty times.
// Cases: W-15
async fn killed_fifty_times<DB: TestDatabase>(bench: &Bench<DB>, database: &str) {
    const KILLS: usize = 50;
    const ORDERS_A_KILL: usize = 4;
    let mut random = Random::new(5);
    let orders = Orders::create().await;
    let start = || Consumer::start(&orders, database, &redis_url(), Duration::from_millis(50));
    let mut first = start();
    first.says("consuming").await;
    let mut consumers = [first, start()];

    for kill in 0..KILLS {
        for number in 1..=ORDERS_A_KILL {
            let number = kill * ORDERS_A_KILL + number;
            // Every third is added twice.
            for _ in 0..=usize::from(number.is_multiple_of(3)) {
                orders.add(Some(&format!("evt-{number}")), &format!("order-{number}")).await;
            }
        }
        // The moment is the fault's, and nothing waits for it.
        sleep(Duration::from_micros(u64::try_from(random.below(60_000)).expect("few"))).await;
        let victim = std::mem::replace(&mut consumers[random.below(2)], start());
        victim.kill().await;
    }
    all_done(bench, &orders).await;

    let sent = assert_shipped(bench, &orders, KILLS * ORDERS_A_KILL).await;
    let inbox = bench.key_rows().await;
    assert_eq!(inbox.len(), KILLS * ORDERS_A_KILL, "one row for each message");
    // For those who read the output.
    println!("{KILLS} kills, {} events sent again", sent.iter().filter(|times| **times > 1).count());
    for consumer in consumers {
        consumer.stop().await;
    }
    orders.remove().await;
}

/// Makes two tests of each function, with a URL of the database that it may hand on.
macro_rules! on_both_databases {
    ($($(#[$tag:meta])* $promise:ident)*) => {
        mod on_postgres {
            use super::*;
            $(#[tokio::test]
            async fn $promise() {
                run_on_own_database(async |bench: &Bench<Postgres>| {
                    Box::pin(super::$promise(bench, &bench.place.url(None))).await;
                })
                .await;
            })*
        }
        mod on_sqlite {
            use super::*;
            $(#[tokio::test]
            async fn $promise() {
                run(async |bench: &Bench<Sqlite>| {
                    Box::pin(super::$promise(bench, &bench.place.url())).await;
                })
                .await;
            })*
        }
    };
}

on_both_databases! {
    a_message_is_shipped_once
    a_message_without_an_id_is_set_aside
    a_group_that_redis_has_lost_is_made_again
    a_message_outlives_an_outage_of_the_database
    an_entry_that_is_no_order_is_set_aside_as_it_is
    an_order_that_fails_too_often_is_set_aside
    killed_before_it_acknowledges
    killed_while_it_dispatches
    killed_fifty_times
}
