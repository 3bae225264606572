use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// What the senders sign with.
#[derive(Clone)]
pub struct Secrets {
    stripe: Arc<str>,
    standard: Arc<standardwebhooks::Webhook>,
}

impl Secrets {
    /// `stripe` is the secret as Stripe shows it; `standard` is base64, with or without `whsec_` before it. `None` if
    /// one is empty, with which anybody could sign, or if `standard` cannot be decoded.
    #[must_use]
    pub fn new(stripe: &str, standard: &str) -> Option<Self> {
        if stripe.is_empty() || standard.strip_prefix("whsec_").unwrap_or(standard).is_empty() {
            return None;
        }
        let standard = standardwebhooks::Webhook::new(standard).ok()?;
        Some(Self { stripe: stripe.into(), standard: Arc::new(standard) })
    }

    pub(super) fn stripe(&self) -> &str {
        &self.stripe
    }

    pub(super) fn standard(&self) -> &standardwebhooks::Webhook {
        &self.standard
    }
}

/// Without what must not be in a log.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// The time by this machine's clock, in seconds since 1970.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "how old a signature is has nothing to do with the times of keys, which are the database's; no database is asked before a delivery is verified"
)]
pub fn unix_time() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
