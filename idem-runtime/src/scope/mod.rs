//! What a key is unique within.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write as _};
use std::num::NonZero;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

#[cfg(feature = "axum")]
use crate::IdempotencyKey;
use crate::fingerprint::put_prefixed;

/// A value that can be part of a scope: one that names the caller, or what the request is about.
///
/// Strings, integers and UUIDs have it. For a newtype of your own, `#[derive(idem_runtime::ScopeValue)]`
/// takes the value of its one field. `Option` has none on purpose: callers without a tenant would share one
/// scope, and with it each other's answers. Floats have none, since equal ones may be written in different
/// ways.
///
/// # Examples
/// ```
/// use std::borrow::Cow;
/// use idem_runtime::ScopeValue;
///
/// struct Claims { account: u64, device: u32 }
///
/// impl ScopeValue for Claims {
///     fn scope_value(&self) -> Cow<'_, str> {
///         Cow::Owned(format!("{}/{}", self.account, self.device))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of the idempotency scope",
    label = "named in `scope` but has no scope value",
    note = "a scope value is a string, an integer, a UUID, or a type of your own with `#[derive(idem_runtime::ScopeValue)]`; an `Option` never is, so that those without a value share no keys",
    note = "name what identifies the caller: another argument, or a part of this one, as in `user.id`"
)]
pub trait ScopeValue {
    /// The value as text: any text of any length but the empty one and one with a NUL, the same for the same
    /// caller.
    ///
    /// It is stored, so a change of it makes new requests of all retries.
    fn scope_value(&self) -> Cow<'_, str>;
}

#[diagnostic::do_not_recommend]
impl<T: ScopeValue + ?Sized> ScopeValue for &T {
    fn scope_value(&self) -> Cow<'_, str> {
        (**self).scope_value()
    }
}

macro_rules! impl_for_strings {
    ($($string:ty),*) => {
        $(impl ScopeValue for $string {
            fn scope_value(&self) -> Cow<'_, str> {
                Cow::Borrowed(self)
            }
        })*
    };
}

impl_for_strings!(str, String, Box<str>, Arc<str>, Cow<'_, str>);

macro_rules! impl_for_integers {
    ($($integer:ty),*) => {
        $(
            /// In decimal.
            impl ScopeValue for $integer {
                fn scope_value(&self) -> Cow<'_, str> {
                    Cow::Owned(self.to_string())
                }
            }

            /// In decimal.
            // Or else these fill the list of types that have the trait.
            #[diagnostic::do_not_recommend]
            impl ScopeValue for NonZero<$integer> {
                fn scope_value(&self) -> Cow<'_, str> {
                    Cow::Owned(self.to_string())
                }
            }
        )*
    };
}

impl_for_integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

/// In lower case, with hyphens.
impl ScopeValue for Uuid {
    fn scope_value(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

/// What an idempotency key is unique within: labelled parts, such as a tenant and an endpoint, in order.
///
/// Two requests share a key row only if all labels and values are equal, byte for byte and in the same order.
/// An annotated handler makes its scope from the attribute; make one by hand to look a key up, or to forget
/// it.
///
/// # Examples
/// ```
/// use idem_runtime::Scope;
///
/// let scope = Scope::new().with("tenant", "t1")?.endpoint("POST", "/orders/{id}/refunds")?;
/// assert_eq!(scope.text(), "tenant=t1&endpoint=POST%20/orders/{id}/refunds");
/// # Ok::<(), idem_runtime::ScopeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Scope {
    /// Labels and values. A value is never empty, but for that of the global scope's one part.
    parts: Vec<(String, String)>,
}

const ENDPOINT: &str = "endpoint";
const GLOBAL: &str = "global";

impl Scope {
    /// A scope without parts, to be given some. As it is, nothing is ever stored in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The one scope of all requests, as in `scope = "global"`: whoever sends a key gets its answer.
    #[must_use]
    pub fn global() -> Self {
        Self { parts: vec![(GLOBAL.to_owned(), String::new())] }
    }

    /// Adds a part, after those already there.
    ///
    /// The label is part of the identity: `5` as a tenant and `5` as a user are different scopes.
    ///
    /// # Errors
    /// [`ScopeError::Empty`] or [`ScopeError::Nul`] if the label or the value is empty or holds a NUL;
    /// [`ScopeError::NotAlone`] if this is the global scope.
    pub fn with<V: ScopeValue + ?Sized>(mut self, label: &str, value: &V) -> Result<Self, ScopeError> {
        self.push(label, value)?;
        Ok(self)
    }

    /// Adds the endpoint: `method` and the matched `route` as axum names it, nesting prefixes included, with
    /// the parameters in braces (`/orders/{id}`).
    ///
    /// # Errors
    /// As for [`with`](Self::with).
    pub fn endpoint(self, method: &str, route: &str) -> Result<Self, ScopeError> {
        if route.is_empty() {
            return Err(ScopeError::Empty { label: ENDPOINT.to_owned() });
        }
        self.endpoint_named(&format!("{method} {route}"))
    }

