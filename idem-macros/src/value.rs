//! The values of options. One rule for all: a bool and a number are literals, a type or a path is bare, everything
//! else is a string.

use proc_macro2::{Group, Ident};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{LitBool, LitInt, LitStr, Token, Type};

use crate::duration::{Kind, WAIT};
use crate::errors::{Mistake, Mistakes};
use crate::names::{listed, nearest};
use crate::option::Key;
use crate::runtime::Runtime;

impl Key {
    /// The string after `=`.
    pub(crate) fn string(&self, input: ParseStream<'_>, example: &str) -> Result<LitStr, Mistake> {
        let help = format!("write `{} = \"{example}\"`", self.name);
        let is_first = input.peek2(LitStr);
        self.parsed(input, if is_first { "one string" } else { "a string" }, help)
    }

    /// The `true` or `false` after `=`.
    pub(crate) fn flag(&self, input: ParseStream<'_>, example: bool) -> Result<bool, Mistake> {
        let help = format!("write `{} = {example}`, without quotes", self.name);
        self.parsed::<LitBool>(input, "`true` or `false`", help).map(|literal| literal.value)
    }

    /// One of the numbers that the option may be.
    pub(crate) fn number(
        &self,
        input: ParseStream<'_>,
        allowed: &[u16],
        mistakes: &mut Mistakes,
    ) -> Result<Option<u16>, Mistake> {
        let numbers: Vec<String> = allowed.iter().map(u16::to_string).collect();
        let help = format!("the values are {}", listed(numbers.iter().map(String::as_str)));
        let literal: LitInt = self.parsed(input, "a number", help.clone())?;
        let found = literal.base10_parse::<u16>().ok().filter(|number| allowed.contains(number));
        if found.is_none() {
            let message = format!("`{literal}` is not a value of `{}`", self.name);
            mistakes.add(Mistake::on(&literal, message).help(help));
        }
        Ok(found)
    }

    /// The type after `=`.
    pub(crate) fn ty(&self, input: ParseStream<'_>, example: &str) -> Result<Type, Mistake> {
        let help = format!("write the type without quotes: `{} = {example}`", self.name);
        self.parsed(input, "a type", help)
    }

    /// The path after `crate =`.
    pub(crate) fn runtime(&self, input: ParseStream<'_>) -> Result<Runtime, Mistake> {
        let help = "write the path of the run time, without quotes: `crate = my_crate::idem_runtime`";
        self.parsed(input, "a path", help.to_owned())
    }

    /// The path of a function after `=`.
    pub(crate) fn function(&self, input: ParseStream<'_>) -> Result<syn::ExprPath, Mistake> {
        let help = format!("write the path of a function, without quotes: `{} = my_function`", self.name);
        self.parsed(input, "a path", help)
    }

    fn parsed<T: Parse>(&self, input: ParseStream<'_>, what: &str, help: String) -> Result<T, Mistake> {
        let value = self.value(input, &help)?;
        syn::parse2(value.clone())
            .map_err(|_| Mistake::on(value, format!("the value of `{}` is {what}", self.name)).help(help))
    }

    /// The variant that the string stands for.
    pub(crate) fn word<T: Copy>(
        &self,
        input: ParseStream<'_>,
        values: &[(&str, T)],
        mistakes: &mut Mistakes,
    ) -> Result<Option<T>, Mistake> {
        let words = || values.iter().map(|(word, _)| *word);
        let literal = self.string(input, words().next().unwrap_or_default())?;
        let text = literal.value();
        let found = values.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let mistake = Mistake::on(&literal, format!("`{text}` is not a value of `{}`", self.name));
            mistakes.add(match nearest(&text, words()) {
                Some(near) => mistake.help(format!("a value with a similar name exists: `{near}`")),
                None => mistake.help(format!("the values are {}", listed(words()))),
            });
        }
        Ok(found)
    }

    /// The duration that the string stands for, and the string.
    pub(crate) fn duration(
        &self,
        input: ParseStream<'_>,
        kind: &Kind,
        mistakes: &mut Mistakes,
    ) -> Result<(Option<std::time::Duration>, LitStr), Mistake> {
        let literal = self.string(input, kind.usual)?;
        let text = literal.value();
        let read = kind.read(&text).map_err(|wrong| {
            let help = kind.help(&wrong, &text, |value| format!("{} = \"{value}\"", self.name));
            Mistake::on(&literal, kind.message(&wrong, &text)).help(help)
        });
        let read = read.map_err(|mistake| mistakes.add(mistake)).ok();
        Ok((read, literal))
    }

    /// The names in the parentheses of `allow(…)`, each of which must be known.
    pub(crate) fn names(
        &self,
        input: ParseStream<'_>,
        known: &[&str],
        mistakes: &mut Mistakes,
    ) -> Result<Vec<Ident>, Mistake> {
        let key = &self.name;
        let example = known.first().copied().unwrap_or_default();
        if !input.peek(syn::token::Paren) {
            let message = format!("`{key}` takes names in parentheses");
            return Err(Mistake::at(self.span, message).help(format!("write `{key}({example})`")));
        }
        let tokens = input.parse::<Group>()?.stream();
        let read = |input: ParseStream<'_>| input.parse_terminated(Ident::parse_any, Token![,]);
        let written = read.parse2(tokens.clone()).map_err(|_| {
            Mistake::on(&tokens, format!("`{key}` takes names, without quotes"))
                .help(format!("write `{key}({example})`"))
        })?;
        let help = format!("it can name {}", listed(known.iter().copied()));
        if written.is_empty() {
            mistakes.add(Mistake::at(self.span, format!("`{key}` names nothing")).help(&help));
        }
        let mut names: Vec<Ident> = Vec::new();
        for name in written {
            let text = name.unraw().to_string();
            if !known.contains(&text.as_str()) {
                let mistake = Mistake::on(&name, format!("unknown name `{text}` in `{key}`"));
                mistakes.add(match nearest(&text, known.iter().copied()) {
                    Some(near) => mistake.help(format!("a similar name exists: `{near}`")),
                    None => mistake.help(&help),
                });
            } else if names.contains(&name) {
                let message = format!("`{text}` is named twice in `{key}`");
                mistakes.add(Mistake::on(&name, message).help("remove one of them"));
            } else {
                names.push(name);
            }
        }
        Ok(names)
    }
}

