//! Whole expansions, printed and compared with `expansions/*.expanded.rs`.
//!
//! `UPDATE_EXPECT=1 cargo test -p idem-macros expansions` rewrites them; read the difference line by line.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Ident, Item, ItemEnum, ItemStruct, Meta};

/// The input of each case is a file of its own, so that it reads as code does.
fn expand(input: &str) -> TokenStream {
    let mut item: Item = syn::parse_str(input).unwrap();
    match &mut item {
        Item::Fn(function) => {
            let at = function.attrs.iter().position(|attr| attr.path().is_ident("idempotent")).unwrap();
            let attribute = function.attrs.remove(at);
            let Meta::List(options) = attribute.meta else { panic!("an attribute with options") };
            crate::handler_of(options.tokens, function.to_token_stream())
        }
        Item::Struct(ItemStruct { attrs, .. }) | Item::Enum(ItemEnum { attrs, .. }) => {
            let at = attrs.iter().position(|attr| attr.path().is_ident("derive")).unwrap();
            let name: Ident = attrs.remove(at).parse_args().unwrap();
            let derive = match name.to_string().as_str() {
                "Policy" => crate::policy::expand,
                "Inert" => crate::inert::expand,
                _ => crate::scope_value::expand,
            };
            crate::derive::derive(item.to_token_stream(), derive)
        }
        _ => panic!("a function, a struct or an enum"),
    }
}

fn print(tokens: TokenStream) -> String {
    let text = tokens.to_string();
    match syn::parse2(tokens) {
        Ok(file) => prettyplease::unparse(&file),
        Err(error) => panic!("{error}: {text}"),
    }
}

fn compare(case: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("expansions");
    let file = |extension: &str| -> PathBuf { folder.join(case).with_extension(extension) };

    let expansion = print(expand(&fs::read_to_string(file("rs")).unwrap()));

    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(file("expanded.rs"), &expansion).unwrap();
    }
    let expected = fs::read_to_string(file("expanded.rs")).unwrap();
    let same =
        expansion.lines().zip(expected.lines()).take_while(|(found, expected)| found == expected).count();
    assert!(
        expansion == expected,
        "expansions/{case}.expanded.rs:{}\nexpected: {:?}\nfound:    {:?}",
        same + 1,
        expected.lines().nth(same),
        expansion.lines().nth(same),
    );
}

#[test]
fn the_usual_handler_goes_through_the_steps_of_a_run() {
    compare("usual");
}

#[test]
fn parts_of_the_scope_are_taken_by_reference() {
    compare("parts");
}

#[test]
fn each_argument_is_named_typed_and_asked_for_what_its_marks_say() {
    compare("arguments");
}

#[test]
fn the_outer_function_owns_what_the_inner_one_borrows() {
    compare("generics");
}

#[test]
fn mistakes_stand_beside_the_best_expansion() {
    compare("mistakes");
}

#[test]
fn what_has_no_expansion_is_given_back_without_our_attributes() {
    compare("given_back");
}

#[test]
fn what_a_run_lends_is_passed_and_a_body_is_unwrapped() {
    compare("lent");
}

#[test]
fn an_inner_function_stands_beside_the_handler() {
    compare("inner");
}

#[test]
fn a_policy_says_what_its_attribute_says_and_extracts_its_fields() {
    compare("derive_policy");
}

#[test]
fn a_derived_inert_asks_the_fields() {
    compare("derive_inert");
}

#[test]
fn a_derived_scope_value_is_that_of_the_field() {
    compare("derive_scope_value");
}
