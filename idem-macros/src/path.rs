//! The text of `scope` and `key`, read without knowing what has the names.
//!
//! ```text
//! scope = part { "," part }
//! part  = [ label "=" ] path
//! key   = path
//! path  = name { "." ( name [ "()" ] | index ) }
//! ```

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::Parser;

/// A part as written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The label, if one is written.
    pub(crate) label: Option<String>,
    pub(crate) path: Path,
}

/// A path as written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The first name.
    pub(crate) head: String,
    /// What is asked of it.
    pub(crate) steps: Vec<Step>,
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
pub(crate) enum PartError {
    /// Nothing between two commas, or after the last.
    Empty,
    /// A call with arguments.
    Arguments,
    /// Anything else.
    Unreadable,
}

/// The parts in order, each read or with what is wrong with it; every token gets `span`.
pub(crate) fn parts(text: &str, span: Span) -> Vec<Result<Part, (String, PartError)>> {
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

fn read(text: &str, span: Span) -> Result<Part, PartError> {
    if text.is_empty() {
        return Err(PartError::Empty);
    }
    let (label, path) = match text.split_once('=') {
        Some((label, path)) if !path.trim().is_empty() => (Some(name(label)?), path),
        Some(_) => return Err(PartError::Unreadable),
        None => (None, text),
    };
    Ok(Part { label, path: one(path, span)? })
}

/// Reads one path; every token gets `span`.
///
/// # Errors
/// See [`PartError`].
pub(crate) fn one(path: &str, span: Span) -> Result<Path, PartError> {
    if path.trim().is_empty() {
        return Err(PartError::Empty);
    }
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
    Ok(Path { head, steps })
}

impl Path {
    /// The label of a path without one.
    pub(crate) fn last_name(&self) -> String {
        let named = self.steps.iter().rev().find_map(|step| match step {
            Step::Field(name) | Step::Call(name) => Some(name.unraw().to_string()),
            Step::Index(_) => None,
        });
        named.unwrap_or_else(|| self.head.clone())
    }

    /// The path as the author would write it.
    pub(crate) fn spelled(&self) -> String {
        spelled(&self.head, &self.steps)
    }

    /// A label that is probably free.
    pub(crate) fn suggested(&self) -> String {
        suggested(&self.spelled())
    }
}

/// A label that is probably free: `user.id` becomes `user_id`.
pub(crate) fn suggested(spelled: &str) -> String {
    spelled.replace("()", "").replace('.', "_")
}

/// A path as its author would write it.
pub(crate) fn spelled(head: &str, steps: &[Step]) -> String {
    let head = head.trim_start_matches("r#").to_owned();
    let steps = steps.iter().map(|step| match step {
        Step::Field(name) => format!(".{}", name.unraw()),
        Step::Index(index) => format!(".{index}"),
        Step::Call(name) => format!(".{}()", name.unraw()),
    });
    std::iter::once(head).chain(steps).collect()
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
pub(crate) fn ident(name: &str, span: Span) -> Result<Ident, PartError> {
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

    fn one_part(text: &str) -> Result<Part, PartError> {
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
            let Part { label: written, path } = one_part(text).unwrap();
            assert_eq!((written.as_deref(), path.head.as_str()), (label, head), "{text}");
            assert_eq!(path.steps, steps, "{text}");
        }
    }

    #[test]
    fn parts_are_separated_by_commas() {
        let heads: Vec<String> = parts("tenant, user.id ,endpoint", Span::call_site())
            .into_iter()
            .map(|part| part.unwrap().path.head)
            .collect();

        assert_eq!(heads, ["tenant", "user", "endpoint"]);
    }

    #[test]
    fn a_missing_part_is_empty() {
        for text in ["", "  "] {
            assert_eq!(one_part(text), Err(PartError::Empty));
        }
        assert_eq!(parts("a,,b", Span::call_site())[1], Err((String::new(), PartError::Empty)));
        assert_eq!(parts("a,", Span::call_site())[1], Err((String::new(), PartError::Empty)));
    }

    #[test]
    fn a_call_with_arguments_is_one_mistake() {
        for text in ["claims.get(tenant)", "claims.get(1, 2)", "claims.get(user.id)", "t = claims.get(\"a\")"]
        {
            assert_eq!(one_part(text), Err(PartError::Arguments), "{text}");
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
            assert_eq!(one_part(text), Err(PartError::Unreadable), "{text}");
        }
    }
}
