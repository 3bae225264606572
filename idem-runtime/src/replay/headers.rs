//! Which headers of an answer are kept, and the names of the library's own.

use std::sync::Arc;

use http::{HeaderName, HeaderValue, header};

/// The request header that carries the key (draft-ietf-httpapi-idempotency-key-header-07, section 2).
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The response header that marks a replay: `true` on an answer from a key row, absent from every other unless the
/// builder says otherwise ([`replay_marker`](crate::Builder::replay_marker),
/// [`mark_first_answers`](crate::Builder::mark_first_answers)).
pub const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The request headers that a CORS layer must allow for browsers to send a key.
///
/// `Access-Control-Allow-Headers` of the Fetch standard; with tower-http,
/// `CorsLayer::new().allow_headers(REQUEST_HEADERS)`.
pub const REQUEST_HEADERS: [HeaderName; 1] = [IDEMPOTENCY_KEY];

/// The response headers that a CORS layer must expose for scripts in browsers to read what the library says.
///
/// By default: with other settings of the builder `Link` (`documentation`), a replay marker of another name, the echoed key
/// and `Stripe-Should-Retry` may be worth exposing too.
///
/// `Access-Control-Expose-Headers` of the Fetch standard; with tower-http,
/// `CorsLayer::new().expose_headers(RESPONSE_HEADERS)`.
pub const RESPONSE_HEADERS: [HeaderName; 2] = [IDEMPOTENT_REPLAYED, header::RETRY_AFTER];

/// What describes the body or names what was made, so that it holds for a retry as it did for the first
/// answer.
const KEPT: [HeaderName; 8] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_DISPOSITION,
    header::LOCATION,
    header::LINK,
    header::ETAG,
    header::LAST_MODIFIED,
];

/// What would be wrong, or dangerous, on any answer but the one it was made for.
const NEVER_KEPT: [HeaderName; 22] = [
    // A credential of whoever sent the first request.
    header::SET_COOKIE,
    // What the server says about this one message.
    header::DATE,
    header::CONTENT_LENGTH,
    // What concerns one connection only: RFC 9110, section 7.6.1, and RFC 2616, section 13.5.1.
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-authentication-info"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    // The names of one request in logs and traces: W3C Trace Context, and what is customary.
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("traceresponse"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("x-correlation-id"),
    HeaderName::from_static("x-trace-id"),
    HeaderName::from_static("server-timing"),
    // The library's own statement, true of no first answer.
    IDEMPOTENT_REPLAYED,
];

/// The header that tells a replay from a first answer.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    pub(crate) name: HeaderName,
    /// Whether a first answer has it too, saying `false`.
    pub(crate) is_on_first: bool,
}

impl Default for Marker {
    fn default() -> Self {
        Self { name: IDEMPOTENT_REPLAYED, is_on_first: false }
    }
}

impl Marker {
    /// What an answer says in the header; `None` if it lacks it.
    pub(crate) fn value(&self, is_replay: bool) -> Option<HeaderValue> {
        let says = if is_replay { "true" } else { "false" };
        (is_replay || self.is_on_first).then(|| HeaderValue::from_static(says))
    }

    /// Whether its name means nothing else on an answer, as far as that is known here.
    pub(crate) fn is_free(&self, also: &ReplayHeaders) -> bool {
        let name = &self.name;
        *name == IDEMPOTENT_REPLAYED
            || !(KEPT.contains(name)
                || also.contain(name)
                || !replayable(name)
                || TAKEN.contains(name)
                || name.as_str().starts_with("access-control-"))
    }
}

/// Whether Stripe's clients are to send the same request again.
pub(crate) const STRIPE_SHOULD_RETRY: HeaderName = HeaderName::from_static("stripe-should-retry");

/// What has a meaning on answers without being about one body or one transfer, the library's own included.
const TAKEN: [HeaderName; 18] = [
    IDEMPOTENCY_KEY,
    STRIPE_SHOULD_RETRY,
    header::ACCEPT_RANGES,
    header::AGE,
    header::ALLOW,
    header::ALT_SVC,
    header::CACHE_CONTROL,
    header::CACHE_STATUS,
    header::CONTENT_RANGE,
    header::CONTENT_SECURITY_POLICY,
    header::EXPIRES,
    header::PRAGMA,
    header::REFRESH,
    header::RETRY_AFTER,
    header::SERVER,
    header::STRICT_TRANSPORT_SECURITY,
    header::VARY,
    header::WWW_AUTHENTICATE,
];

/// Whether a header may be kept if the application asks for it.
pub(crate) fn replayable(name: &HeaderName) -> bool {
    !NEVER_KEPT.contains(name)
}

/// The headers that an application asks to be kept beside the fixed list.
#[derive(Clone, Debug)]
pub(crate) enum ReplayHeaders {
    /// By the builder.
    Built(Arc<[HeaderName]>),
    /// By a policy's attribute, which has checked them; in any case.
    Written(&'static [&'static str]),
}

impl ReplayHeaders {
    fn contain(&self, name: &HeaderName) -> bool {
        match self {
            Self::Built(names) => names.contains(name),
            Self::Written(names) => names.iter().any(|written| name.as_str().eq_ignore_ascii_case(written)),
        }
    }
}

/// Whether a header is kept, `also` being those that the application asks for.
pub(super) fn is_kept(name: &HeaderName, also: &ReplayHeaders) -> bool {
    KEPT.contains(name) || (also.contain(name) && replayable(name))
}

#[cfg(test)]
mod tests {
    use super::{KEPT, NEVER_KEPT, ReplayHeaders, is_kept, replayable};

    #[test]
    fn no_header_is_both_kept_and_refused() {
        for name in KEPT {
            assert!(replayable(&name), "{name}");
        }
    }

    #[test]
    fn what_must_not_be_replayed_is_not_kept_even_if_configured() {
        for name in NEVER_KEPT {
            assert!(!replayable(&name), "{name}");
            assert!(!is_kept(&name, &ReplayHeaders::Built([name.clone()].into())), "{name}");
        }
    }
}
