//! The reference application with a flaw, which the history test must find. Nothing else uses it.
//!
//! `FLAW` says which: `fingerprint-ignored`, an engine that does not compare requests; or `commit-before-record`,
//! a handler whose write is committed before the answer is recorded. `DATABASE_URL` and `PORT` as in the example
//! `reference`.

use std::env;
use std::error::Error;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{
    App, AppError, NewOrder, Probe, TenantId, create_tables, insert_order, routes,
};
use idem_runtime::{Idempotency, idempotent};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{PgConnection, Postgres};
use tokio::net::TcpListener;

/// `POST /orders`, but the order is written through the pool, so it is committed while the key's row is not.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn create_order_first(
    _tx: &mut PgConnection,
    tenant: TenantId,
    #[context] State(app): State<App<Postgres>>,
    Json(order): Json<NewOrder>,
) -> Result<Response, AppError> {
    let mut connection = app.writer.acquire().await?;
    let order = insert_order::<Postgres>(&mut connection, &tenant, &order).await?;
    let location = [(header::LOCATION, format!("/orders/{}", order.id))];
    Ok((StatusCode::CREATED, location, Json(order)).into_response())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let flaw = env::var("FLAW")?;
    // The handler that is wrong takes two connections.
    let pool: PgPool = PgPoolOptions::new().max_connections(20).connect(&env::var("DATABASE_URL")?).await?;
    let builder = Idempotency::builder(pool.clone()).fingerprint(flaw != "fingerprint-ignored");
    let app =
        App { idempotency: builder.build()?, writer: pool.clone(), reader: pool, probe: Probe::default() };
    app.idempotency.migrate().await?;
    create_tables(&app.writer).await?;

    let right = routes::<Postgres, App<Postgres>>().with_state(app.clone());
    let router = match flaw.as_str() {
        "fingerprint-ignored" => right,
        "commit-before-record" => {
            Router::new().route("/orders", post(create_order_first)).with_state(app).fallback_service(right)
        }
        other => return Err(format!("no flaw is called `{other}`").into()),
    };
    let listener = TcpListener::bind(("127.0.0.1", env::var("PORT")?.parse()?)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
