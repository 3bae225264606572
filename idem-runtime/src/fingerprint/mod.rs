//! The fingerprint of a request: whether a retry asks for what the first request asked for.

use std::error::Error;
use std::fmt;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::canonical::{self, Sink};

/// The version of everything that goes into a [`Digest`], stored beside it.
///
/// A record made by another version cannot be compared with a digest of this one.
pub(crate) const FORMAT_VERSION: i16 = 1;

/// What an argument of a handler adds to the fingerprint of its request.
///
/// Every argument of an `#[idempotent]` handler has this trait, so that nothing a handler reads is left out
/// of the comparison unnoticed. Extractors that carry the client's input ([`Json`], [`Form`], [`Query`],
/// [`Path`], [`Bytes`], `String`) add their value as deserialised. Those that carry the request's
/// circumstances ([`HeaderMap`], [`Method`], cookies, [`ConnectInfo`]) add nothing: a retry may come from
/// another address, with another trace id. So do [`State`] and [`Extension`], which must be
/// [`Inert`](crate::Inert) instead.
///
/// Implement it for an extractor of your own by adding what a handler can see of the client's input. What is
/// not added is not compared: two requests that differ only there count as one.
///
/// [`Json`]: https://docs.rs/axum/0.8/axum/struct.Json.html
/// [`Form`]: https://docs.rs/axum/0.8/axum/struct.Form.html
/// [`Query`]: https://docs.rs/axum/0.8/axum/extract/struct.Query.html
/// [`Path`]: https://docs.rs/axum/0.8/axum/extract/struct.Path.html
/// [`Bytes`]: https://docs.rs/bytes/1/bytes/struct.Bytes.html
/// [`HeaderMap`]: https://docs.rs/http/1/http/struct.HeaderMap.html
/// [`Method`]: https://docs.rs/http/1/http/struct.Method.html
/// [`ConnectInfo`]: https://docs.rs/axum/0.8/axum/extract/struct.ConnectInfo.html
/// [`State`]: https://docs.rs/axum/0.8/axum/extract/struct.State.html
/// [`Extension`]: https://docs.rs/axum/0.8/axum/struct.Extension.html
///
/// # Examples
/// ```
/// use idem_runtime::{Fingerprint, Fingerprinter};
///
/// /// An extractor that reads the currency from a header.
/// struct Currency(String);
///
/// impl Fingerprint for Currency {
///     fn fingerprint(&self, into: &mut Fingerprinter) {
///         into.json("currency", &self.0);
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fingerprint, so an `#[idempotent]` handler cannot take it",
    label = "two requests that differ here could not be told apart",
    note = "if it is no input of the request and nothing is written through it, mark the argument `#[context]`; to leave an input out of the comparison, mark it `#[fingerprint(skip)]`",
    note = "for an extractor of your own, implement `idem_runtime::Fingerprint`; a stream such as `Multipart` cannot be compared, so take `Json`, `Form`, `Bytes` or `String` instead"
)]
pub trait Fingerprint {
    /// Adds what this argument says about the request.
    ///
    /// Called once per request, after every extractor has run. It must depend on the client's input alone: a
    /// time, a random number or an address would make every retry a different request. Failures are kept by
    /// `into` and reported as 500 `idempotency_fingerprint_failed`, before anything is reserved.
    fn fingerprint(&self, into: &mut Fingerprinter);
}

/// What a `Json`, `Form`, `Query` or `Path` may carry: anything that is [`serde::Serialize`].
///
/// Not for implementing: derive `Serialize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be fingerprinted: it does not implement `serde::Serialize`",
    label = "the payload of this extractor is not `Serialize`",
    note = "add `#[derive(serde::Serialize)]` to `{Self}`, or to the types of your own in it"
)]
pub trait Payload: Serialize {}

// Without the hint rustc would name `serde::Serialize` and list types that have it.
#[diagnostic::do_not_recommend]
impl<T: Serialize + ?Sized> Payload for T {}

/// Nothing was asked for, so nothing is added.
impl Fingerprint for () {
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// `None` adds nothing, so it differs from every `Some`.
impl<T: Fingerprint> Fingerprint for Option<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        if let Some(argument) = self {
            argument.fingerprint(into);
        }
    }
}

/// A rejection adds nothing, so it differs from every input that was read, but not from another rejection:
/// what was refused is gone by the time the handler runs.
impl<T: Fingerprint, E> Fingerprint for Result<T, E> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        if let Ok(argument) = self {
            argument.fingerprint(into);
        }
    }
}

macro_rules! impl_for_tuples {
    ($($first:ident $($rest:ident)*)?) => {
        $(
            /// Every part adds what it adds alone.
            // Or else the tuples fill the list of types that have the trait.
            #[diagnostic::do_not_recommend]
            impl<$first: Fingerprint, $($rest: Fingerprint),*> Fingerprint for ($first, $($rest,)*) {
                fn fingerprint(&self, into: &mut Fingerprinter) {
                    #[allow(non_snake_case, reason = "the type parameters name the parts")]
                    let ($first, $($rest,)*) = self;
                    $first.fingerprint(into);
                    $($rest.fingerprint(into);)*
                }
            }
            impl_for_tuples!($($rest)*);
        )?
    };
}

impl_for_tuples!(T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T15 T16);

