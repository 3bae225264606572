//! Fields of a policy under the rules of arguments: compared, skipped, by a function, context, under `#[cfg]`.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method};
use axum::routing::post;
use axum::{Extension, Router};
use idem_examples::reference::{App, AppError, Probe, TenantId};
use idem_runtime::{Fingerprinter, Policy, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::{Sqlite, SqliteConnection};

fn language(headers: &HeaderMap, into: &mut Fingerprinter) {
    let language = headers.get("accept-language").map_or(&b""[..], |language| language.as_bytes());
    into.bytes("language", language);
}

#[derive(Policy)]
#[policy(scope = "who = tenant.0, endpoint")]
struct Api {
    #[context]
    tenant: TenantId,
    #[fingerprint(with = language)]
    headers: HeaderMap,
    #[fingerprint(skip)]
    trace: Query<BTreeMap<String, String>>,
    method: Method,
    probe: State<Probe>,
    #[context]
    app: State<App<Sqlite>>,
    #[cfg(any())]
    audit: Extension<NoSuchType>,
    r#type: Option<Extension<u64>>,
}

#[idempotent(policy = Api)]
async fn create(tx: &mut SqliteConnection, api: &Api) -> Result<String, AppError> {
    api.probe.ran();
    api.app.probe.ran();
    let id = order(tx, &api.tenant.0).await?;
    Ok(format!(
        "{id} {} {} {}",
        api.method,
        api.trace.len(),
        api.headers.len() + usize::from(api.r#type.is_some())
    ))
}

#[tokio::test]
async fn a_field_is_compared_as_an_argument_is() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let first = twice(server, &r1().path("/orders?trace=a").set("Accept-Language", "de")).await;
        let traced = server.send(&r1().path("/orders?trace=b&n=1").set("Accept-Language", "de")).await;
        let other = server.send(&r1().path("/orders?trace=a").set("Accept-Language", "fr")).await;

        assert!(first.text().starts_with("1 POST 1 "), "{first:?}");
        assert_eq!((traced.is_replay(), other.status), (true, 422));
        assert_eq!(server.runs(), 2);
        bench.assert_holds(1, 1).await;
    })
    .await;
}