    /// Adds the endpoint by the name that the attribute gives it (`endpoint = "orders.create"`).
    ///
    /// # Errors
    /// As for [`with`](Self::with).
    pub fn endpoint_named(self, name: &str) -> Result<Self, ScopeError> {
        self.with(ENDPOINT, name)
    }

    /// The scope as a person reads it, for example `tenant=t1&endpoint=POST%20/orders`; `global` for the
    /// global one.
    ///
    /// No two scopes have the same text: bytes other than visible ASCII, and the four characters `%`, `&`,
    /// `=` and `+`, are percent-encoded (RFC 3986, 2.1), so a value cannot imitate a separator. This is what
    /// the `scope` column holds.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (index, (label, value)) in self.parts.iter().enumerate() {
            if index > 0 {
                text.push('&');
            }
            escape(label, &mut text);
            if !value.is_empty() {
                text.push('=');
                escape(value, &mut text);
            }
        }
        text
    }

    /// [`with`](Self::with), in place.
    pub(crate) fn push<V: ScopeValue + ?Sized>(&mut self, label: &str, value: &V) -> Result<(), ScopeError> {
        if self.is_global() {
            return Err(ScopeError::NotAlone);
        }
        let value = value.scope_value();
        for text in [label, &value] {
            if text.is_empty() {
                return Err(ScopeError::Empty { label: label.to_owned() });
            }
            if text.contains('\0') {
                return Err(ScopeError::Nul { label: label.to_owned() });
            }
        }
        self.parts.push((label.to_owned(), value.into_owned()));
        Ok(())
    }

    /// Whether this is the scope of all requests, the one whose part has no value.
    fn is_global(&self) -> bool {
        self.parts.iter().any(|(_, value)| value.is_empty())
    }

    /// Whether no part has been added.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The primary key of the key row: the first 16 bytes of SHA-256 over `"idid1"`, f(label) and f(value) of
    /// each part in order, f(key); f(x) is the length of x in bytes as 32 bits, big-endian, then x.
    pub(crate) fn id(&self, key: &str) -> [u8; 16] {
        let mut hash = Sha256::new_with_prefix("idid1");
        for (label, value) in &self.parts {
            put_prefixed(&mut hash, label.as_bytes());
            put_prefixed(&mut hash, value.as_bytes());
        }
        put_prefixed(&mut hash, key.as_bytes());
        first_bytes(hash)
    }

    /// The key that a service further down is given: [`Execution::downstream_key`](crate::Execution::downstream_key).
    ///
    /// Without the labels, so that an argument which is renamed does not make a second charge of a retry.
    #[cfg(feature = "axum")]
    pub(crate) fn downstream_key(&self, key: &IdempotencyKey, step: &str) -> String {
        let mut hash = Sha256::new_with_prefix("idk1");
        for (_, value) in &self.parts {
            put_prefixed(&mut hash, value.as_bytes());
        }
        put_prefixed(&mut hash, key.as_str().as_bytes());
        put_prefixed(&mut hash, step.as_bytes());
        let mut text = String::with_capacity(64);
        for byte in hash.finalize() {
            // Writing to a `String` never fails.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

/// The advisory lock of the key row `id` of the qualified table name `table`: the first 8 bytes of SHA-256
/// over `"idlk1"`, f(table), f(id), read as a big-endian integer.
pub(crate) fn lock_id(table: &str, id: &[u8; 16]) -> i64 {
    let mut hash = Sha256::new_with_prefix("idlk1");
    put_prefixed(&mut hash, table.as_bytes());
    put_prefixed(&mut hash, id);
    i64::from_be_bytes(first_bytes(hash))
}

fn first_bytes<const N: usize>(hash: Sha256) -> [u8; N] {
    const { assert!(N <= 32, "SHA-256 has 32 bytes") };
    let digest: [u8; 32] = hash.finalize().into();
    std::array::from_fn(|index| digest[index])
}

fn escape(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !matches!(byte, b'%' | b'&' | b'=' | b'+') {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` never fails.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// A part of a scope that cannot be resolved.
///
/// The client is answered 500 `idempotency_scope_unresolved`; the handler has not run and nothing is stored.
/// Never is the part left out, which would let callers share answers.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeError {
    /// The label or the value is empty. An extractor named in the scope should refuse such a request instead.
    Empty {
        /// The part's label.
        label: String,
    },
    /// The label or the value holds a NUL, which a database's text cannot. The remedy is the same.
    Nul {
        /// The part's label.
        label: String,
    },
    /// The global scope and another part: a key is unique everywhere, or within the parts. A scope that is described
    /// by hand says one of the two.
    NotAlone,
}

impl ScopeError {
    /// The label of the part, as written in the attribute.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Empty { label } | Self::Nul { label } => label,
            Self::NotAlone => GLOBAL,
        }
    }
}

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { label } => write!(f, "the scope's part `{label}` is empty"),
            Self::NotAlone => f.write_str("the global scope has other parts"),
            Self::Nul { label } => write!(f, "the scope's part `{}` holds a NUL", label.escape_default()),
        }
    }
}

impl Error for ScopeError {}

#[cfg(test)]
mod tests;
