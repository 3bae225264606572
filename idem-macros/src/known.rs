//! Types and attributes told by their name alone.
//!
//! A macro sees no types. Names are used for advice only, and only where the type itself could not stand
//! anyway, or where the compiler's own message would come late or not at all.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Attribute, GenericArgument, Path, PathArguments, ReturnType, Type, TypePath, TypeReference};

use crate::function::Function;

/// Why an extractor that is a stream cannot be compared with a retry's.
pub(crate) struct Stream {
    pub(crate) name: String,
    pub(crate) help: &'static str,
}

/// The type without the invisible groups that `$ty:ty` of a macro leaves, and without parentheses.
pub(crate) fn peeled(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peeled(&group.elem),
        Type::Paren(paren) => peeled(&paren.elem),
        other => other,
    }
}

/// Whether the attribute is this one, under its own name.
pub(crate) fn is_idempotent(attr: &Attribute) -> bool {
    attr.path().segments.last().is_some_and(|segment| segment.ident == "idempotent")
}

/// Whether the attribute decides that what it stands on exists: `cfg`, or a `cfg_attr` that holds one.
pub(crate) fn is_condition(attr: &Attribute) -> bool {
    let path = attr.path();
    path.is_ident("cfg")
        || (path.is_ident("cfg_attr")
            && attr.meta.require_list().is_ok_and(|list| find(list.tokens.clone(), &["cfg"]).is_some()))
}

/// Whether the type is called as sqlx calls a transaction or the connection inside it. A payload of a bank may be a
/// `NewTransaction`.
pub(crate) fn is_transaction(ty: &Type) -> bool {
    const NAMES: [&str; 6] = [
        "Transaction",
        "PgTransaction",
        "SqliteTransaction",
        "MySqlTransaction",
        "PgConnection",
        "SqliteConnection",
    ];
    last_name(ty).is_some_and(|name| NAMES.contains(&name.as_str()))
}

/// What a type is that is called like a way to the database beside the transaction.
pub(crate) fn beside_the_transaction(ty: &Type) -> Option<&'static str> {
    match last_name(ty)?.as_str() {
        "Pool" | "PgPool" | "SqlitePool" | "MySqlPool" | "AnyPool" => Some("a pool"),
        "PoolConnection" => Some("a pooled connection"),
        _ => None,
    }
}

/// Whether the type is the guard that an expansion takes.
pub(crate) fn is_guard(ty: &Type) -> bool {
    let Type::Path(TypePath { path, .. }) = peeled(ty) else { return false };
    let mut segments = path.segments.iter().rev().map(|segment| segment.ident.to_string());
    segments.next().as_deref() == Some("Guard") && segments.next().as_deref() == Some("__private")
}

/// Whether the type is what a run lends by `&`, by its name.
pub(crate) fn is_execution(ty: &Type) -> bool {
    last_name(ty).is_some_and(|name| name == "Execution")
}

/// Whether the type is written as data, or is the standard library's: no transaction, whatever its name stands for.
pub(crate) fn is_plain_data(ty: &Type) -> bool {
    const DATA: [&str; 18] = [
        "bool",
        "char",
        "str",
        "String",
        "Vec",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "usize",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "isize",
        "Execution",
    ];
    match peeled(ty) {
        Type::Path(TypePath { path, .. }) => {
            path.segments.last().is_some_and(|last| DATA.iter().any(|name| last.ident == name))
        }
        Type::Array(_)
        | Type::Slice(_)
        | Type::Tuple(_)
        | Type::Reference(_)
        | Type::Ptr(_)
        | Type::FnPtr(_)
        | Type::TraitObject(_) => true,
        _ => false,
    }
}

/// The type as its author would write it, but for line breaks.
pub(crate) fn spelled(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (spaced, tight) in
        [(" < ", "<"), (" >", ">"), (" :: ", "::"), ("& ", "&"), (" ,", ","), (" ;", ";"), ("' ", "'")]
    {
        text = text.replace(spaced, tight);
    }
    text
}

/// Visits each reference that is an answer, or a part of one, and does not say that it is `'static`.
pub(crate) fn for_each_borrowed_answer(ty: &mut Type, visit: &mut dyn FnMut(&mut TypeReference)) {
    match ty {
        Type::Group(group) => for_each_borrowed_answer(&mut group.elem, visit),
        Type::Paren(paren) => for_each_borrowed_answer(&mut paren.elem, visit),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(|ty| for_each_borrowed_answer(ty, visit)),
        Type::Reference(reference)
            if is_text_or_bytes(&reference.elem)
                && reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static") =>
        {
            visit(reference);
        }
        Type::Path(TypePath { path, .. }) => {
            let Some(last) = path.segments.last_mut().filter(|last| last.ident == "Result") else { return };
            let PathArguments::AngleBracketed(arguments) = &mut last.arguments else { return };
            for argument in &mut arguments.args {
                if let GenericArgument::Type(ty) = argument {
                    for_each_borrowed_answer(ty, visit);
                }
            }
        }
        _ => {}
    }
}

fn is_text_or_bytes(ty: &Type) -> bool {
    match peeled(ty) {
        Type::Array(_) | Type::Slice(_) => true,
        ty => last_name(ty).is_some_and(|name| name == "str"),
    }
}

