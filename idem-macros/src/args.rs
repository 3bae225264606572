//! What was written in the attribute of a handler or of a policy, and where: one grammar, one parser.

#[cfg(test)]
mod tests;

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use syn::parse::{ParseStream, Parser};
use syn::{LitStr, Type};

use crate::duration::{DAY, RUN_LIMIT, TTL};
use crate::errors::{Mistake, Mistakes};
use crate::header_name;
use crate::inner::Inner;
use crate::known;
use crate::option::{self, Key, Known, Seen};
use crate::runtime::Runtime;
use crate::setting::{Setting, Value};
use crate::size;
use crate::value::in_progress;

/// The options of a handler, in the order in which the messages list them.
const OF_HANDLERS: [&str; 11] = [
    "scope",
    "ttl",
    "policy",
    "key",
    "required",
    "in_progress",
    "record",
    "endpoint",
    "inner",
    "allow",
    "crate",
];

/// The options of a policy, likewise.
const OF_POLICIES: [&str; 17] = [
    "scope",
    "ttl",
    "required",
    "in_progress",
    "record",
    "allow",
    "header",
    "syntax",
    "key_format",
    "mismatch",
    "replay_headers",
    "max_response",
    "isolation",
    "run_limit",
    "fingerprint",
    "engine",
    "crate",
];

/// The settings of the builder that are none of an attribute.
const OF_THE_BUILDER: [&str; 13] = [
    "acquire_timeout",
    "advisory_locks",
    "documentation",
    "echo_key",
    "enabled",
    "error_shape",
    "mark_first_answers",
    "prepared_statements",
    "problem_base",
    "replay_marker",
    "table",
    "wrap_tasks",
    "xmin_check",
];

/// The opt-outs of `allow(…)`.
const OPT_OUTS: [&str; 1] = ["short_ttl"];

/// The options that were written.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) scope: Scope,
    /// The type of the shared policy.
    pub(crate) policy: Option<Type>,
    /// The path to the key in an argument.
    pub(crate) key: Option<LitStr>,
    /// The name under which the handler stays callable.
    pub(crate) inner: Option<Inner>,
    /// Whether the engine is in the request's extensions.
    pub(crate) is_engine_in_extension: bool,
    /// What the run time is told.
    pub(crate) settings: Vec<Setting>,
    /// Where the run time is.
    pub(crate) runtime: Runtime,
}

/// The option `scope`, before it is read.
#[derive(Default)]
pub(crate) enum Scope {
    /// Not written.
    #[default]
    Missing,
    /// Written, but not as a string, or where it must not be; that has been reported.
    Unreadable,
    /// The text.
    Text(LitStr),
}

/// Whose options they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Handler,
    Policy,
}

impl Place {
    fn known(self) -> Known<'static> {
        match self {
            Self::Handler => Known { names: &OF_HANDLERS, elsewhere: beyond_handlers },
            Self::Policy => Known { names: &OF_POLICIES, elsewhere: beyond_policies },
        }
    }
}

/// What is said of an option that a handler does not have.
fn beyond_handlers(key: &Key) -> Option<Mistake> {
    let name = &key.name;
    if name == "engine" {
        return Some(
            Mistake::at(key.span, "`engine` is an option of policies")
                .help("move it to the policy that the handler names: `#[policy(engine = …)]`"),
        );
    }
    if OF_POLICIES.contains(&name.as_str()) {
        return Some(
            Mistake::at(key.span, format!("`{name}` is an option of policies and of the builder"))
                .note("it is what the API promises, not what one operation is")
                .help(format!(
                    "move it to the handler's policy, `#[policy({name} = …)]`, or to `Idempotency::builder`"
                )),
        );
    }
    of_the_builder(key)
}

/// What is said of an option that a policy does not have.
fn beyond_policies(key: &Key) -> Option<Mistake> {
    let name = &key.name;
    if OF_HANDLERS.contains(&name.as_str()) && name != "crate" {
        return Some(
            Mistake::at(key.span, format!("`{name}` is an option of handlers"))
                .note("it is what one operation is, not what the API promises")
                .help(format!("move it to the handler: `#[idempotent({name} = …)]`")),
        );
    }
    of_the_builder(key)
}

fn of_the_builder(key: &Key) -> Option<Mistake> {
    let name = OF_THE_BUILDER.into_iter().find(|name| *name == key.name)?;
    Some(
        Mistake::at(key.span, format!("`{name}` is a setting of the builder"))
            .help(format!("call `.{name}(…)` on `Idempotency::builder`")),
    )
}

