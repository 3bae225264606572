use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use idem_runtime::Inert;
use tokio::sync::watch;

/// What the handlers report about themselves. Clones share one count and one gate.
///
/// It lives in memory and nothing is written through it, which `Inert` asks of everything that an
/// annotated handler reaches beside its transaction.
#[derive(Clone, Debug, Default, Inert)]
pub struct Probe {
    /// Counts the handlers that began to run; a rolled-back run counts.
    #[inert(trusted)]
    runs: Arc<AtomicU64>,
    /// Where `POST /slow` waits.
    pub gate: Gate,
}

impl Probe {
    /// Says that a handler has begun to run.
    pub fn ran(&self) {
        self.runs.fetch_add(1, Ordering::SeqCst);
    }

    /// How many handlers have begun to run since the start.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::SeqCst)
    }
}

/// A gate that is closed until it is opened, and stays open.
#[derive(Clone, Debug, Default, Inert)]
pub struct Gate {
    #[inert(trusted)]
    state: Arc<watch::Sender<GateState>>,
}

#[derive(Debug, Default)]
struct GateState {
    open: bool,
    waiting: usize,
}

impl Gate {
    /// Lets everyone pass who waits now or comes later.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// How many wait at the gate.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.state.borrow().waiting
    }

    /// Waits for the gate to open.
    ///
    /// # Cancel safety
    /// Cancel safe: who stops waiting is no longer counted.
    pub async fn pass(&self) {
        let mut changes = self.state.subscribe();
        let _counted = Waiting::enter(self);
        // The sender lives in `self`, so waiting cannot fail.
        let _ = changes.wait_for(|state| state.open).await;
    }

    /// Waits until exactly `count` wait at the gate.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing is changed by waiting.
    pub async fn arrivals(&self, count: usize) {
        let _ = self.state.subscribe().wait_for(|state| state.waiting == count).await;
    }
}

/// Counts one who waits, for as long as it lives.
struct Waiting<'g>(&'g Gate);

impl<'g> Waiting<'g> {
    fn enter(gate: &'g Gate) -> Self {
        gate.state.send_modify(|state| state.waiting += 1);
        Self(gate)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.waiting -= 1);
    }
}
