//! What was written in the attribute, and where.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{LitStr, Token};

use crate::errors::{Mistake, Mistakes};
use crate::names::{listed, nearest};
use crate::option::{self, Key};
use crate::runtime::Runtime;
use crate::ttl;

/// The options, in the order in which the messages list them.
const OPTIONS: [&str; 5] = ["scope", "ttl", "record", "allow", "crate"];

/// The opt-outs of `allow(…)`.
const OPT_OUTS: [&str; 1] = ["short_ttl"];

/// The attribute's options.
#[derive(Default)]
pub(crate) struct Args {
    /// The text of `scope`.
    pub(crate) scope: Scope,
    /// In seconds, if it was written and can be read.
    pub(crate) ttl: Option<u64>,
    /// Which answers are stored, if it was written and can be read.
    pub(crate) record: Option<Record>,
    /// Where the run time is.
    pub(crate) runtime: Runtime,
}

/// The option `scope`, before it is read.
#[derive(Default)]
pub(crate) enum Scope {
    /// Not written.
    #[default]
    Missing,
    /// Written, but not as a string; that has been reported.
    Unreadable,
    /// The text.
    Text(LitStr),
}

/// The option `record`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Decided,
    All,
    Success,
}

impl Record {
    const VALUES: [(&'static str, Self); 3] =
        [("decided", Self::Decided), ("all", Self::All), ("success", Self::Success)];
}

/// Reads the options; what cannot be read is written down and left out.
pub(crate) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> Args {
    let mut args = Args::default();
    let mut ttl = None;
    let mut allowed: Vec<Ident> = Vec::new();

    let options = |input: ParseStream<'_>| {
        option::each(input, &OPTIONS, mistakes, |key, input, mistakes| match key.name.as_str() {
            "scope" => {
                args.scope = Scope::Unreadable;
                args.scope = Scope::Text(string(key, input, "tenant,endpoint")?);
                Ok(())
            }
            "ttl" => {
                ttl = Some(string(key, input, "24h")?);
                Ok(())
            }
            "record" => {
                args.record = record(&string(key, input, "decided")?, mistakes);
                Ok(())
            }
            "allow" => opt_outs(key, input, &mut allowed, mistakes),
            _ => {
                args.runtime = key.runtime(input)?;
                Ok(())
            }
        });
        Ok(())
    };
    if let Err(error) = options.parse2(tokens) {
        mistakes.add(error.into());
    }

    args.ttl = ttl.map(|ttl| seconds(&ttl, &allowed, mistakes));
    args
}

/// The string after `=`.
fn string(key: &Key, input: ParseStream<'_>, example: &str) -> Result<LitStr, Mistake> {
    let name = &key.name;
    let help = format!("write `{name} = \"{example}\"`");
    let value = key.value(input, &help)?;
    syn::parse2(value.clone())
        .map_err(|_| Mistake::on(value, format!("the value of `{name}` is a string")).help(help))
}

/// The time to live in seconds; one day if it cannot be read.
fn seconds(literal: &LitStr, allowed: &[Ident], mistakes: &mut Mistakes) -> u64 {
    let text = literal.value();
    let seconds = match ttl::parse(&text) {
        Ok(seconds) => seconds,
        Err(error) => {
            mistakes.add(Mistake::on(literal, error.message(&text)).help(error.help(&text)));
            return ttl::DAY;
        }
    };
    if seconds < ttl::DAY && !allowed.iter().any(|name| name == "short_ttl") {
        mistakes.add(
            Mistake::on(literal, format!("a time to live of `{text}` is shorter than one day"))
                .note("a client that retries after it runs the handler a second time")
                .help(r#"write `ttl = "24h"` or more, or add the option `allow(short_ttl)`"#),
        );
    }
    seconds
}

fn record(literal: &LitStr, mistakes: &mut Mistakes) -> Option<Record> {
    let text = literal.value();
    let found = Record::VALUES.into_iter().find(|(name, _)| *name == text).map(|(_, record)| record);
    if found.is_none() {
        let names = Record::VALUES.map(|(name, _)| name);
        let mistake = Mistake::on(literal, format!("`{text}` is not a value of `record`"));
        mistakes.add(match nearest(&text, names) {
            Some(near) => mistake.help(format!("a value with a similar name exists: `{near}`")),
            None => mistake.help(format!("the values are {}", listed(names))),
        });
    }
    found
}

/// The names in the parentheses of `allow(…)`.
fn opt_outs(
    key: &Key,
    input: ParseStream<'_>,
    allowed: &mut Vec<Ident>,
    mistakes: &mut Mistakes,
) -> Result<(), Mistake> {
    let known = listed(OPT_OUTS);
    if !input.peek(syn::token::Paren) {
        let message = "`allow` takes names in parentheses";
        return Err(Mistake::at(key.span, message).help("write `allow(short_ttl)`"));
    }
    let names = (|| {
        let content;
        syn::parenthesized!(content in input);
        content.parse_terminated(Ident::parse_any, Token![,])
    })()?;
    if names.is_empty() {
        mistakes.add(Mistake::at(key.span, "`allow` names nothing").help(format!("it can name {known}")));
    }
    for name in names {
        let text = name.unraw().to_string();
        if !OPT_OUTS.contains(&text.as_str()) {
            let mistake = Mistake::on(&name, format!("unknown name `{text}` in `allow`"));
            mistakes.add(match nearest(&text, OPT_OUTS) {
                Some(near) => mistake.help(format!("a similar name exists: `{near}`")),
                None => mistake.help(format!("it can name {known}")),
            });
        } else if allowed.contains(&name) {
            mistakes.add(
                Mistake::on(&name, format!("`{text}` is named twice in `allow`")).help("remove one of them"),
            );
        } else {
            allowed.push(name);
        }
    }
    Ok(())
}
