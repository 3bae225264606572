//! Payments that are told of by webhooks, each of which counts once: `cargo run --example webhooks`.
//!
//! It prints commands to try, signed as Stripe and as a sender by Standard Webhooks would sign them. They can be used
//! for five minutes, then the signatures are too old. The handlers and the verification are in `examples/src/webhooks`.
//!
//! `STRIPE_WEBHOOK_SECRET` and `STANDARD_WEBHOOK_SECRET` are the secrets; the defaults are known to everybody who reads
//! this. The database is a file in a temporary directory, which is removed when the program is stopped with Ctrl-C.

use std::env;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use idem_examples::webhooks::{App, Secrets, TABLES, router, unix_time};
use idem_runtime::{Idempotency, SqlitePools};
use sqlx::sqlite::SqliteConnectOptions;
use tokio::net::TcpListener;

/// As Stripe's look: the whole text is the secret.
const STRIPE_SECRET: &str = "whsec_example_of_a_secret_for_stripe";

/// What is after the prefix is base64.
const STANDARD_SECRET: &str = "whsec_ZXhhbXBsZSBvZiBhIHNlY3JldCBmb3IgYSBiYW5r";

const INVOICES: &str = "INSERT INTO invoices (id, cents) VALUES (7, 1000), (8, 2500)";

/// How long a shutdown waits for the handlers that still run.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = env::var("PORT").map_or(Ok(3000), |port| port.parse::<u16>())?;
    let secret = |name, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let stripe = secret("STRIPE_WEBHOOK_SECRET", STRIPE_SECRET);
    let standard = secret("STANDARD_WEBHOOK_SECRET", STANDARD_SECRET);
    let secrets = Secrets::new(&stripe, &standard).ok_or("a secret is empty, or not base64")?;

    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;

    let directory = env::temp_dir().join(format!("webhooks-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let database =
        SqliteConnectOptions::new().filename(directory.join("webhooks.db")).create_if_missing(true);
    let pools = SqlitePools::connect_with(database).await?;
    sqlx::raw_sql(TABLES).execute(pools.writer()).await?;
    sqlx::query(INVOICES).execute(pools.writer()).await?;

    let idempotency = Idempotency::builder(pools.clone()).build()?;
    idempotency.migrate().await?;
    let app = App { idempotency: idempotency.clone(), reader: pools.reader().clone(), secrets };

    print_commands(address, &app.secrets);

    let draining = idempotency.clone();
    let stop = async move {
        drop(tokio::signal::ctrl_c().await);
        // While the server stops: it waits for its clients without a limit, and for no handler whose client has left.
        tokio::spawn(async move { draining.drain(DRAIN_LIMIT).await });
    };
    axum::serve(listener, router(app)).with_graceful_shutdown(stop).await?;

    idempotency.drain(DRAIN_LIMIT).await;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

fn print_commands(address: SocketAddr, secrets: &Secrets) {
    let now = unix_time();
    let curl = |route: &str, headers: &str, body: &str| {
        format!("curl -i http://{address}/webhooks/{route} {headers} -d '{body}'")
    };
    let stripe = |time: u64| {
        let body = r#"{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":{"amount":1000,"metadata":{"invoice":"7"}}}}"#;
        curl("stripe", &format!("-H 'Stripe-Signature: {}'", secrets.sign_as_stripe(body, time)), body)
    };
    let bank = |time: u64| {
        let (id, body) = ("msg_1", r#"{"type":"payment.received","data":{"invoice":8,"cents":2500}}"#);
        let signature = secrets.sign_as_standard(id, body, time);
        let headers = format!(
            "-H 'webhook-id: {id}' -H 'webhook-timestamp: {time}' -H 'webhook-signature: {signature}'"
        );
        curl("bank", &headers, body)
    };
    println!(
        "Listening on http://{address}. Try, in another terminal, within five minutes:

# Stripe says that invoice 7 is paid
{}
# and says it again, signed anew: the same answer, and no second payment
{}
# a bank says that invoice 8 is paid, by Standard Webhooks
{}
# and says it again
{}
# what is paid
curl http://{address}/invoices",
        stripe(now),
        stripe(now + 1),
        bank(now),
        bank(now + 1)
    );
}
