//! A key that is a part of the request's content.

use std::borrow::Cow;

use crate::scope::ScopeValue;

/// A value that can be an idempotency key, what the attribute's option `key` names; or the id of a message.
///
/// Every [`ScopeValue`] is one: strings, integers, UUIDs and newtypes of them. As a key it must have the characters and
/// the length of any [`IdempotencyKey`](crate::IdempotencyKey); as an id those of [`Inbox`](crate::Inbox), which are more.
/// An `Option` of one may be missing: `None` is answered as a request without a key, and a message without an id is
/// refused.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an idempotency key",
    label = "named in `key`, but it has no text of its own",
    note = "a key is a string, an integer, a UUID, a newtype with `#[derive(idem_runtime::ScopeValue)]`, or an `Option` of these"
)]
pub trait KeyValue {
    /// The key's plain text, the same for every retry; `None` if there is no key.
    fn key_value(&self) -> Option<Cow<'_, str>>;
}

#[diagnostic::do_not_recommend]
impl<T: ScopeValue + ?Sized> KeyValue for T {
    fn key_value(&self) -> Option<Cow<'_, str>> {
        Some(self.scope_value())
    }
}

impl<T: KeyValue> KeyValue for Option<T> {
    fn key_value(&self) -> Option<Cow<'_, str>> {
        self.as_ref().and_then(KeyValue::key_value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_text_that_may_be_missing() {
        assert_eq!("evt_1".key_value().as_deref(), Some("evt_1"));
        assert_eq!(Some(17_u64).key_value().as_deref(), Some("17"));
        assert_eq!(None::<String>.key_value(), None);
    }
}
