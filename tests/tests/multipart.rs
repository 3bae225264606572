//! Multipart bodies, whose boundary is another one with each retry.

use axum::Router;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use idem_examples::reference::{App, AppError, NewOrder, TenantId, insert_order};
use idem_runtime::{Fingerprint, Fingerprinter, Inert, idempotent};
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::{self, r1};
use idem_tests::on_both_databases;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Transaction;

/// The parts of a form, read to their ends: what an application compares instead of the bytes between its boundaries.
#[derive(Inert)]
struct Parts(Vec<Part>);

#[derive(Inert)]
struct Part {
    name: String,
    file_name: Option<String>,
    content: Vec<u8>,
}

impl<S: Send + Sync> FromRequest<S> for Parts {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let mut form = Multipart::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        let mut parts = Vec::new();
        while let Some(field) = form.next_field().await.map_err(IntoResponse::into_response)? {
            let name = field.name().unwrap_or_default().to_owned();
            let file_name = field.file_name().map(str::to_owned);
            let content = field.bytes().await.map_err(IntoResponse::into_response)?.to_vec();
            parts.push(Part { name, file_name, content });
        }
        Ok(Self(parts))
    }
}

impl Fingerprint for Parts {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        let parts = self.0.iter().map(|part| (&part.name, &part.file_name, &part.content));
        into.json("multipart", &parts.collect::<Vec<_>>());
    }
}

fn order(item: String) -> NewOrder {
    NewOrder { item, qty: 1, order_no: None }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn by_parts<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Parts(parts): Parts,
) -> Result<(StatusCode, String), AppError> {
    let names = parts.into_iter().map(|part| part.name).collect::<Vec<_>>().join(" ");
    insert_order::<DB>(&mut *tx, &tenant, &order(names.clone())).await?;
    Ok((StatusCode::CREATED, names))
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn by_bytes<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    form: Bytes,
) -> Result<StatusCode, AppError> {
    insert_order::<DB>(&mut *tx, &tenant, &order(form.len().to_string())).await?;
    Ok(StatusCode::CREATED)
}

/// An upload with this boundary and this file.
fn upload(path: &str, boundary: &str, file: &str) -> http::Request {
    let body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\ntea\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"tea.jpg\"\r\n\
         Content-Type: image/jpeg\r\n\r\n{file}\r\n--{boundary}--\r\n"
    );
    r1().path(path).set("Content-Type", format!("multipart/form-data; boundary={boundary}")).body(body)
}

fn routes<DB: TestDatabase>() -> Router<App<DB>> {
    Router::new().route("/parts", post(by_parts::<DB>)).route("/bytes", post(by_bytes::<DB>))
}

// Reports: U01
async fn a_form_that_is_compared_by_its_parts_may_have_another_boundary<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;

    let first = server.send(&upload("/parts", "boundary-1", "\u{ff}\u{d8}\u{0}")).await;
    let again = server.send(&upload("/parts", "boundary-2", "\u{ff}\u{d8}\u{0}")).await;
    let other_file = server.send(&upload("/parts", "boundary-1", "\u{ff}\u{d8}\u{1}")).await;

    assert_ran(&first, 201);
    assert_eq!(first.text(), "note photo");
    assert_replays(&first, &again);
    assert_problem(&other_file, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

// Reports: U01
async fn a_form_that_is_taken_as_bytes_is_refused_with_another_boundary<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;

    let first = server.send(&upload("/bytes", "boundary-1", "tea")).await;
    let again = server.send(&upload("/bytes", "boundary-1", "tea")).await;
    let other_boundary = server.send(&upload("/bytes", "boundary-2", "tea")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&other_boundary, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

// Reports: U01
async fn a_form_that_breaks_off_leaves_the_key_unused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let whole = upload("/parts", "boundary-1", "tea");
    let broken =
        whole.clone().body("--boundary-1\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nte");

    let refused = server.send(&broken).await;
    bench.assert_holds(0, 0).await;
    let first = server.send(&whole).await;

    assert_ran(&refused, 400);
    assert_ran(&first, 201);
    bench.assert_holds(1, 1).await;
}

on_both_databases! {
    a_form_that_is_compared_by_its_parts_may_have_another_boundary
    a_form_that_is_taken_as_bytes_is_refused_with_another_boundary
    a_form_that_breaks_off_leaves_the_key_unused
}