/// `"reject"`, `"wait 5s"` or `"wait 10s, then 503"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InProgress {
    Reject,
    Wait { limit_ms: u32, then: u16 },
}

/// Reads the value of `in_progress`.
///
/// # Errors
/// The mistake.
pub(crate) fn in_progress(literal: &LitStr) -> Result<InProgress, Mistake> {
    const HELP: &str = r#"the values are `"reject"`, `"wait 5s"`, `"wait 10s, then 503"`"#;
    let text = literal.value();
    if text == "reject" {
        return Ok(InProgress::Reject);
    }
    let unreadable = || Mistake::on(literal, format!("`{text}` is not a value of `in_progress`")).help(HELP);
    let Some(wait) = text.strip_prefix("wait ") else {
        return Err(match nearest(&text, ["reject"]) {
            Some(near) => Mistake::on(literal, format!("`{text}` is not a value of `in_progress`"))
                .help(format!("a value with a similar name exists: `{near}`")),
            None => unreadable(),
        });
    };
    let suffix = wait.find(',').and_then(|at| wait.get(at..)).unwrap_or_default();
    let (limit, then) = match wait.split_once(',') {
        None if wait.contains(" then ") => return Err(unreadable()),
        None => (wait, 409),
        Some((limit, then)) => match then.trim() {
            "then 409" => (limit, 409),
            "then 503" => (limit, 503),
            _ => return Err(unreadable()),
        },
    };
    let limit = limit.trim();
    let kind = &WAIT;
    if limit.is_empty() {
        return Err(unreadable());
    }
    let limit_ms = match kind.read(limit) {
        // At most ten seconds, so it fits.
        Ok(limit) => u32::try_from(limit.as_millis()).unwrap_or(u32::MAX),
        Err(wrong) => {
            let help = kind.help(&wrong, limit, |value| format!("in_progress = \"wait {value}{suffix}\""));
            return Err(Mistake::on(literal, kind.message(&wrong, limit)).help(help));
        }
    };
    Ok(InProgress::Wait { limit_ms, then })
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn read(text: &str) -> Result<InProgress, String> {
        in_progress(&LitStr::new(text, Span::call_site())).map_err(|mistake| {
            let mut mistakes = Mistakes::default();
            mistakes.add(mistake);
            mistakes.messages().concat()
        })
    }

    #[test]
    fn a_duplicate_is_rejected_or_waits() {
        assert_eq!(read("reject"), Ok(InProgress::Reject));
        assert_eq!(read("wait 5s"), Ok(InProgress::Wait { limit_ms: 5_000, then: 409 }));
        assert_eq!(read("wait 10ms,then 409"), Ok(InProgress::Wait { limit_ms: 10, then: 409 }));
        assert_eq!(read("wait 10s, then 503"), Ok(InProgress::Wait { limit_ms: 10_000, then: 503 }));
    }

    #[test]
    fn anything_else_is_one_mistake() {
        for (text, message) in [
            ("", "`` is not a value of `in_progress`"),
            ("rejects", "`rejects` is not a value of `in_progress`"),
            ("wait", "`wait` is not a value of `in_progress`"),
            ("wait ", "`wait ` is not a value of `in_progress`"),
            ("wait 5s then 503", "`wait 5s then 503` is not a value of `in_progress`"),
            ("wait 5s, then 500", "`wait 5s, then 500` is not a value of `in_progress`"),
            ("wait 5", "a wait of `5` has no unit"),
            ("wait 5m", "`5m` is not a wait"),
            ("wait 0s", "a wait of `0s` ends before it begins"),
            ("wait 9ms", "a wait of `9ms` is shorter than `10ms`"),
            ("wait 30s", "a wait of `30s` is longer than `10s`"),
            ("wait 99999999999999999999s", "a wait of `99999999999999999999s` is longer than `10s`"),
        ] {
            assert_eq!(read(text), Err(message.to_owned()), "{text}");
        }
    }
}
