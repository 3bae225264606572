//! What stands before the service in production: a load balancer that waits so long and no longer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;

/// A load balancer before one process at a time.
///
/// It answers 504 when the time is up and drops its connection to the process, and 502 when there is no process or its
/// connection ends without an answer. A client learns from either that it knows nothing.
#[derive(Clone, Debug)]
pub struct Balancer {
    http: reqwest::Client,
    upstream: Arc<watch::Sender<Option<SocketAddr>>>,
}

impl Balancer {
    /// One that waits for an answer no longer than `limit`.
    ///
    /// # Errors
    /// If the HTTP client cannot be made.
    pub fn new(limit: Duration) -> reqwest::Result<Self> {
        // A connection for each request: one to a process that has gone is not taken for one to the next.
        let http = reqwest::Client::builder().no_proxy().timeout(limit).pool_max_idle_per_host(0).build()?;
        Ok(Self { http, upstream: Arc::default() })
    }

    /// Sends the requests from now on to the process at `address`.
    pub fn point_to(&self, address: SocketAddr) {
        self.upstream.send_replace(Some(address));
    }

    /// Every route there is.
    pub fn routes(&self) -> Router {
        Router::new().fallback(forward).with_state(self.clone())
    }

    async fn exchange(
        &self,
        method: Method,
        uri: &Uri,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> reqwest::Result<Option<Response>> {
        let Some(upstream) = *self.upstream.borrow() else { return Ok(None) };
        // Each side has connections of its own, and its own way to say how long a body is.
        headers.remove(header::CONNECTION);
        headers.remove(header::CONTENT_LENGTH);
        let url = format!("http://{upstream}{uri}");
        let answer = self.http.request(method, url).headers(headers).body(body).send().await?;

        let (status, mut headers) = (answer.status(), answer.headers().clone());
        headers.remove(header::CONNECTION);
        headers.remove(header::TRANSFER_ENCODING);
        Ok(Some((status, headers, Body::from(answer.bytes().await?)).into_response()))
    }
}

async fn forward(
    State(balancer): State<Balancer>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match balancer.exchange(method, &uri, headers, body).await {
        Ok(Some(answer)) => answer,
        Err(error) if error.is_timeout() => StatusCode::GATEWAY_TIMEOUT.into_response(),
        Ok(None) | Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
