//! The names that `scope` and `key` can use: what the arguments of a handler bind, or the fields of a policy.

use proc_macro2::Ident;
use syn::ext::IdentExt;

use crate::argument::Role;
use crate::errors::Mistake;
use crate::handler::Handler;
use crate::names::{listed, nearest};

/// The names of one handler or policy.
pub(crate) struct Vocabulary<'a> {
    names: Vec<Name<'a>>,
    /// What has the names: `handler` or `policy`.
    whose: &'static str,
    /// What a name stands for: `argument` or `field`, with its article.
    what: [&'static str; 2],
}

/// A name, and what it stands for.
pub(crate) struct Name<'a> {
    pub(crate) ident: &'a Ident,
    /// The place of the argument in the signature, or of the field in the struct.
    pub(crate) source: usize,
    pub(crate) standing: Standing,
}

/// Whether a value can be taken from what has the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Usable,
    /// It exists under a `cfg` only.
    Conditional,
    Transaction,
    /// Lent by the run, and no part of the request.
    Lent,
    /// Reported where it stands.
    Unfit,
}

impl<'a> Vocabulary<'a> {
    pub(crate) fn of_handler(handler: &'a Handler) -> Self {
        let names = handler.arguments.iter().enumerate().flat_map(|(source, argument)| {
            let standing = match argument.role {
                Role::Transaction => Standing::Transaction,
                Role::Lent => Standing::Lent,
                Role::Unfit => Standing::Unfit,
                _ if argument.conditions.is_empty() => Standing::Usable,
                _ => Standing::Conditional,
            };
            argument.bindings.iter().map(move |ident| Name { ident, source, standing })
        });
        Self { names: names.collect(), whose: "handler", what: ["an", "argument"] }
    }

    pub(crate) fn of_policy(fields: impl IntoIterator<Item = &'a Ident>) -> Self {
        let names = fields.into_iter().enumerate();
        let names = names.map(|(source, ident)| Name { ident, source, standing: Standing::Usable });
        Self { names: names.collect(), whose: "policy", what: ["a", "field"] }
    }

    /// The word for what has a name.
    pub(crate) fn what(&self) -> &'static str {
        self.what[1]
    }

    /// The same, after its article.
    pub(crate) fn what_with_article(&self) -> [&'static str; 2] {
        self.what
    }

    /// The name as it stands in the source.
    pub(crate) fn identifier(&self, name: &str) -> Option<&'a Ident> {
        self.usable().find(|ident| ident.unraw() == name)
    }

    /// The value that the option calls `name`; `words` are what it can say besides.
    ///
    /// # Errors
    /// What is wrong with the name and what to write instead; nothing if that has been reported.
    pub(crate) fn find(
        &self,
        name: &str,
        option: &str,
        words: &[&str],
    ) -> Result<&Name<'a>, Option<(String, String)>> {
        let Self { whose, what: [article, what], .. } = self;
        let Some(found) = self.names.iter().find(|found| found.ident.unraw() == name) else {
            let message = format!("no {what} of this {whose} is named `{name}`");
            let idents = self.words();
            let known = idents.iter().map(String::as_str).chain(words.iter().copied());
            return Err(Some(match nearest(name, known) {
                Some(near) if words.contains(&near) => {
                    (message, format!("a part with a similar name exists: `{near}`"))
                }
                Some(near) => (message, format!("{article} {what} with a similar name exists: `{near}`")),
                None => (message, self.available(option, words)),
            }));
        };
        match found.standing {
            Standing::Usable => Ok(found),
            Standing::Conditional => Err(Some((
                format!("`{name}` is not always there, and `{option}` must not depend on a `cfg`"),
                "name an argument without `#[cfg]`".to_owned(),
            ))),
            Standing::Transaction => Err(Some((
                format!("`{name}` is the transaction, which tells no request from another"),
                self.available(option, words),
            ))),
            Standing::Lent => Err(Some((
                format!("`{name}` is lent by the run, and is no part of the request"),
                self.available(option, words),
            ))),
            Standing::Unfit => Err(None),
        }
    }

    /// What the option can name.
    pub(crate) fn available(&self, option: &str, words: &[&str]) -> String {
        let what = self.what();
        let names = self.words();
        // `global` stands alone, and is a decision to be looked up.
        let words = words.iter().copied().filter(|word| *word == "endpoint");
        let also: Vec<String> = words.clone().map(|word| format!(" or `{word}`")).collect();
        let also = also.concat();
        let all: Vec<&str> = names.iter().map(String::as_str).chain(words).collect();
        if all.is_empty() {
            return format!("`{option}` names {what}s; this {} has none", self.whose);
        }
        format!("`{option}` names {what}s{also}; here it can use {}", listed(all))
    }

    /// A name that sounds like that of whoever sends the request: of one value, where `user` would be a struct.
    pub(crate) fn caller(&self) -> Option<String> {
        const CALLERS: [&str; 9] = [
            "tenant",
            "tenant_id",
            "account_id",
            "customer_id",
            "merchant_id",
            "org_id",
            "shop_id",
            "user_id",
            "client_id",
        ];
        CALLERS.iter().find_map(|caller| self.words().into_iter().find(|word| word == caller))
    }

    fn words(&self) -> Vec<String> {
        self.usable().map(|ident| ident.unraw().to_string()).collect()
    }

    fn usable(&self) -> impl Iterator<Item = &'a Ident> {
        self.names
            .iter()
            .filter(|name| matches!(name.standing, Standing::Usable | Standing::Conditional))
            .map(|name| name.ident)
    }
}

/// The mistake of a name that was not found.
pub(crate) fn not_found(at: impl quote::ToTokens, (message, help): (String, String)) -> Mistake {
    Mistake::on(at, message).help(help)
}
