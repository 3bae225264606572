//! An extractor together with the body that it read.

use std::fmt;

use ::axum::body::Body;
use ::axum::extract::{FromRequest, Request};
use ::axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

use crate::admission::Call;
use crate::store::Store;

/// What `E` extracts, and the body it was extracted from.
///
/// It stands in the place of an argument marked `#[fingerprint(body)]`, whose payload therefore need not be
/// `Serialize`. The handler is given the `E`; compared is the body:
///
/// - JSON, by a media type that axum's `Json` accepts (`application/json` or `application/…+json`), in its canonical
///   form, as a `Json<serde_json::Value>` would be: neither the order of members nor the spelling of strings and
///   numbers counts. Every member does, also one that the handler does not read. Numbers are exact, of any size.
/// - Anything else byte by byte, and so is a body that is no JSON in spite of its media type, or names two members of
///   one object alike.
///
/// Of what else `E` reads, nothing is compared: neither headers nor the query. The path is, as in every fingerprint.
///
/// The whole body is in memory, within axum's limit (`DefaultBodyLimit`, 2 MiB if none is set), until the handler runs.
/// `E` is given a request with the same head and extensions and the body's bytes; trailers are lost.
///
/// An application names this type only to call a handler of this kind in a unit test: [`FromRequest`] makes one.
///
/// # Examples
/// ```
/// # use idem_runtime::Received;
/// use axum::body::Body;
/// use axum::extract::{FromRequest, Request};
///
/// # async fn example() -> Result<(), axum::response::Response> {
/// let request = Request::new(Body::from("hello"));
/// let received = Received::<String>::from_request(request, &()).await?;
/// assert_eq!(received.as_inner(), "hello");
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct Received<E> {
    inner: E,
    content: Bytes,
    is_json: bool,
}

impl<E> Received<E> {
    /// What was extracted.
    #[must_use]
    pub fn as_inner(&self) -> &E {
        &self.inner
    }

    /// What was extracted, without the body.
    #[must_use]
    pub fn into_inner(self) -> E {
        self.inner
    }
}

impl<S, E> FromRequest<S> for Received<E>
where
    S: Send + Sync,
    E: FromRequest<S>,
{
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let is_json = is_json(&parts.headers);
        // The limit is one of the extensions, so the request that is buffered needs them as well.
        let whole = Request::from_parts(parts.clone(), body);
        let content = Bytes::from_request(whole, state).await.map_err(IntoResponse::into_response)?;

        let again = Request::from_parts(parts, Body::from(content.clone()));
        let inner = E::from_request(again, state).await.map_err(IntoResponse::into_response)?;
        Ok(Self { inner, content, is_json })
    }
}

impl<DB: Store> Call<DB> {
    /// Adds the body that an argument was extracted from to the fingerprint.
    pub fn received<E>(&mut self, argument: &Received<E>) {
        self.fingerprinter().body(&argument.content, argument.is_json);
    }
}

/// Shows what was extracted, and of the body its length.
impl<E: fmt::Debug> fmt::Debug for Received<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("inner", &self.inner)
            .field("body_bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}

/// Whether axum's `Json` takes a body of this media type. Parameters are not looked at.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(media_type) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.strip_prefix("application/").is_some_and(|subtype| {
        subtype == "json" || subtype.rsplit_once('+').is_some_and(|(_, suffix)| suffix == "json")
    })
}

#[cfg(test)]
mod tests;
