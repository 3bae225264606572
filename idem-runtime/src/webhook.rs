//! The policy for handlers of webhooks.

use std::future::{Future, ready};
use std::pin::Pin;

use axum::response::Response;
use http::request::Parts;

use crate::admission::Call;
use crate::axum::FromState;
use crate::key::{KeyFormat, Syntax};
use crate::options::{InProgress, Options};
use crate::outcome::RecordRule;
use crate::policy::{FromPolicyParts, Policy, sealed};
use crate::store::Store;

/// A policy for webhooks: each event has its effect once, however often its sender delivers it.
///
/// For senders that follow [Standard Webhooks](https://www.standardwebhooks.com) it is enough as it is: the key is the
/// field `webhook-id`, the same on every delivery of an event. For those that put the id into the event, as Stripe does,
/// the handler says where: `key = "event.id"`. For a sender with a field of its own, such as `X-GitHub-Delivery`, derive
/// a policy with the options below and that `header`.
///
/// | option | value | because |
/// |---|---|---|
/// | `scope` | `"endpoint"` | the route stands for the consumer and for the sender: give each sender a route of its own. Parameters of the route are not told apart |
/// | `header` | `"webhook-id"` | Standard Webhooks |
/// | `syntax`, `key_format` | `"lenient"`, `"any"` | the sender chooses its ids, whatever the builder asks of the API's own clients |
/// | `fingerprint` | `"off"` | deliveries of one event differ in counters, times and signatures, and a refusal only brings the next one |
/// | `in_progress` | `"wait 10s, then 503"` | Standard Webhooks has senders wait 15 to 30 s for an answer, and take `Retry-After` on a 503 into account; for one that waits less, say less |
/// | `record` | `"success"` | an event that could not be handled is not done: its next delivery runs |
/// | `ttl` | `"31d"` | the longest documented time after which a sender lets an event be sent again is 30 days |
///
/// A handler overrides `in_progress`, `record` and `ttl`. Where anything else is to be different, or the engine is in the
/// request's extensions, derive a policy of your own: these are ordinary options.
///
/// What a sender is told:
///
/// | a delivery | is answered |
/// |---|---|
/// | whose signature the handler's extractor refuses | by the extractor, before anything is looked up or stored |
/// | of an event that was handled | the first answer, by a look-up alone |
/// | of an event that is being handled | after it, the same, or by a run of its own if that one failed; 503 with `Retry-After` if it takes longer than 10 s; never with a success that may yet be rolled back |
/// | without an id, or with one that is not 1 to 255 printable ASCII characters | 400 |
/// | that the handler refuses or fails to handle | by the handler; nothing is kept, so the next delivery runs |
///
/// No delivery is refused because it differs from the one before. An answer below 400 ends the matter, a redirect as
/// well.
///
/// An extractor that verifies the signature needs no `Fingerprint`: mark it `#[fingerprint(skip)]`.
///
/// # Examples
/// ```
/// # #[cfg(feature = "postgres")] mod example {
/// # use axum::extract::{FromRequest, Request};
/// # use axum::http::StatusCode;
/// # use sqlx::PgConnection;
/// # struct Event { id: String, amount: i64 }
/// # struct Verified(Event);
/// # impl<S: Sync> FromRequest<S> for Verified {
/// #     type Rejection = StatusCode;
/// #     async fn from_request(_: Request, _: &S) -> Result<Self, StatusCode> { Err(StatusCode::UNAUTHORIZED) }
/// # }
/// use idem_runtime::{Webhook, idempotent};
///
/// // `Verified` is an extractor of the application that checks the signature and reads the event.
/// #[idempotent(policy = Webhook, key = "event.id")]
/// async fn on_stripe_event(
///     tx: &mut PgConnection,
///     #[fingerprint(skip)] Verified(event): Verified,
/// ) -> Result<StatusCode, StatusCode> {
///     sqlx::query("INSERT INTO payments (amount) VALUES ($1)")
///         .bind(event.amount)
///         .execute(tx)
///         .await
///         .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
///     Ok(StatusCode::OK)
/// }
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Webhook;

impl sealed::Sealed for Webhook {}

impl Policy for Webhook {
    const OPTIONS: Options = Options::NONE
        .header("webhook-id")
        .syntax(Syntax::Lenient)
        .key_format(KeyFormat::Any)
        .fingerprint(false)
        .in_progress(InProgress::Wait { limit_ms: 10_000, then: 503 })
        .record(RecordRule::Success)
        .ttl(31 * 86_400);

    type Engine = FromState;

    fn describe<DB: Store>(&self, call: &mut Call<DB>) {
        call.endpoint();
    }
}

impl<S> FromPolicyParts<S> for Webhook {
    fn from_policy_parts<'a>(
        _: &'a mut Parts,
        _: &'a S,
    ) -> Pin<Box<dyn Future<Output = Result<Self, Response>> + Send + 'a>> {
        Box::pin(ready(Ok(Self)))
    }
}
