//! Scope names resolved against what the arguments bind.

mod grammar;
#[cfg(test)]
mod tests;

use proc_macro2::{Ident, Span};
use syn::LitStr;
use syn::ext::IdentExt;

pub(crate) use self::grammar::Step;
use self::grammar::{PartError, Written};
use crate::args;
use crate::argument::{Argument, Role};
use crate::errors::{Mistake, Mistakes};
use crate::handler::Handler;
use crate::names::{listed, nearest};

const ENDPOINT: &str = "endpoint";
const GLOBAL: &str = "global";

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
    /// Method and matched route.
    Endpoint,
    /// Nothing; a key is unique in the whole table.
    Global,
    /// A value that an argument binds, or a part of one.
    Value(Value),
}

/// A value of the scope.
pub(crate) struct Value {
    pub(crate) label: String,
    /// The argument's place in the signature.
    pub(crate) argument: usize,
    /// The name that the argument binds.
    pub(crate) binding: Ident,
    /// From there to the value.
    pub(crate) steps: Vec<Step>,
    /// The text that names it.
    pub(crate) span: Span,
}

impl Scope {
    /// Whether a part of the scope is, or is taken from, the argument; or a dropped part might be.
    pub(crate) fn names(&self, argument: usize) -> bool {
        !self.is_complete || self.values().any(|value| value.argument == argument)
    }

    /// Whether the argument as a whole is a part of the scope, and so needs no comparison; or might be the one that
    /// a dropped part meant.
    pub(crate) fn is_whole(&self, index: usize, argument: &Argument) -> bool {
        let mut values = self.values().filter(|value| value.argument == index && value.steps.is_empty());
        argument.is_plain() && (!self.is_complete || values.next().is_some())
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(value) => Some(value),
            Part::Endpoint | Part::Global => None,
        })
    }
}

/// Resolves the text; a part that names nothing is written down and dropped.
pub(crate) fn resolve(written: &args::Scope, handler: &Handler, mistakes: &mut Mistakes) -> Scope {
    match written {
        args::Scope::Text(literal) => Resolver { literal, handler, mistakes }.resolve(),
        args::Scope::Unreadable => Scope::default(),
        args::Scope::Missing => {
            let message = "an `#[idempotent]` handler must say what its keys are unique within";
            mistakes.add(
                Mistake::at(Span::call_site(), message)
                    .help(r#"add the option `scope = "tenant,endpoint"`"#)
                    .note(available(handler)),
            );
            Scope::default()
        }
    }
}

struct Resolver<'a> {
    literal: &'a LitStr,
    handler: &'a Handler,
    mistakes: &'a mut Mistakes,
}

