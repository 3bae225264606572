use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(serde::Deserialize, serde::Serialize)]
struct Event {
    id: String,
    at: f64,
    tags: Vec<String>,
}

#[idempotent(scope = "endpoint", key = "event")]
async fn create(_tx: &mut PgConnection, Json(event): Json<Event>) -> String {
    event.id
}

fn main() {}
