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
    let mut short_ttl = None;
    let mut allowed: Vec<Ident> = Vec::new();

    let options = |input: ParseStream<'_>| {
        option::each(input, &OPTIONS, mistakes, |key, input, mistakes| match key.name.as_str() {
            "scope" => {
                args.scope = Scope::Unreadable;
                args.scope = Scope::Text(string(key, input, "tenant,endpoint")?);
                Ok(())
            }
            "ttl" => {
                let literal = string(key, input, "24h")?;
                let seconds = seconds(&literal, mistakes);
                args.ttl = Some(seconds);
                short_ttl = (seconds < ttl::DAY).then_some(literal);
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

    // Whether it is allowed may be written after it.
    if let Some(literal) = short_ttl
        && !allowed.iter().any(|name| name == "short_ttl")
    {
        mistakes.add(
            Mistake::on(&literal, format!("a time to live of `{}` is shorter than one day", literal.value()))
                .note("a client that retries after it runs the handler a second time")
                .help(r#"write `ttl = "24h"` or more, or add the option `allow(short_ttl)`"#),
        );
    }
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
fn seconds(literal: &LitStr, mistakes: &mut Mistakes) -> u64 {
    let text = literal.value();
    ttl::parse(&text).unwrap_or_else(|error| {
        mistakes.add(Mistake::on(literal, error.message(&text)).help(error.help(&text)));
        ttl::DAY
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &str) -> (Args, Vec<String>) {
        let mut mistakes = Mistakes::default();
        let args = parse(options.parse().unwrap(), &mut mistakes);
        (args, mistakes.messages().into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn every_option_is_read() {
        let (args, mistakes) =
            read(r#"scope = "tenant", ttl = "1h", record = "all", allow(short_ttl), crate = a::b,"#);

        assert!(mistakes.is_empty(), "{mistakes:?}");
        assert!(matches!(args.scope, Scope::Text(text) if text.value() == "tenant"));
        assert_eq!((args.ttl, args.record), (Some(3_600), Some(Record::All)));
        assert_eq!(args.runtime.root(proc_macro2::Span::call_site()).to_string(), "a :: b");
    }

    #[test]
    fn what_is_not_written_is_left_to_the_run_time() {
        let (args, mistakes) = read("");

        assert!(mistakes.is_empty());
        assert!(matches!(args.scope, Scope::Missing));
        assert_eq!((args.ttl, args.record), (None, None));
    }

    #[test]
    fn a_short_ttl_may_be_allowed_before_or_after_it() {
        for options in [r#"ttl = "1s", allow(short_ttl)"#, r#"allow(short_ttl), ttl = "1s""#] {
            assert!(read(options).1.is_empty(), "{options}");
        }
        assert_eq!(read(r#"ttl = "86399s""#).1, ["a time to live of `86399s` is shorter than one day"]);
        assert!(read(r#"ttl = "86400s""#).1.is_empty());
    }

    #[test]
    fn parsing_goes_on_after_each_mistake() {
        let (args, mistakes) = read(
            r#"unknown(a, b) = c, scope = endpoint, "text", ttl, ttl = "1d", record = 1, allow(), allow(x), crate = "a""#,
        );

        assert_eq!(
            mistakes,
            [
                "unknown option `unknown`",
                "the value of `scope` is a string",
                "expected the name of an option",
                "`ttl` needs a value",
                "the option `ttl` is given twice",
                "the value of `record` is a string",
                "`allow` names nothing",
                "the option `allow` is given twice",
                "the value of `crate` is a path",
            ]
        );
        assert!(matches!(args.scope, Scope::Unreadable));
    }

    #[test]
    fn a_forgotten_comma_is_one_mistake() {
        let (args, mistakes) = read(r#"scope = "endpoint" ttl = "48h" allow(short_ttl)"#);

        assert_eq!(mistakes, ["expected `,` between two options"; 2]);
        assert_eq!(args.ttl, Some(2 * ttl::DAY));
    }

    #[test]
    fn options_of_a_later_version_are_unknown() {
        for option in ["policy = Api", r#"key = "event.id""#, "required = false", r#"in_progress = "reject""#]
        {
            let name = option.split_whitespace().next().unwrap();
            assert_eq!(read(option).1, [format!("unknown option `{name}`")]);
        }
    }
}