impl<'a> Resolver<'a> {
    fn resolve(mut self) -> Scope {
        let text = self.literal.value();
        if text.trim().is_empty() {
            let mistake = self.mistake("`scope` is empty").help(available(self.handler));
            self.mistakes.add(mistake);
            return Scope::default();
        }

        let mut written: Vec<Written> = Vec::new();
        let parts = grammar::parts(&text, self.literal.span());
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

    fn part(&mut self, written: Written, is_alone: bool) -> Option<Part> {
        let Written { text, label, head, steps } = written;
        let word = [ENDPOINT, GLOBAL].into_iter().find(|word| head == *word && steps.is_empty());
        if let Some(word) = word {
            return self.word(word, label.is_some(), is_alone);
        }
        if let Some(label) = label.as_deref().filter(|label| [ENDPOINT, GLOBAL].contains(label)) {
            let mistake = self
                .mistake(format!("`{label}` cannot be a label"))
                .help(format!("choose another label for `{}`", path_of(&text)));
            self.mistakes.add(mistake);
        }

        let (index, argument, binding) = self.binder(&head)?;
        if !argument.conditions.is_empty() {
            let mistake = self
                .mistake(format!("`{head}` is not always there, and the scope must not depend on a `cfg`"))
                .help("name an argument without `#[cfg]`");
            self.mistakes.add(mistake);
            return None;
        }
        let label = label.unwrap_or_else(|| last_name(&head, &steps));
        Some(Part::Value(Value { label, argument: index, binding, steps, span: self.literal.span() }))
    }

    /// `endpoint` or `global`.
    fn word(&mut self, word: &str, has_label: bool, is_alone: bool) -> Option<Part> {
        let mut mistakes = Vec::new();
        if has_label {
            mistakes.push(self.mistake(format!("`{word}` takes no label")).help(format!("write `{word}`")));
        }
        if let Some(binding) = bound(self.handler).find(|binding| binding.unraw() == word) {
            mistakes.push(
                Mistake::on(
                    binding,
                    format!("an argument is named `{word}`, which has a meaning of its own in `scope`"),
                )
                .help("rename the argument"),
            );
        }
        if word == GLOBAL && !is_alone {
            mistakes.push(
                self.mistake("`global` stands alone: a key is unique everywhere, or within the other parts")
                    .help("remove `global`, or the other parts"),
            );
        }
        for mistake in mistakes {
            self.mistakes.add(mistake);
        }
        match word {
            GLOBAL => is_alone.then_some(Part::Global),
            _ => Some(Part::Endpoint),
        }
    }

    /// The argument that binds the name.
    fn binder(&mut self, head: &str) -> Option<(usize, &'a Argument, Ident)> {
        let found = self.handler.arguments.iter().enumerate().find_map(|(index, argument)| {
            let binding = argument.bindings.iter().find(|binding| binding.unraw() == head)?;
            Some((index, argument, binding.clone()))
        });
        match found {
            Some((_, argument, _)) if argument.role == Role::Transaction => {
                let mistake = self
                    .mistake(format!("`{head}` is the transaction, which tells no caller from another"))
                    .help(available(self.handler));
                self.mistakes.add(mistake);
                None
            }
            // Reported where it stands.
            Some((_, argument, _)) if argument.role == Role::Unfit => None,
            Some(found) => Some(found),
            None => {
                let names: Vec<String> = nameable(self.handler);
                let known = names.iter().map(String::as_str).chain([ENDPOINT, GLOBAL]);
                let mistake = self.mistake(format!("no argument of this handler is named `{head}`"));
                let mistake = match nearest(head, known) {
                    Some(near @ (ENDPOINT | GLOBAL)) => {
                        mistake.help(format!("a part with a similar name exists: `{near}`"))
                    }
                    Some(near) => mistake.help(format!("an argument with a similar name exists: `{near}`")),
                    None => mistake.help(available(self.handler)),
                };
                self.mistakes.add(mistake);
                None
            }
        }
    }

    /// The part, unless it or its label is there already.
    fn distinct(&mut self, part: Part, scope: &Scope) -> Option<Part> {
        let mistake = match &part {
            Part::Value(value) => scope.values().find(|other| other.label == value.label).map(|other| {
                if other.binding == value.binding && other.steps == value.steps {
                    return self
                        .mistake(format!("`{}` is twice in `scope`", spelled(value)))
                        .help("remove one of them");
                }
                let renamed = if suggested(value) == value.label { other } else { value };
                self.mistake(format!("two parts of `scope` have the label `{}`", value.label)).help(format!(
                    "give one a label of its own: `{} = {}`",
                    suggested(renamed),
                    spelled(renamed)
                ))
            }),
            Part::Endpoint => scope
                .parts
                .iter()
                .any(|part| matches!(part, Part::Endpoint))
                .then(|| self.mistake("`endpoint` is twice in `scope`").help("remove one of them")),
            Part::Global => None,
        };
        match mistake {
            Some(mistake) => {
                self.mistakes.add(mistake);
                None
            }
            None => Some(part),
        }
    }

    fn unreadable(&mut self, text: &str, error: &PartError) {
        let mistake = match error {
            PartError::Empty => self.mistake("a part of `scope` is empty").help("remove the comma that is too much"),
            PartError::Arguments => self
                .mistake(format!("a call in `scope` takes no arguments: `{text}`"))
                .help("name an argument of the handler, a field, or a method that takes only `&self`"),
            PartError::Unreadable => self.mistake(format!("`{text}` is not a part of a scope")).help(
                "a part is `endpoint`, an argument's name (`tenant`), a field of one (`user.id`) or a call without arguments (`claims.account_id()`); a label may stand before it (`tenant = user.id`)",
            ),
        };
        self.mistakes.add(mistake);
    }

    fn mistake(&self, message: impl Into<String>) -> Mistake {
        Mistake::on(self.literal, message)
    }
}

/// What the scope of this handler can name.
fn available(handler: &Handler) -> String {
    let names = nameable(handler);
    format!(
        "a scope names arguments or `endpoint`; here it can use {}",
        listed(names.iter().map(String::as_str).chain([ENDPOINT]))
    )
}

fn nameable(handler: &Handler) -> Vec<String> {
    bound(handler).map(|binding| binding.unraw().to_string()).collect()
}

/// The names that extractors bind.
fn bound(handler: &Handler) -> impl Iterator<Item = &Ident> {
    handler
        .arguments
        .iter()
        .filter(|argument| !matches!(argument.role, Role::Transaction | Role::Unfit))
        .flat_map(|argument| &argument.bindings)
}

/// The label of a path without one.
fn last_name(head: &str, steps: &[Step]) -> String {
    let named = steps.iter().rev().find_map(|step| match step {
        Step::Field(name) | Step::Call(name) => Some(name.unraw().to_string()),
        Step::Index(_) => None,
    });
    named.unwrap_or_else(|| head.to_owned())
}

/// The path as the author would write it.
fn spelled(value: &Value) -> String {
    let steps = value.steps.iter().map(|step| match step {
        Step::Field(name) => format!(".{}", name.unraw()),
        Step::Index(index) => format!(".{index}"),
        Step::Call(name) => format!(".{}()", name.unraw()),
    });
    std::iter::once(value.binding.unraw().to_string()).chain(steps).collect()
}

/// A label that is probably free: `user.id` becomes `user_id`.
fn suggested(value: &Value) -> String {
    spelled(value).replace("()", "").replace('.', "_")
}

fn path_of(text: &str) -> &str {
    text.split_once('=').map_or(text, |(_, path)| path.trim())
}
