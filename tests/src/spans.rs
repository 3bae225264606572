//! The spans that the engine opens, collected for one router.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use tokio::sync::watch;
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Instrument as _, Metadata, Subscriber, span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::patience::soon;

/// A span that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its name, behind those that it is within: `request:idempotency`.
    pub path: String,
    /// Its fields, as a log shows them.
    pub fields: BTreeMap<&'static str, String>,
}

impl Ended {
    /// A field; empty if it was never recorded.
    #[must_use]
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

/// The spans of level INFO and above that have ended under [`subscribe`](Self::subscribe). Its clones are one.
#[derive(Clone)]
pub struct Spans {
    ended: Arc<watch::Sender<Vec<Ended>>>,
    dispatch: Dispatch,
}

/// While a process has one subscriber only, tracing asks that of the current thread about a span that is new to it, and
/// remembers the answer: a thread of another test has none, and the span would never be seen. So there are always more.
static OTHERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(NoSubscriber::default())));

impl Default for Spans {
    fn default() -> Self {
        LazyLock::force(&OTHERS);
        let ended = Arc::new(watch::Sender::default());
        let dispatch = Dispatch::new(Registry::default().with(Collect(Arc::clone(&ended))));
        Self { ended, dispatch }
    }
}

impl Spans {
    /// Has the spans of every request to `router` collected, each within one that is named `request`.
    ///
    /// For this router only: other tests of the process have their own, or none.
    pub fn subscribe(&self, router: Router) -> Router {
        let dispatch = self.dispatch.clone();
        let layer = move |request: Request, next: Next| {
            let span = tracing::dispatcher::with_default(&dispatch, || tracing::info_span!("request"));
            next.run(request).instrument(span).with_subscriber(dispatch.clone())
        };
        router.layer(from_fn(layer))
    }

    /// Waits until so many of the engine's spans have ended, and takes them.
    ///
    /// # Panics
    /// The future panics if they do not end, or there are more.
    pub async fn take(&self, count: usize) -> Vec<Ended> {
        let mut ended = self.ended.subscribe();
        let of_the_engine = |spans: &[Ended]| {
            let spans = spans.iter().filter(|span| span.path.ends_with("idempotency")).cloned();
            spans.collect::<Vec<_>>()
        };
        let are_there = soon(ended.wait_for(|spans| of_the_engine(spans).len() >= count)).await;
        drop(are_there.expect("the sender is here"));
        let taken = of_the_engine(&self.ended.send_replace(Vec::new()));
        assert_eq!(taken.len(), count, "{taken:#?}");
        taken
    }

    /// Waits until a span of this name has ended, and returns its path.
    ///
    /// # Panics
    /// The future panics if it does not end.
    pub async fn path_of(&self, name: &str) -> String {
        let mut ended = self.ended.subscribe();
        let is_it = |span: &&Ended| span.path.ends_with(name);
        let spans = soon(ended.wait_for(|spans| spans.iter().any(|span| is_it(&span)))).await;
        let spans = spans.expect("the sender is here");
        spans.iter().find(is_it).expect("it was waited for").path.clone()
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").field("ended", &self.ended).finish_non_exhaustive()
    }
}

struct Collect(Arc<watch::Sender<Vec<Ended>>>);

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collect {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.is_span() && *metadata.level() <= tracing::Level::INFO
    }

    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        context.span(id).expect("it is new").extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &span::Id, record: &span::Record<'_>, context: Context<'_, S>) {
        if let Some(fields) = context.span(id).expect("it is open").extensions_mut().get_mut::<Fields>() {
            record.record(fields);
        }
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let span = context.span(&id).expect("it is closing");
        let path = span.scope().from_root().map(|span| span.name()).collect::<Vec<_>>().join(":");
        let fields = span.extensions_mut().remove::<Fields>().unwrap_or_default().0;
        self.0.send_modify(|ended| ended.push(Ended { path, fields }));
    }
}