/// Reads the options of a handler; what cannot be read is written down and left out.
pub(crate) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> Args {
    let mut reader = Reader::default();
    let options = |input: ParseStream<'_>| {
        reader.read(input, Place::Handler, mistakes);
        Ok(())
    };
    if let Err(error) = options.parse2(tokens) {
        mistakes.add(error.into());
    }
    reader.finish(mistakes)
}

/// Reads options, which a policy may spread over several attributes.
#[derive(Default)]
pub(crate) struct Reader {
    args: Args,
    /// Where `scope` stands.
    scope_at: Option<Span>,
    ttl: Option<(Duration, LitStr)>,
    run_limit: Option<(Duration, LitStr)>,
    allowed: Vec<Ident>,
    seen: Seen,
}

impl Reader {
    pub(crate) fn read(&mut self, input: ParseStream<'_>, place: Place, mistakes: &mut Mistakes) {
        let mut seen = std::mem::take(&mut self.seen);
        option::each(input, &place.known(), &mut seen, mistakes, |key, input, mistakes| {
            self.option(key, input, mistakes)
        });
        self.seen = seen;
    }

    fn option(&mut self, key: &Key, input: ParseStream<'_>, mistakes: &mut Mistakes) -> Result<(), Mistake> {
        let args = &mut self.args;
        let setting = match key.name.as_str() {
            "scope" => {
                self.scope_at = Some(key.span);
                args.scope = Scope::Unreadable;
                args.scope = Scope::Text(key.string(input, "endpoint")?);
                None
            }
            "ttl" => {
                let (ttl, literal) = key.duration(input, &TTL, mistakes)?;
                self.ttl = ttl.map(|ttl| (ttl, literal));
                ttl.map(|ttl| ("ttl", Value::Seconds(ttl.as_secs())))
            }
            "run_limit" => {
                let (limit, literal) = key.duration(input, &RUN_LIMIT, mistakes)?;
                self.run_limit = limit.map(|limit| (limit, literal));
                limit.map(|limit| ("run_limit", Value::Seconds(limit.as_secs())))
            }
            "policy" => {
                // Written, if wrongly: the handler has no scope of its own to ask for.
                if matches!(args.scope, Scope::Missing) {
                    args.scope = Scope::Unreadable;
                }
                args.policy = policy(key.ty(input, "api_policy::PublicApi")?, mistakes);
                None
            }
            "key" => {
                args.key = Some(key.string(input, "event.id")?);
                None
            }
            "required" => Some(("required", Value::Flag(key.flag(input, false)?))),
            "in_progress" => {
                let literal = key.string(input, "wait 5s")?;
                Some(("in_progress", Value::InProgress(in_progress(&literal)?)))
            }
            "endpoint" => endpoint(&key.string(input, "orders.create")?, mistakes)
                .map(|name| ("endpoint", Value::Text(name))),
            "inner" => {
                args.inner = Inner::read(&key.string(input, "create_order_inner")?, mistakes);
                None
            }
            "allow" => {
                self.allowed = key.names(input, &OPT_OUTS, mistakes)?;
                None
            }
            "header" => header_name::one(&key.string(input, "Idempotency-Key")?, mistakes)
                .map(|name| ("header", Value::Text(name))),
            "replay_headers" => {
                let names = header_name::replayed(&key.string(input, "x-total")?, mistakes);
                Some(("replay_headers", Value::Texts(names)))
            }
            "max_response" => {
                size(&key.string(input, "1MiB")?, mistakes).map(|bytes| ("max_response", Value::Bytes(bytes)))
            }
            "mismatch" => key
                .number(input, &[422, 409, 400], mistakes)?
                .map(|status| ("mismatch", Value::Status(status))),
            "fingerprint" => key
                .word(input, &[("off", false), ("on", true)], mistakes)?
                .map(|on| ("fingerprint", Value::Flag(on))),
            "engine" => {
                let found = key.word(input, &[("extension", true), ("state", false)], mistakes)?;
                args.is_engine_in_extension = found.unwrap_or_default();
                None
            }
            "crate" => {
                args.runtime = key.runtime(input)?;
                None
            }
            _ => return self.word(key, input, mistakes),
        };
        self.args.settings.extend(setting.map(|(name, value)| Setting { name, value }));
        Ok(())
    }

