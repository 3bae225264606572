//! What a handler may hold beside its transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasherDefault, RandomState};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::ScopeValue;

/// A type through which nothing is written: not to a database, not to another service.
///
/// `State<T>` and `Extension<T>` in an `#[idempotent]` handler need it of `T`, because what is written beside
/// the handler's transaction is neither rolled back when the handler fails nor left out when an answer is
/// replayed. Pools and connections are never inert.
///
/// Scalars, strings, times, addresses and collections of inert values are inert, and so is every
/// [`ScopeValue`]. For a type of your own, `#[derive(idem_runtime::Inert)]` checks it field by field;
/// `#[inert(trusted)]` on a field is your word for that field. Implementing the trait by hand is your word
/// for the whole type.
///
/// `Box<T>` is not inert, since a crate could make its own `Box<T>` a scope value; use `Arc<T>`.
///
/// # Examples
/// ```
/// use idem_runtime::Inert;
/// # use std::sync::Arc;
///
/// struct Prices(Vec<u64>);
///
/// // Nothing in here can write.
/// impl Inert for Prices {}
///
/// fn is_inert<T: Inert>() {}
/// is_inert::<Arc<Prices>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be inert",
    label = "this may be a way to the database outside the handler's transaction",
    note = "what is written through it is neither rolled back nor replayed",
    note = "for a type of your own, `#[derive(idem_runtime::Inert)]` checks it field by field; a field that writes nothing is marked `#[inert(trusted)]`"
)]
pub trait Inert {}

// A scope value only names someone.
#[diagnostic::do_not_recommend]
impl<T: ScopeValue> Inert for T {}

macro_rules! impl_for_plain_data {
    ($($data:ty),* $(,)?) => {
        $(impl Inert for $data {})*
    };
}

impl_for_plain_data!(
    (),
    bool,
    char,
    f32,
    f64,
    Duration,
    Instant,
    SystemTime,
    PathBuf,
    IpAddr,
    Ipv4Addr,
    Ipv6Addr,
    SocketAddr,
    RandomState,
    http::HeaderMap,
    http::HeaderName,
    http::HeaderValue,
    http::Method,
    http::StatusCode,
    http::Uri,
    bytes::Bytes,
);

impl<T: ?Sized> Inert for PhantomData<T> {}
impl<T: Inert + ?Sized> Inert for Arc<T> {}
impl<T: Inert> Inert for Option<T> {}
impl<T: Inert> Inert for Vec<T> {}
impl<T: Inert, const N: usize> Inert for [T; N] {}
impl<T: Inert> Inert for BTreeSet<T> {}
impl<T: Inert, S: Inert> Inert for HashSet<T, S> {}
impl<K: Inert, V: Inert> Inert for BTreeMap<K, V> {}
impl<K: Inert, V: Inert, S: Inert> Inert for HashMap<K, V, S> {}
impl<H> Inert for BuildHasherDefault<H> {}

macro_rules! impl_for_tuples {
    ($($first:ident $($rest:ident)*)?) => {
        $(
            // Or else the tuples fill the list of types that have the trait.
            #[diagnostic::do_not_recommend]
            impl<$first: Inert, $($rest: Inert),*> Inert for ($first, $($rest,)*) {}
            impl_for_tuples!($($rest)*);
        )?
    };
}

impl_for_tuples!(T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12);

#[cfg(test)]
mod tests {
    use super::*;

    fn is_inert<T: Inert + ?Sized>() {}

    /// Compiled, not run: coherence is the promise here.
    #[test]
    fn plain_data_scope_values_and_what_is_made_of_them_are_inert() {
        is_inert::<(bool, char, f64, u8, String, &'static str, Arc<str>)>();
        is_inert::<Arc<(uuid::Uuid, Option<Vec<HashMap<String, BTreeSet<[u64; 2]>>>>)>>();
        is_inert::<PhantomData<std::cell::Cell<u8>>>();
    }

    #[test]
    fn a_trait_object_is_inert_where_its_crate_says_so() {
        trait Clock: Send + Sync {}
        impl Inert for dyn Clock {}

        is_inert::<Arc<dyn Clock>>();
    }
}
