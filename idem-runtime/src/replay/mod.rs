//! What is kept of a handler's answer, and how it is sent again.

mod codec;
mod headers;

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, response};

pub(crate) use codec::DecodeError;
pub use headers::{IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED, REQUEST_HEADERS, RESPONSE_HEADERS};
pub(crate) use headers::{Marker, ReplayHeaders, STRIPE_SHOULD_RETRY, replayable};

/// An answer as it is kept in its key row: status, chosen headers, and the body byte for byte.
///
/// Kept are `content-type`, `content-encoding`, `content-language`, `content-disposition`, `location`,
/// `link`, `etag` and `last-modified`, and the headers the application configures. Values of one name keep
/// their number and their order.
///
/// `Debug` shows neither the headers' values nor the body: they are the caller's, and logs are not.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl StoredResponse {
    /// Takes from an answer what is kept of it: `also` are the configured headers.
    ///
    /// A header that is not [`replayable`] is left out even if it is configured.
    pub(crate) fn keep(parts: &response::Parts, body: Bytes, also: &ReplayHeaders) -> Self {
        let headers = parts
            .headers
            .iter()
            .filter(|(name, _)| headers::is_kept(name, also))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Self { status: parts.status, headers, body }
    }

    /// Reads an answer back from the columns of its key row.
    ///
    /// # Errors
    /// [`DecodeError`] if the columns do not hold what [`keep`](Self::keep) and
    /// [`encode_headers`](Self::encode_headers) make, because something else wrote them or cut them short.
    pub(crate) fn decode(status: impl Into<i64>, headers: &[u8], body: Vec<u8>) -> Result<Self, DecodeError> {
        let status = u16::try_from(status.into()).ok().and_then(|code| StatusCode::from_u16(code).ok());
        Ok(Self {
            status: status.ok_or(DecodeError::Status)?,
            headers: codec::decode(headers)?,
            body: Bytes::from(body),
        })
    }

    /// The kept headers as the bytes of their column.
    pub(crate) fn encode_headers(&self) -> Vec<u8> {
        codec::encode(&self.headers)
    }

    /// The answer to a retry: what was kept, not yet marked as a replay.
    pub(crate) fn into_response(self) -> Response<Bytes> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The kept headers; the values of one name are in the order in which they were sent.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body, as it was sent.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}

impl fmt::Debug for StoredResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResponse")
            .field("status", &self.status)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
