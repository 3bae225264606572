//! Scope names resolved against what the arguments of a handler bind, or against the fields of a policy.

#[cfg(test)]
mod tests;

use proc_macro2::{Ident, Span};
use syn::LitStr;

use crate::args;
use crate::errors::{Mistake, Mistakes};
use crate::path::{self, Part as WrittenPart, PartError, Path, Step};
use crate::vocabulary::{Vocabulary, not_found};

const ENDPOINT: &str = "endpoint";
const GLOBAL: &str = "global";
const WORDS: [&str; 2] = [ENDPOINT, GLOBAL];

/// What a key is unique within.
#[derive(Default)]
pub(crate) struct Scope {
    /// In the order of the text.
    pub(crate) parts: Vec<Part>,
    /// Whether every part of the text is there.
    is_complete: bool,
}

/// A part of the scope.
pub(crate) enum Part {
    /// Method and matched route, or the endpoint's name.
    Endpoint,
    /// Nothing; a key is unique in the whole table.
    Global,
    /// A value under a label.
    Value(String, Value),
}

/// A value that an option names.
pub(crate) struct Value {
    /// The place of the argument or of the field.
    pub(crate) source: usize,
    /// The name that the argument binds, or the field's.
    pub(crate) binding: Ident,
    /// From there to the value.
    pub(crate) steps: Vec<Step>,
    /// The text that names it.
    pub(crate) span: Span,
}

impl Scope {
    /// The scope that a policy brings.
    pub(crate) fn of_policy() -> Self {
        Self { parts: Vec::new(), is_complete: true }
    }

    /// Whether a part of the scope is, or is taken from, the argument; or a dropped part might be.
    pub(crate) fn names(&self, source: usize) -> bool {
        !self.is_complete || self.values().any(|(_, value)| value.source == source)
    }

    /// Whether a value of the scope is all of `source`, and so needs no comparison; or might be the one that a dropped
    /// part meant.
    pub(crate) fn is_whole(&self, source: usize) -> bool {
        let mut values = self.values().filter(|(_, value)| value.source == source && value.steps.is_empty());
        !self.is_complete || values.next().is_some()
    }

    /// The same for what `source` binds by this name.
    pub(crate) fn is_whole_binding(&self, source: usize, binding: &Ident) -> bool {
        self.values()
            .any(|(_, value)| value.source == source && value.steps.is_empty() && value.binding == *binding)
    }

    fn values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(label, value) => Some((label.as_str(), value)),
            Part::Endpoint | Part::Global => None,
        })
    }
}

/// Resolves the text; a part that names nothing is written down and dropped.
pub(crate) fn resolve(
    written: &args::Scope,
    names: &Vocabulary<'_>,
    at: Span,
    mistakes: &mut Mistakes,
) -> Scope {
    match written {
        args::Scope::Text(literal) => Resolver { literal, names, mistakes }.resolve(),
        args::Scope::Unreadable => Scope::default(),
        args::Scope::Missing => {
            mistakes.add(missing(names, at));
            Scope::default()
        }
    }
}

