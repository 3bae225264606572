//! What the story is played on: the provider, the mail service and the load balancer, a database in a temporary
//! directory, and a client.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, process};

use axum::Router;
use reqwest::Response;
use serde_json::{Value as JsonValue, json};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::balancer::Balancer;
use super::child::Service;
use super::mail::Mail;
use super::provider::Provider;
use super::server::Served;

/// How long the load balancer waits for an answer.
pub(super) const BALANCER_LIMIT: Duration = Duration::from_secs(2);

/// How long anything in the story may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer as the client sees it.
pub(super) struct Seen {
    pub(super) status: u16,
    pub(super) is_replay: bool,
    pub(super) body: JsonValue,
}

impl Seen {
    pub(super) fn order(&self) -> Served<i64> {
        self.body["id"].as_i64().ok_or_else(|| format!("no order in {}", self.body).into())
    }
}

pub(super) struct Stage {
    pub(super) provider: Provider,
    pub(super) mail: Mail,
    balancer: Balancer,
    /// Where the client sends its requests: to the load balancer.
    entrance: SocketAddr,
    outside: SocketAddr,
    client: reqwest::Client,
    directory: PathBuf,
}

impl Stage {
    pub(super) async fn set() -> Served<Self> {
        let (provider, mail) = (Provider::default(), Mail::default());
        let balancer = Balancer::new(BALANCER_LIMIT)?;
        let outside = listen(provider.routes().merge(mail.routes())).await?;
        let entrance = listen(balancer.routes()).await?;
        let client = reqwest::Client::builder().no_proxy().build()?;

        let directory = env::temp_dir().join(format!("payments-{}", process::id()));
        fs::create_dir(&directory)?;
        Ok(Self { provider, mail, balancer, entrance, outside, client, directory })
    }

    /// Starts the service, to stand still at a moment if one is named, behind the load balancer.
    pub(super) async fn start(&self, pause_at: Option<&str>, call_limit: Duration) -> Served<Service> {
        let outside = format!("http://{}", self.outside);
        let mut variables = vec![
            ("DATABASE_URL", format!("sqlite://{}", self.directory.join("payments.db").display())),
            ("PROVIDER_URL", outside.clone()),
            ("MAIL_URL", outside),
            ("CALL_LIMIT_MS", call_limit.as_millis().to_string()),
        ];
        variables.extend(pause_at.map(|moment| ("PAUSE_AT", moment.to_owned())));
        let service = Service::start(&variables).await?;
        self.balancer.point_to(service.address);
        Ok(service)
    }

    /// Kills the service where it stands still.
    pub(super) async fn kill_where_it_stands(&self, service: Service) -> Served {
        let url = format!("http://{}/pause", service.address);
        timeout(PATIENCE, self.client.get(url).send()).await??.error_for_status()?;
        service.kill().await
    }

    /// Sends an order by way of the load balancer.
    pub(super) async fn order(&self, path: &str, key: &str, card: &str) -> Served<Seen> {
        let url = format!("http://{}{path}", self.entrance);
        let order = json!({ "item": "tea", "cents": 500, "card": card });
        let request = self.client.post(url).header("x-tenant", "t1").header("idempotency-key", key);
        seen(timeout(PATIENCE, request.json(&order).send()).await??).await
    }

    /// Sends an order until it is known what became of it, as a client does: the same key each time, and a pause between.
    pub(super) async fn order_until_answered(&self, path: &str, key: &str, card: &str) -> Served<Seen> {
        let answered = async {
            loop {
                let seen = self.order(path, key, card).await?;
                if seen.status != 409 && seen.status < 500 {
                    return Ok(seen);
                }
                sleep(Duration::from_millis(250)).await;
            }
        };
        timeout(PATIENCE, answered).await?
    }

    /// Waits until so many receipts have been sent.
    pub(super) async fn receipts(&self, count: usize) -> Served {
        Ok(timeout(PATIENCE, self.mail.received(count)).await?)
    }

    /// Reads an order until it is no longer `charging`.
    pub(super) async fn settled(&self, order: i64) -> Served<JsonValue> {
        let url = format!("http://{}/orders/{order}", self.entrance);
        let settled = async {
            loop {
                let seen = seen(self.client.get(&url).header("x-tenant", "t1").send().await?).await?;
                if seen.status == 200 && seen.body["state"] != "charging" {
                    return Ok(seen.body);
                }
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(PATIENCE, settled).await?
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

async fn seen(answer: Response) -> Served<Seen> {
    let status = answer.status().as_u16();
    let is_replay = answer.headers().contains_key("idempotent-replayed");
    let bytes = answer.bytes().await?;
    Ok(Seen { status, is_replay, body: serde_json::from_slice(&bytes).unwrap_or_default() })
}

/// Serves a router on a free port for as long as the program runs.
async fn listen(router: Router) -> Served<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            eprintln!("{address}: {error}");
        }
    });
    Ok(address)
}
