//! The text of `scope`, read without knowing the handler.
//!
//! ```text
//! scope = part { "," part }
//! part  = [ label "=" ] name { "." ( name [ "()" ] | index ) }
//! ```

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::Parser;

/// A part as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// The part's own text.
    pub(super) text: String,
    /// The label, if one is written.
    pub(super) label: Option<String>,
    /// The first name of the path.
    pub(super) head: String,
    /// What is asked of it.
    pub(super) steps: Vec<Step>,
}

/// One step from a value to a part of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A field by name.
    Field(Ident),
    /// A field of a tuple.
    Index(u32),
    /// A method without arguments.
    Call(Ident),
}

/// What is wrong with a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PartError {
    /// Nothing between two commas, or after the last.
    Empty,
    /// A call with arguments.
    Arguments,
    /// Anything else.
    Unreadable,
}

/// The parts in order, each read or with what is wrong with it; every token gets `span`.
pub(super) fn parts(text: &str, span: Span) -> Vec<Result<Written, (String, PartError)>> {
    split(text).into_iter().map(|part| read(part, span).map_err(|error| (part.to_owned(), error))).collect()
}

/// At commas, but not at those in parentheses: a call with arguments is one mistake, not two.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
    .collect()
}

fn read(text: &str, span: Span) -> Result<Written, PartError> {
    if text.is_empty() {
        return Err(PartError::Empty);
    }
    let (label, path) = match text.split_once('=') {
        Some((label, path)) => (Some(name(label)?), path),
        None => (None, text),
    };
    // A dot in the arguments of a call is no step.
    if let (Some(open), Some(close)) = (path.find('('), path.rfind(')'))
        && path
            .get(open + 1..close)
            .is_some_and(|inner| !inner.contains(['(', ')']) && !inner.trim().is_empty())
    {
        return Err(PartError::Arguments);
    }
    let mut segments = path.split('.');
    let head = name(segments.next().unwrap_or_default())?;
    let steps = segments.map(|segment| step(segment.trim(), span)).collect::<Result<_, _>>()?;
    Ok(Written { text: text.to_owned(), label, head, steps })
}

fn step(segment: &str, span: Span) -> Result<Step, PartError> {
    if segment.starts_with(|letter: char| letter.is_ascii_digit()) {
        return segment.parse().map(Step::Index).map_err(|_| PartError::Unreadable);
    }
    match segment.split_once('(') {
        Some((method, rest)) if rest.trim() == ")" => Ok(Step::Call(ident(&name(method)?, span)?)),
        Some(_) => Err(PartError::Unreadable),
        None => Ok(Step::Field(ident(&name(segment)?, span)?)),
    }
}

/// A name, without `r#`.
fn name(text: &str) -> Result<String, PartError> {
    let text = text.trim();
    // `_` would be a keyword; every other keyword may be the raw name of something. A comment would be skipped.
    match Ident::parse_any.parse_str(text) {
        Ok(ident) if ident != "_" && !text.contains('/') => Ok(ident.unraw().to_string()),
        _ => Err(PartError::Unreadable),
    }
}

/// The identifier of a name; raw if the name is a keyword.
pub(super) fn ident(name: &str, span: Span) -> Result<Ident, PartError> {
    if syn::parse_str::<Ident>(name).is_ok() {
        return Ok(Ident::new(name, span));
    }
    match name {
        "self" | "Self" | "super" | "crate" => Err(PartError::Unreadable),
        _ => Ok(Ident::new_raw(name, span)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Written, PartError> {
        let mut parts = parts(text, Span::call_site());
        assert_eq!(parts.len(), 1, "{text}");
        parts.remove(0).map_err(|(_, error)| error)
    }

    fn field(name: &str) -> Step {
        Step::Field(ident(name, Span::call_site()).unwrap())
    }

    fn call(name: &str) -> Step {
        Step::Call(ident(name, Span::call_site()).unwrap())
    }

    #[test]
    fn a_path_is_a_name_and_its_steps() {
        for (text, label, head, steps) in [
            ("tenant", None, "tenant", vec![]),
            (" tenant ", None, "tenant", vec![]),
            ("user.tenant_id", None, "user", vec![field("tenant_id")]),
            ("auth.0", None, "auth", vec![Step::Index(0)]),
            ("auth.0.1", None, "auth", vec![Step::Index(0), Step::Index(1)]),
            ("claims.account_id()", None, "claims", vec![call("account_id")]),
            ("tenant = claims.inner.id( )", Some("tenant"), "claims", vec![field("inner"), call("id")]),
            ("r#type.r#match", None, "type", vec![field("match")]),
            ("type.match", None, "type", vec![field("match")]),
        ] {
            let written = one(text).unwrap();
            assert_eq!((written.label.as_deref(), written.head.as_str()), (label, head), "{text}");
            assert_eq!(written.steps, steps, "{text}");
        }
    }

    #[test]
    fn parts_are_separated_by_commas() {
        let heads: Vec<String> = parts("tenant, user.id ,endpoint", Span::call_site())
            .into_iter()
            .map(|part| part.unwrap().head)
            .collect();

        assert_eq!(heads, ["tenant", "user", "endpoint"]);
    }

    #[test]
    fn a_missing_part_is_empty() {
        for text in ["", "  "] {
            assert_eq!(one(text), Err(PartError::Empty));
        }
        assert_eq!(parts("a,,b", Span::call_site())[1], Err((String::new(), PartError::Empty)));
        assert_eq!(parts("a,", Span::call_site())[1], Err((String::new(), PartError::Empty)));
    }

    #[test]
    fn a_call_with_arguments_is_one_mistake() {
        for text in ["claims.get(tenant)", "claims.get(1, 2)", "claims.get(user.id)", "t = claims.get(\"a\")"]
        {
            assert_eq!(one(text), Err(PartError::Arguments), "{text}");
        }
    }

    #[test]
    fn anything_else_is_unreadable() {
        for text in [
            "tenant id",
            "tenant:endpoint",
            ".tenant",
            "tenant.",
            "tenant..id",
            "_",
            "1",
            "user[0]",
            "a = b = c",
            "= tenant",
            "tenant =",
            "user.0x1",
            "user.99999999999",
            "user.id)",
            "user.id(",
            "call()",
            "user.id().x(",
            "user.self",
            "a::b",
            "&tenant",
            "user.id()()",
            "tenant/**/",
            "tenant//",
            "user.r#self",
            "tenant.é è",
        ] {
            assert_eq!(one(text), Err(PartError::Unreadable), "{text}");
        }
    }
}