fn missing(names: &Vocabulary<'_>, at: Span) -> Mistake {
    let message = match names.what() {
        "field" => "a policy must say what keys are unique within",
        _ => "an `#[idempotent]` handler must say what its keys are unique within",
    };
    let mistake = Mistake::at(at, message);
    match names.caller() {
        Some(caller) => mistake.help(format!("add the option `scope = \"{caller},endpoint\"`")),
        None => mistake
            .help(r#"add the option `scope = "endpoint"`"#)
            .note("callers who choose the same key get one answer, unless the scope names whoever calls"),
    }
}

struct Resolver<'a, 'n> {
    literal: &'a LitStr,
    names: &'a Vocabulary<'n>,
    mistakes: &'a mut Mistakes,
}

impl Resolver<'_, '_> {
    fn resolve(mut self) -> Scope {
        let text = self.literal.value();
        if text.trim().is_empty() {
            self.say("`scope` is empty", self.names.available("scope", &WORDS));
            return Scope::default();
        }

        let mut written: Vec<WrittenPart> = Vec::new();
        let parts = path::parts(&text, self.literal.span());
        let count = parts.len();
        for part in parts {
            match part {
                Ok(part) => written.push(part),
                Err((text, error)) => self.unreadable(&text, &error),
            }
        }
        let is_alone = written.len() == 1;
        let mut scope = Scope::default();
        for part in written {
            if let Some(part) = self.part(part, is_alone).and_then(|part| self.distinct(part, &scope)) {
                scope.parts.push(part);
            }
        }
        scope.is_complete = scope.parts.len() == count;
        scope
    }

    fn part(&mut self, written: WrittenPart, is_alone: bool) -> Option<Part> {
        let WrittenPart { label, path } = written;
        let word = WORDS.into_iter().find(|word| path.head == *word && path.steps.is_empty());
        if let Some(word) = word {
            return self.word(word, label.is_some(), is_alone);
        }
        let is_written = label.is_some();
        if let Some(label) = label.as_deref().filter(|label| WORDS.contains(label)) {
            self.say(
                format!("`{label}` cannot be a label"),
                format!("choose another label for `{}`", path.spelled()),
            );
        }
        let label = label.unwrap_or_else(|| path.last_name());
        if WORDS.contains(&label.as_str()) && !is_written {
            self.say(
                format!(
                    "the label of `{}` would be `{label}`, which has a meaning of its own",
                    path.spelled()
                ),
                format!("give it a label: `{} = {}`", path.suggested(), path.spelled()),
            );
        }
        let value = value(path, "scope", &WORDS, self.literal, self.names)
            .map_err(|mistake| mistake.into_iter().for_each(|mistake| self.mistakes.add(mistake)))
            .ok()?;
        Some(Part::Value(label, value))
    }

    /// `endpoint` or `global`.
    fn word(&mut self, word: &str, has_label: bool, is_alone: bool) -> Option<Part> {
        if has_label {
            self.say(format!("`{word}` takes no label"), format!("write `{word}`"));
        }
        if let Some(ident) = self.names.identifier(word) {
            let [article, what] = self.names.what_with_article();
            self.mistakes.add(
                Mistake::on(
                    ident,
                    format!("{article} {what} is named `{word}`, which has a meaning of its own in `scope`"),
                )
                .help(format!("rename the {what}")),
            );
        }
        if word == GLOBAL && !is_alone {
            self.say(
                "`global` stands alone: a key is unique everywhere, or within the other parts",
                "remove `global`, or the other parts",
            );
        }
        match word {
            GLOBAL => is_alone.then_some(Part::Global),
            _ => Some(Part::Endpoint),
        }
    }

    /// The part, unless it or its label is there already.
    fn distinct(&mut self, part: Part, scope: &Scope) -> Option<Part> {
        let again = match &part {
            Part::Value(label, value) => {
                scope.values().find(|(other, _)| other == label).map(|(label, other)| {
                    if other.binding == value.binding && other.steps == value.steps {
                        let message = format!("`{}` is twice in `scope`", value.spelled());
                        return (message, "remove one of them".to_owned());
                    }
                    let renamed = if value.suggested() == *label { other } else { value };
                    (
                        format!("two parts of `scope` have the label `{label}`"),
                        format!(
                            "give one a label of its own: `{} = {}`",
                            renamed.suggested(),
                            renamed.spelled()
                        ),
                    )
                })
            }
            Part::Endpoint => scope
                .parts
                .iter()
                .any(|part| matches!(part, Part::Endpoint))
                .then(|| ("`endpoint` is twice in `scope`".to_owned(), "remove one of them".to_owned())),
            Part::Global => None,
        };
        match again {
            Some((message, help)) => {
                self.say(message, help);
                None
            }
            None => Some(part),
        }
    }

    fn unreadable(&mut self, text: &str, error: &PartError) {
        let [article, what] = self.names.what_with_article();
        match error {
            PartError::Empty => self.say("a part of `scope` is empty", "remove the comma that is too much"),
            PartError::Arguments => self.say(
                format!("a call in `scope` takes no arguments: `{text}`"),
                "name a value of the request, a field, or a method that takes only `&self`",
            ),
            PartError::Unreadable => self.say(
                format!("`{text}` is not a part of a scope"),
                format!(
                    "a part is `endpoint`, the name of {article} {what} (`tenant`), a field of one (`user.id`) or a call without arguments (`claims.account_id()`); a label may stand before it (`tenant = user.id`)"
                ),
            ),
        }
    }

    fn say(&mut self, message: impl Into<String>, help: impl AsRef<str>) {
        self.mistakes.add(Mistake::on(self.literal, message).help(help));
    }
}

/// The value that a path leads to.
///
/// # Errors
/// The mistake; nothing if it has been reported.
pub(crate) fn value(
    path: Path,
    option: &str,
    words: &[&str],
    literal: &LitStr,
    names: &Vocabulary<'_>,
) -> Result<Value, Option<Mistake>> {
    let name = names
        .find(&path.head, option, words)
        .map_err(|found| found.map(|found| not_found(literal, found)))?;
    Ok(Value { source: name.source, binding: name.ident.clone(), steps: path.steps, span: literal.span() })
}

impl Value {
    /// The path as the author would write it.
    fn spelled(&self) -> String {
        path::spelled(&self.binding.to_string(), &self.steps)
    }

    /// A label that is probably free: `user.id` becomes `user_id`.
    fn suggested(&self) -> String {
        path::suggested(&self.spelled())
    }
}
