//! What each of axum's extractors adds to the fingerprint.
//!
//! The kinds of additions (`json`, `path`, …) and what stands under them are stored data, as all of the
//! fingerprint.

use ::axum::body::Body;
use ::axum::extract::{
    ConnectInfo, Extension, Form, Json, MatchedPath, NestedPath, OriginalUri, Path, Query, RawForm,
    RawPathParams, RawQuery, State,
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Uri, Version};

use crate::{Execution, Fingerprint, Fingerprinter, Inert, Payload, ScopeValue};

/// The body as deserialised: `json`.
impl<T: Payload> Fingerprint for Json<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.json("json", &self.0);
    }
}

/// The form as deserialised: `form`.
impl<T: Payload> Fingerprint for Form<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.json("form", &self.0);
    }
}

/// The query as deserialised: `query`.
impl<T: Payload> Fingerprint for Query<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.json("query", &self.0);
    }
}

/// The path's parameters as deserialised: `path`.
impl<T: Payload> Fingerprint for Path<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.json("path", &self.0);
    }
}

/// The path's parameters in order, names and decoded values: `path`.
impl Fingerprint for RawPathParams {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.json("path", &self.iter().collect::<Vec<_>>());
    }
}

/// The query as received: `query`.
impl Fingerprint for RawQuery {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        put_query(self.0.as_deref(), into);
    }
}

/// The form as received: `form`.
impl Fingerprint for RawForm {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.bytes("form", &self.0);
    }
}

/// The body as received: `bytes`.
impl Fingerprint for Bytes {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.bytes("bytes", self);
    }
}

/// The body as received: `bytes`.
impl Fingerprint for BytesMut {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.bytes("bytes", self);
    }
}

/// The body as received: `text`.
impl Fingerprint for String {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.bytes("text", self.as_bytes());
    }
}

/// The query as received: `query`. The path is compared as part of the endpoint, if at all.
impl Fingerprint for Uri {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        put_query(self.query(), into);
    }
}

/// The query as received: `query`. The path is compared as part of the endpoint, if at all.
impl Fingerprint for OriginalUri {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        put_query(self.0.query(), into);
    }
}

fn put_query(query: Option<&str>, into: &mut Fingerprinter) {
    if let Some(query) = query {
        into.bytes("query", query.as_bytes());
    }
}

/// Adds nothing for extractors of the request's circumstances, which may differ between a request and its
/// retry.
macro_rules! add_nothing {
    ($($extractor:ty: $why:literal),* $(,)?) => {
        $(
            #[doc = concat!("Adds nothing: ", $why, ".")]
            impl Fingerprint for $extractor {
                fn fingerprint(&self, _into: &mut Fingerprinter) {}
            }
        )*
    };
}

add_nothing!(
    Method: "the method is in every fingerprint already",
    MatchedPath: "the path is compared as part of the endpoint",
    NestedPath: "the path is compared as part of the endpoint",
    Version: "a retry may come over another connection",
    HeaderMap: "a retry may have another trace, date or signature; a header that is an input is hashed by an extractor \
                of its own",
);

/// Adds nothing: a retry may come from another address.
impl<T> Fingerprint for ConnectInfo<T> {
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// Adds nothing: the application's state is no input. It must be inert.
impl<T> Fingerprint for State<T>
where
    T: InertIn<Self>,
{
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// Adds nothing: an extension is made by the application and is no input. It must be inert.
impl<T> Fingerprint for Extension<T>
where
    T: InertIn<Self>,
{
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// Something [`Inert`] in an `Argument` of a handler, which is a `State` or an `Extension` of it.
///
/// A trait of its own so that the compiler names the whole argument, as it stands in the handler's signature.
#[diagnostic::on_unimplemented(
    message = "`{Argument}` is not allowed in an `#[idempotent]` handler",
    label = "this argument can reach the database outside the handler's transaction",
    note = "what is written through it is neither rolled back nor replayed",
    note = "use the handler's transaction for every write, or `ReadOnly<PgPool>` for look-ups; a context argument that writes nothing is marked `#[context]`, and `#[derive(idem_runtime::Inert)]` on a type of your own makes it known for good"
)]
pub trait InertIn<Argument> {}

#[diagnostic::do_not_recommend]
impl<T: Inert, Argument> InertIn<Argument> for T {}

/// The value of what the extension holds.
#[diagnostic::do_not_recommend]
impl<T: ScopeValue> ScopeValue for Extension<T> {
    fn scope_value(&self) -> std::borrow::Cow<'_, str> {
        self.0.scope_value()
    }
}

/// Refused: by the time a handler runs, a stream cannot be compared without being consumed.
impl<B> Fingerprint for http::Request<B>
where
    for<'never> &'never (): CanBuffer<Self>,
{
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// Refused: by the time a handler runs, a stream cannot be compared without being consumed.
impl Fingerprint for Body
where
    // The lifetime is there because a bound without one would be checked here, where it fails by intent.
    for<'never> &'never (): CanBuffer<Self>,
{
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// Says that a streaming `Argument` can be compared. None can, so nothing has this trait.
#[diagnostic::on_unimplemented(
    message = "`{Argument}` is a stream and cannot be compared with that of a retry",
    label = "the body must be read before an `#[idempotent]` handler runs",
    note = "take the body as `Json`, `Form`, `Bytes` or `String`; a stream that is no part of what is asked for is marked `#[fingerprint(skip)]`"
)]
pub trait CanBuffer<Argument> {}

/// Refused: a run lends it.
impl Fingerprint for Execution
where
    for<'never> &'never (): IsGiven<Self>,
{
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// Says that an `Argument` can be taken by value although a run lends it. None can, so nothing has this trait.
#[diagnostic::on_unimplemented(
    message = "`{Argument}` is lent to an `#[idempotent]` handler, not given",
    label = "a run lends this by `&`",
    note = "take it by reference: `&{Argument}`"
)]
pub trait IsGiven<Argument> {}

#[cfg(test)]
pub(super) mod tests;
