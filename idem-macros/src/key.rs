//! `key = "event.id"`: the key comes from the request's content.

use syn::LitStr;

use crate::errors::{Mistake, Mistakes};
use crate::path::{self, PartError};
use crate::scope::{self, Value};
use crate::vocabulary::Vocabulary;

/// Resolves the text; what names nothing is written down.
pub(crate) fn resolve(literal: &LitStr, names: &Vocabulary<'_>, mistakes: &mut Mistakes) -> Option<Value> {
    let text = literal.value();
    let path = path::one(&text, literal.span()).map_err(|error| {
        let mistake = |message: String| Mistake::on(literal, message);
        match error {
            PartError::Empty => mistake("`key` is empty".to_owned()).help(names.available("key", &[])),
            PartError::Arguments => mistake(format!("a call in `key` takes no arguments: `{text}`"))
                .help("name a value of the request, a field, or a method that takes only `&self`"),
            PartError::Unreadable => mistake(format!("`{text}` is not a path to a key")).help(
                "a path is the name of an argument and fields or calls without arguments after it: `key = \"event.id\"`",
            ),
        }
    });
    let value = path.map_err(Some).and_then(|path| scope::value(path, "key", &[], literal, names));
    value.map_err(|mistake| mistake.into_iter().for_each(|mistake| mistakes.add(mistake))).ok()
}