    /// An option whose value is one of a few words.
    fn word(&mut self, key: &Key, input: ParseStream<'_>, mistakes: &mut Mistakes) -> Result<(), Mistake> {
        let (name, ty, words): (_, _, &[(&str, &'static str)]) = match key.name.as_str() {
            "record" => {
                ("record", "RecordRule", &[("decided", "Decided"), ("all", "All"), ("success", "Success")])
            }
            "syntax" => ("syntax", "Syntax", &[("strict", "Strict"), ("lenient", "Lenient")]),
            "key_format" => ("key_format", "KeyFormat", &[("uuid", "Uuid"), ("any", "Any")]),
            _ => (
                "isolation",
                "Isolation",
                &[
                    ("read committed", "ReadCommitted"),
                    ("repeatable read", "RepeatableRead"),
                    ("serializable", "Serializable"),
                ],
            ),
        };
        if let Some(variant) = key.word(input, words, mistakes)? {
            self.args.settings.push(Setting { name, value: Value::Variant(ty, variant) });
        }
        Ok(())
    }

    /// Options that cannot be read at all, which was reported: one of them may have been the scope.
    pub(crate) fn skip(&mut self) {
        self.seen.meant.push("scope".to_owned());
    }

    /// What can only be judged once all options are known.
    pub(crate) fn finish(self, mistakes: &mut Mistakes) -> Args {
        let Self { mut args, scope_at, ttl, run_limit, allowed, seen } = self;
        if matches!(args.scope, Scope::Missing)
            && seen.meant.iter().any(|name| name == "scope" || name == "policy")
        {
            args.scope = Scope::Unreadable;
        }
        if let (Some(_), Some(at)) = (&args.policy, scope_at) {
            mistakes.add(
                Mistake::at(at, "`scope` stands beside `policy`, which says what keys are unique within")
                    .note("every other option of the policy can be overridden; dropping a tenant must not be one word")
                    .help(
                        "remove `scope`, name a policy with this scope, or write out the policy's options in place of `policy`",
                    ),
            );
            args.scope = Scope::Unreadable;
        }
        if let Some((ttl, literal)) = &ttl
            && *ttl < DAY
            && !allowed.iter().any(|name| name == "short_ttl")
        {
            mistakes.add(
                Mistake::on(
                    literal,
                    format!("a time to live of `{}` is shorter than one day", literal.value()),
                )
                .note("a client that retries after it runs the handler a second time")
                .help(r#"write `ttl = "24h"` or more, or add the option `allow(short_ttl)`"#),
            );
        }
        if let Some((limit, literal)) = &run_limit
            && let Some((ttl, written)) = &ttl
            && limit > ttl
        {
            let message = format!(
                "a run limit of `{}` is longer than the time to live of `{}`",
                literal.value(),
                written.value()
            );
            mistakes.add(
                Mistake::on(literal, message)
                    .note("a key that expires before its request ends does not protect it")
                    .help(format!("write at most `run_limit = \"{}\"`", written.value())),
            );
        }
        args
    }
}

/// The policy's type, which has a name: nothing else can be derived for.
fn policy(ty: Type, mistakes: &mut Mistakes) -> Option<Type> {
    if matches!(known::peeled(&ty), Type::Path(_) | Type::Macro(_)) {
        return Some(ty);
    }
    mistakes.add(
        Mistake::on(&ty, "a policy is a struct that is named")
            .help("name a struct with `#[derive(idem_runtime::Policy)]`: `policy = api_policy::PublicApi`"),
    );
    None
}

/// The endpoint's own name.
fn endpoint(literal: &LitStr, mistakes: &mut Mistakes) -> Option<String> {
    let name = literal.value();
    if name.trim().is_empty() || name.contains('\0') {
        mistakes.add(
            Mistake::on(literal, "an endpoint's name is a text that is not empty")
                .help(r#"write a name that never changes: `endpoint = "orders.create"`"#),
        );
        return None;
    }
    Some(name)
}

/// The size in bytes.
fn size(literal: &LitStr, mistakes: &mut Mistakes) -> Option<u64> {
    let text = literal.value();
    let read = size::read(&text).map_err(|wrong| {
        mistakes.add(Mistake::on(literal, wrong.message(&text)).help(wrong.help(&text, "max_response")));
    });
    read.ok()
}