/// The `T` of a type that is called like `Option<T>`.
pub(crate) fn optional(ty: &Type) -> Option<&Type> {
    let Type::Path(TypePath { path, .. }) = peeled(ty) else { return None };
    let last = path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// The first place where the function says `Self`.
///
/// An item inside the body may have a `Self` of its own, so a body with such items is not judged: rustc does.
pub(crate) fn first_self(function: &Function) -> Option<Span> {
    const ITEMS: [&str; 5] = ["impl", "trait", "struct", "enum", "union"];
    // Printed in one go, which is cheaper than to look at each token; most handlers end here.
    let says_it = |tokens: &dyn ToTokens| tokens.to_token_stream().to_string().contains("Self");
    if says_it(&function.sig)
        && let Some(at) = find(function.sig.to_token_stream(), &["Self"])
    {
        return Some(at);
    }
    if !says_it(&function.body) {
        return None;
    }
    let body = function.body.stream();
    if find(body.clone(), &ITEMS).is_some() { None } else { find(body, &["Self"]) }
}

/// The first of the words, at any depth.
fn find(tokens: TokenStream, words: &[&str]) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => words.iter().any(|word| ident == word).then(|| ident.span()),
        TokenTree::Group(group) => find(group.stream(), words),
        TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    })
}

/// The extractors of axum that hand the request on unread, and of which the run time knows nothing. `Request` and
/// `Body` it refuses by their types, so that an application may have types of these names.
pub(crate) fn streaming_extractor(ty: &Type) -> Option<Stream> {
    let name = last_name(ty)?;
    let help = match name.as_str() {
        "Multipart" => "upload first, and take the upload's id or digest here",
        "WebSocketUpgrade" => {
            "leave this handler without `#[idempotent]`: an upgraded connection has no answer to replay"
        }
        _ => return None,
    };
    Some(Stream { name, help })
}

/// The part of the return type that is a stream, whose end nothing waits for.
pub(crate) fn streaming_answer(output: &ReturnType) -> Option<&Path> {
    struct Find<'ast>(Option<&'ast Path>);
    impl<'ast> Visit<'ast> for Find<'ast> {
        fn visit_type_path(&mut self, ty: &'ast TypePath) {
            let name = ty.path.segments.last().map(|segment| segment.ident.to_string());
            if matches!(
                name.as_deref(),
                Some("Sse" | "StreamBody" | "JsonLines" | "AsyncReadBody" | "FileStream")
            ) {
                self.0.get_or_insert(&ty.path);
            }
            visit::visit_type_path(self, ty);
        }
    }
    let mut find = Find(None);
    find.visit_return_type(output);
    find.0
}

/// Whether the type is left open: `impl Trait`, anywhere in it.
pub(crate) fn has_impl(ty: &Type) -> bool {
    struct Find(bool);
    impl<'ast> Visit<'ast> for Find {
        fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut find = Find(false);
    find.visit_type(ty);
    find.0
}

fn last_name(ty: &Type) -> Option<String> {
    match peeled(ty) {
        Type::Path(TypePath { path, .. }) => path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(text: &str) -> Type {
        syn::parse_str(text).unwrap()
    }

    #[test]
    fn transactions_and_connections_are_known() {
        for text in [
            "sqlx::PgTransaction<'_>",
            "Transaction<'static, Postgres>",
            "sqlx::PgConnection",
            "(PgConnection)",
        ] {
            assert!(is_transaction(&ty(text)), "{text}");
        }
        for text in
            ["Json<Transaction>", "DatabaseConnection", "State<PgPool>", "[Transaction; 1]", "NewTransaction"]
        {
            assert!(!is_transaction(&ty(text)), "{text}");
        }
    }

    #[test]
    fn extractors_that_stream_are_known() {
        for text in ["Multipart", "axum::extract::Multipart", "ws::WebSocketUpgrade"] {
            assert!(streaming_extractor(&ty(text)).is_some(), "{text}");
        }
        for text in ["Json<Multipart>", "Request", "Body", "String"] {
            assert!(streaming_extractor(&ty(text)).is_none(), "{text}");
        }
    }

    #[test]
    fn a_stream_is_found_anywhere_in_the_answer() {
        for (text, found) in [
            ("-> Sse<Events>", true),
            ("-> Result<axum::response::Sse<Events>, AppError>", true),
            ("-> (StatusCode, Sse<impl Stream>)", true),
            ("-> Json<Order>", false),
            ("", false),
        ] {
            let output: ReturnType = syn::parse_str(text).unwrap();
            assert_eq!(streaming_answer(&output).is_some(), found, "{text}");
        }
    }

    #[test]
    fn a_type_is_spelled_as_it_was_written() {
        for text in ["Vec<u8>", "std::vec::Vec<[u8; 4]>", "&mut PgConnection", "(u8, &'a str)", "dyn Any"] {
            assert_eq!(spelled(&ty(text)), text);
        }
    }

    #[test]
    fn an_open_type_is_found_anywhere() {
        assert!(has_impl(&ty("impl IntoResponse")));
        assert!(has_impl(&ty("Result<impl IntoResponse, AppError>")));
        assert!(!has_impl(&ty("Result<Json<Order>, AppError>")));
    }
}
