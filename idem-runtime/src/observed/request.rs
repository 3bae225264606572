//! One request as an operator sees it.

use std::fmt;
use std::thread;

use tracing::Span;
use tracing::field::{Empty, display};

use super::meter::Meter;
use super::outcome::RequestOutcome;
use super::{Endpoint, Step, Timer};
use crate::answer::Answer;
use crate::store::Address;

/// A request on its way, until its outcome is known. Dropped before, it has the one that this means: see [`Drop`].
///
/// Its default is a request that nobody watches, one whose method is safe.
#[derive(Debug, Default)]
pub(crate) struct Observed(Option<Box<Watched>>);

#[derive(Debug)]
struct Watched {
    span: Span,
    meter: Meter,
    is_keyed: bool,
    /// Whether the task of the run has it.
    is_detached: bool,
}

impl Observed {
    /// Opens the span, within the one that is current.
    pub(crate) fn begin(endpoint: Endpoint<'_>) -> Self {
        let span = tracing::info_span!(
            target: "idem_runtime",
            "idempotency",
            idempotency.outcome = Empty,
            idempotency.endpoint = %endpoint,
            idempotency.scope = Empty,
            idempotency.id = Empty,
        );
        let meter = Meter::new(endpoint);
        Self(Some(Box::new(Watched { span, meter, is_keyed: false, is_detached: false })))
    }

    pub(crate) fn span(&self) -> Span {
        self.0.as_ref().map_or_else(Span::none, |watched| watched.span.clone())
    }

    /// It has a key that is looked at, of the row at `address`.
    pub(crate) fn keyed(&mut self, address: &Address) {
        let Some(watched) = &mut self.0 else { return };
        watched.is_keyed = true;
        let span = &watched.span;
        if !span.is_disabled() {
            span.record("idempotency.scope", address.scope.as_str());
            span.record("idempotency.id", display(RowId(&address.id)));
        }
        // Keys end up in logs, and may be personal data: here and nowhere above this level.
        span.in_scope(|| {
            tracing::debug!(idempotency.key = address.key.as_str(), "a request has an idempotency key");
        });
    }

    /// From here on a task does its work, whatever becomes of the client.
    pub(crate) fn detached(&mut self) {
        if let Some(watched) = &mut self.0 {
            watched.is_detached = true;
        }
    }

    /// A step is over that began when `timer` did.
    pub(crate) fn took(&self, step: Step, timer: Timer) {
        if let Some(watched) = &self.0 {
            watched.meter.record(step, timer);
        }
    }

    /// It has its answer.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        self.end(|is_keyed| RequestOutcome::of(answer, is_keyed));
    }

    /// Its handler has panicked, and the panic goes on.
    pub(crate) fn panicked(&mut self) {
        self.end(|_| RequestOutcome::Panicked);
    }

    /// Its client has left, and nothing has begun.
    pub(crate) fn abandoned(&mut self) {
        self.end(|_| RequestOutcome::Abandoned);
    }

    /// The first outcome counts. `outcome` is told whether the request has a key.
    fn end(&mut self, outcome: impl FnOnce(bool) -> RequestOutcome) {
        let Some(Watched { span, meter, is_keyed, .. }) = self.0.take().map(|watched| *watched) else {
            return;
        };
        let outcome = outcome(is_keyed);
        span.record("idempotency.outcome", outcome.as_str());
        meter.count(outcome);
        span.in_scope(|| tracing::debug!(outcome = outcome.as_str(), "a request has its outcome"));
    }
}

/// A future that is dropped takes its request along: that of a client that leaves before anything has begun, or a task
/// that a drain, the end of the runtime or the application's wrapper stops.
impl Drop for Observed {
    fn drop(&mut self) {
        let Some(watched) = &self.0 else { return };
        if thread::panicking() {
            self.panicked();
        } else if watched.is_detached {
            self.end(|_| RequestOutcome::OutcomeUnknown);
        } else {
            self.abandoned();
        }
    }
}

/// The `id` of a key row as both databases read it in a statement: 32 hexadecimal digits.
struct RowId<'a>(&'a [u8; 16]);

impl fmt::Display for RowId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(*self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_id_has_all_its_digits() {
        let mut id = [0; 16];
        id[1] = 0x0a;
        id[15] = 0xff;

        assert_eq!(RowId(&id).to_string(), "000a00000000000000000000000000ff");
    }
}
