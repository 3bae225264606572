//! `#[tracing::instrument]` above the attribute, with the handler's own names: its span is around the handler.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[tracing::instrument(skip(tx, new), fields(item = %new.item), err)]
#[idempotent(scope = "tenant,endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    order(tx, &new.item).await?;
    tracing::info!("inserted");
    Ok(tenant.0)
}

/// Keeps the events of this module, each with the span that it came in.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    spans: Vec<String>,
    entered: Vec<Id>,
    events: Vec<String>,
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("a string takes everything");
    }
}

impl Log {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().expect("nobody panics while it is locked")
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == module_path!()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = Text(span.metadata().name().to_owned());
        span.record(&mut text);
        let spans = &mut self.kept().spans;
        spans.push(text.0);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut kept = self.kept();
        let span =
            kept.entered.last().and_then(|id| kept.spans.get(usize::try_from(id.into_u64()).ok()? - 1));
        let mut text = Text(format!("{}:", span.map_or("nowhere", String::as_str)));
        event.record(&mut text);
        kept.events.push(text.0);
    }

    fn enter(&self, span: &Id) {
        self.kept().entered.push(span.clone());
    }

    fn exit(&self, _: &Id) {
        self.kept().entered.pop();
    }
}

#[tokio::test]
async fn a_span_may_be_around_the_handler() {
    let log = Log::default();
    let subscriber = tracing::subscriber::set_default(log.clone());

    let answer = once("/orders", post(create), &r1()).await;
    drop(subscriber);

    assert_eq!(answer.text(), "t1");
    assert_eq!(log.kept().events, [r#"create tenant=TenantId("t1") item=tea: message=inserted"#]);
}
