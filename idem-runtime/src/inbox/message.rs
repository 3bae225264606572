//! What makes a message the same message when it comes again.

use crate::inbox::error::InboxError;
use crate::key_value::KeyValue;
use crate::scope::{Scope, ScopeError, ScopeValue};
use crate::store::{Address, KeyText, Table};

/// The longest id of a message, in bytes. More than any queue's own, and little beside a row's other columns.
pub(super) const MAX_ID_LEN: usize = 1024;

/// Where the row of a message is: the parts `consumer` and `source` of a scope, and the id in the key's place.
pub(super) fn address<S, M>(
    table: &Table,
    consumer: &str,
    source: &S,
    message_id: &M,
) -> Result<Address, InboxError>
where
    S: ScopeValue + ?Sized,
    M: KeyValue + ?Sized,
{
    Ok(Address::new(table, &scope(consumer, source)?, id(message_id)?))
}

fn scope<S: ScopeValue + ?Sized>(consumer: &str, source: &S) -> Result<Scope, ScopeError> {
    Scope::new().with("consumer", consumer)?.with("source", source)
}

fn id<M: KeyValue + ?Sized>(message_id: &M) -> Result<KeyText, InboxError> {
    let id = message_id.key_value().ok_or(InboxError::MessageIdMissing)?;
    if id.trim().is_empty() {
        return Err(InboxError::MessageIdMissing);
    }
    if id.contains('\0') {
        return Err(InboxError::MessageIdNul);
    }
    if id.len() > MAX_ID_LEN {
        return Err(InboxError::MessageIdTooLong);
    }
    Ok(KeyText::new(id.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(consumer: &str, source: &str, message_id: &str) -> Result<Address, InboxError> {
        let table = Table::parse(Table::DEFAULT_NAME, "public").unwrap();
        address(&table, consumer, source, message_id)
    }

    /// Reckoned apart from this code. A change loses every row of every inbox.
    #[test]
    fn the_row_of_a_message_is_where_it_was() {
        let address = of("billing", "stripe", "evt_1").unwrap();

        assert_eq!(address.scope, "consumer=billing&source=stripe");
        assert_eq!(address.key.as_str(), "evt_1");
        assert_eq!(u128::from_be_bytes(address.id), 0x7c87_a008_1e6d_def4_6039_5edf_1a9e_1b6c);
    }

    // Cases: W-16
    #[test]
    fn a_message_without_an_id_has_no_row() {
        for blank in ["", " ", "\t\n", "\u{2003}"] {
            assert!(matches!(of("c", "s", blank), Err(InboxError::MessageIdMissing)), "{blank:?}");
        }
        let table = Table::parse(Table::DEFAULT_NAME, "public").unwrap();
        assert!(matches!(address(&table, "c", "s", &None::<&str>), Err(InboxError::MessageIdMissing)));
    }

    #[test]
    fn an_id_is_any_text_that_a_database_can_keep() {
        let longest = "ö".repeat(MAX_ID_LEN / 2);
        for id in ["{\"a\":\"b\"}", "ünï/cödé", "a\tb\r\n", " padded ", &longest] {
            assert_eq!(of("c", "s", id).unwrap().key.as_str(), id);
        }

        assert!(matches!(of("c", "s", "a\0b"), Err(InboxError::MessageIdNul)));
        assert!(matches!(of("c", "s", &format!("{longest}o")), Err(InboxError::MessageIdTooLong)));
    }

    #[test]
    fn a_consumer_and_a_source_have_names() {
        for (consumer, source, label) in
            [("", "s", "consumer"), ("c", "", "source"), ("c\0", "s", "consumer"), ("c", "\0", "source")]
        {
            let refused = of(consumer, source, "m");
            assert!(
                matches!(&refused, Err(InboxError::Scope(error)) if error.label() == label),
                "{refused:?}"
            );
        }
    }

    // Reports: B44
    #[test]
    fn consumer_source_and_id_are_told_apart() {
        let ids = [("a", "b", "c"), ("ab", "c", "c"), ("a", "bc", "c"), ("b", "a", "c"), ("a", "b", "C")]
            .map(|(consumer, source, message)| of(consumer, source, message).unwrap().id);

        for (index, id) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(id), "{index}");
        }
    }

    #[test]
    fn a_debug_output_shows_no_id() {
        let address = of("billing", "mail", "somebody@example.com").unwrap();

        assert!(!format!("{address:?}").contains("somebody"), "{address:?}");
    }
}