/// What a request is sent to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// The concrete path.
    Path(&'a str),
    /// An endpoint with a name of its own, which may move to another path.
    Name(&'a str),
}

/// Collects what the arguments of one request add, and makes a [`Digest`] of it.
///
/// An addition is labelled by its kind, not by the argument it came from, and the order of additions does not
/// matter: renaming or reordering the arguments of a handler leaves the fingerprints of its requests alone.
#[derive(Debug)]
pub struct Fingerprinter {
    /// Over everything but the additions.
    request: Sha256,
    /// The kind of each addition, and the SHA-256 of its content.
    additions: Vec<(&'static str, [u8; 32])>,
    /// The first thing that went wrong.
    failure: Option<FingerprintError>,
    /// Whether the request is not compared at all: `fingerprint = "off"`.
    is_off: bool,
}

impl Fingerprinter {
    /// For a request by `method` to `target`.
    pub(crate) fn new(method: &str, target: Target<'_>) -> Self {
        let mut request = Sha256::new_with_prefix("idfp1");
        put_prefixed(&mut request, method.as_bytes());
        let (kind, text) = match target {
            Target::Path(path) => (1, path),
            Target::Name(name) => (2, name),
        };
        request.update([kind]);
        put_prefixed(&mut request, text.as_bytes());
        Self { request, additions: Vec::new(), failure: None, is_off: false }
    }

    /// For a request that is not compared: what is added is not looked at.
    pub(crate) fn off() -> Self {
        Self { request: Sha256::new(), additions: Vec::new(), failure: None, is_off: true }
    }

    /// Adds a value by its canonical form, which does not depend on the order of a map's entries, on the
    /// spelling of the JSON it was read from, or on the build.
    ///
    /// The canonical form is the JSON that serde would write, as RFC 8785 lays it out, with integers of any
    /// width exact. `kind` labels the addition; the extractors of axum use `path`, `query`, `form`, `json`,
    /// `bytes` and `text`. Arrays keep their order, so a `HashSet`, whose order is by chance, has no reliable
    /// form: use a `BTreeSet`.
    ///
    /// A value without a canonical form (a NaN, two map keys that are written alike, a `Serialize` that
    /// fails, more than 400 values inside one another) makes the whole fingerprint fail.
    pub fn json<T: Serialize + ?Sized>(&mut self, kind: &'static str, value: &T) {
        if self.is_off {
            return;
        }
        let mut content = Sha256::new();
        match canonical::write(value, &mut content) {
            Ok(()) => self.additions.push((kind, content.finalize().into())),
            Err(source) => {
                self.failure.get_or_insert(FingerprintError { kind, source });
            }
        }
    }

    /// Adds bytes as they are. `kind` labels the addition, as in [`json`](Self::json).
    pub fn bytes(&mut self, kind: &'static str, content: &[u8]) {
        if self.is_off {
            return;
        }
        self.additions.push((kind, Sha256::digest(content).into()));
    }

    /// Adds a body as it was received: JSON as [`json`](Self::json) adds the value that it stands for, anything else
    /// as `bytes`.
    ///
    /// Numbers count as they are written, of any size. JSON without a canonical form (two members of one name, a lone
    /// surrogate, too many levels) is compared byte by byte: whoever reads it decides what it means, and no client may
    /// cause an error of ours.
    pub(crate) fn body(&mut self, content: &[u8], is_json: bool) {
        if self.is_off {
            return;
        }
        let mut canonical = Sha256::new();
        match std::str::from_utf8(content) {
            Ok(text) if is_json && canonical::write_text(text, &mut canonical).is_ok() => {
                self.additions.push(("json", canonical.finalize().into()));
            }
            _ => self.bytes("bytes", content),
        }
    }

    /// The digest of the request and all that was added.
    ///
    /// SHA-256 over `"idfp1"`, f(method), one byte 1 and f(path), or one byte 2 and f(name of the endpoint), then f(kind)
    /// and f(SHA-256 of the content) of each addition, sorted by both; f(x) is the length of x in bytes as 32
    /// bits, big-endian, then x.
    ///
    /// # Errors
    /// The first failure of an addition.
    pub(crate) fn finish(self) -> Result<Digest, FingerprintError> {
        let Self { mut request, mut additions, failure, is_off } = self;
        if is_off {
            return Ok(Digest::OFF);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        additions.sort_unstable();
        for (kind, content) in additions {
            put_prefixed(&mut request, kind.as_bytes());
            put_prefixed(&mut request, &content);
        }
        Ok(Digest(request.finalize().into()))
    }
}

impl Sink for Sha256 {
    fn put(&mut self, text: &[u8]) {
        self.update(text);
    }
}

/// Hashes the length of `content` in bytes as 32 bits, big-endian, then `content`, so that no two sequences
/// of contents run into the same bytes.
pub(crate) fn put_prefixed(hash: &mut Sha256, content: &[u8]) {
    // A request line, a scope value or a key of 4 GiB does not get here; it would merely lose its length.
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    hash.update(length.to_be_bytes());
    hash.update(content);
}

/// The fingerprint of a request: 32 bytes of SHA-256.
///
/// Equal requests have equal digests in every process and build that writes the same format version.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// That of a request that is not compared. No request has it by chance: SHA-256 gives it for no known input.
    const OFF: Self = Self([0; 32]);

    pub(crate) fn is_off(&self) -> bool {
        *self == Self::OFF
    }

    /// Whether two requests ask for the same, or one of them is not compared.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        self == other || self.is_off() || other.is_off()
    }

    /// The bytes, as they are stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Digest {
    /// Reads a stored digest.
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// An input without a canonical form: a float that is NaN or infinite, two members of one name, a `Serialize`
/// that fails, and the like.
///
/// The client is answered 500 `idempotency_fingerprint_failed`; the handler has not run and nothing is
/// reserved. The remedy lies in the type named by the source.
#[derive(Debug)]
pub struct FingerprintError {
    kind: &'static str,
    source: canonical::Error,
}

impl FingerprintError {
    /// The kind of the addition that failed, such as `json` or `query`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }
}

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the request's `{}` input has no canonical form", self.kind)
    }
}

impl Error for FingerprintError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

#[cfg(test)]
mod tests;
