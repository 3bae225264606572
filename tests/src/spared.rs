//! No 5xx that a client could have been spared: one of the library's that no assertion names fails its test.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// How the library's codes begin, as a body says them.
const CODE: &[u8] = br#""code":"idempotency_"#;

/// Goes off when it is dropped before anybody has expected it. Its clones are one.
#[derive(Clone, Default)]
pub(crate) struct Tripwire(Option<Arc<Armed>>);

struct Armed {
    answer: String,
    is_expected: AtomicBool,
}

impl Tripwire {
    /// Armed for an answer of this status and body if it is a 5xx of the library.
    pub(crate) fn of(status: u16, body: &[u8]) -> Self {
        let is_armed = status >= 500 && body.windows(CODE.len()).any(|bytes| bytes == CODE);
        Self(is_armed.then(|| {
            let answer = format!("{status} {}", String::from_utf8_lossy(body));
            Arc::new(Armed { answer, is_expected: AtomicBool::new(false) })
        }))
    }

    /// Disarms it.
    pub(crate) fn expect(&self) {
        if let Some(armed) = &self.0 {
            armed.is_expected.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        // A test that fails already has a better reason.
        let is_forgotten = !self.is_expected.load(Ordering::Relaxed) && !thread::panicking();
        assert!(!is_forgotten, "an answer that no assertion of this test expects: {}", self.answer);
    }
}

/// Two answers are the same whether they are expected or not.
impl PartialEq for Tripwire {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Tripwire {}

impl fmt::Debug for Tripwire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tripwire").field(&self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNAVAILABLE: &[u8] = br#"{"status":503,"code":"idempotency_store_unavailable"}"#;

    #[test]
    #[should_panic(expected = "no assertion of this test expects: 503")]
    fn a_5xx_of_the_library_that_nobody_expects_fails_the_test() {
        drop(Tripwire::of(503, UNAVAILABLE).clone());
    }

    #[test]
    fn one_that_is_expected_does_not() {
        let wire = Tripwire::of(503, UNAVAILABLE);
        wire.clone().expect();
        drop(wire);
    }

    #[test]
    fn neither_does_a_refusal_or_the_applications_own_failure() {
        drop(Tripwire::of(409, br#"{"status":409,"code":"idempotency_in_progress"}"#));
        drop(Tripwire::of(500, br#"{"error":"database"}"#));
    }
}
