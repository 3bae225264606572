//! Nothing that can be written makes an expansion panic, and every expansion is tokens that can be read.

use proc_macro2::TokenStream;

const OPTIONS: [&str; 32] = [
    "",
    ",",
    ",,",
    "scope",
    "scope =",
    "scope = ,",
    "= =",
    "scope = \"\"",
    "scope = \"self\"",
    "scope = \"r#self.r#crate\"",
    "scope = \"tenant/**/,tenant//\"",
    "scope = \"type.match.0.1()\"",
    "scope = \"tenant.18446744073709551616\"",
    "scope = \"a.(,).b,,=,=a,a=\"",
    "scope = \"\\u{0}, \\u{202e}tenant, größe, 🦀\"",
    "scope = b\"tenant\", ttl = 'a'",
    "ttl = \"99999999999999999999999d\"",
    "ttl = \"\\u{661}h\", record = \"\"",
    "allow",
    "allow(",
    "allow(short_ttl, short_ttl, crate, 1)",
    "crate",
    "crate = ::, crate = a<b>",
    "crate = $ crate, [(}",
    "policy = , policy = <, policy = a<b, c>, scope = \"tenant\"",
    "policy = dyn for<'a> Fn(&'a str) -> (), key = \"tenant.0.id()\"",
    "key = \"\", required = yes, in_progress = \"wait ,,then\"",
    "in_progress = \"wait 1s, then \\u{0}\", endpoint = \"\\u{0}\"",
    "inner = \"Self::Self\", allow(short_ttl)",
    "inner = \"Self::f_inner\", scope = \"tenant\"",
    "inner = \"r#type\", scope = \"tenant\"",
    "header = \"X\", engine, table = 1, key = \"größe.😀\"",
];

const ITEMS: [&str; 27] = [
    "",
    "fn",
    "async fn f",
    "async fn f()",
    "async fn f();",
    "async fn f() {}",
    "fn f(&mut self) {}",
    "fn f(self: &mut Tx, ...) {}",
    "const fn f(tx: &mut Tx) -> ! {}",
    "async fn f(tx: &mut Tx, r#type: A, tenant: A, größe: A, _: A) {}",
    "async fn f(&tx: &mut Tx, [a, .., b]: A, A { b, .. }: A, A | B: C) {}",
    "async fn f(tx: &mut Tx, a: impl Fn(&str) -> &str, b: fn(&str), c: [u8; { 'a: loop { break 'a 1 } }]) {}",
    "async fn f<'a, T = u8, const N: usize = 1>(tx: &'a mut Tx<'a>, a: &'a T) -> &'a str where {}",
    "async fn f(tx: &mut dyn for<'a> Fn(&'a str), a: <T as U>::V, b: m!(c), c: _) -> m!(d) {}",
    "async fn f(tx: (), tx: &mut (), tx: &mut ()) {}",
    "async fn f(#[fingerprint] tx: &mut Tx, #[fingerprint(skip = 1)] #[context = 1] a: A) {}",
    "async fn f(#[cfg(a)] tx: &mut Tx, #[cfg_attr(a, context)] tenant: A) {}",
    "pub(in a::b) async unsafe extern \"C\" fn f(tx: &mut Tx) {}",
    "#![inner] async fn f() {}",
    "struct A<'a, T: 'a>(T, #[inert(trusted, trusted)] Self, #[inert] &'a T);",
    "enum A { B { #[scope_value(crate = b)] b: B }, C(Self) }",
    "union A { b: B }",
    "async fn f(tx: &mut Tx, a: &A, b: &'static B, c: &[C], #[fingerprint(with = a::b::<C>)] tenant: C) {}",
    "async fn f(#[fingerprint(body, with = , skip)] a: A, tx: Option<&mut Pool<Db>>, #[fingerprint(body)] b: B) {}",
    "const async fn f(tx: &mut Pool<Db>, a: Self) -> Self { Self }",
    "#[policy(scope = \"a, b.c(), endpoint\", header = \"\", key = \"\")] struct A<T = u8> { #[context] a: T, #[fingerprint(body)] r#b: Self }",
    "#[policy] #[policy(scope)] #[policy = 1] struct A;",
];

/// What rustc hands over is a list of token trees, so text that is none is no case.
fn tokens(text: &str) -> Option<TokenStream> {
    text.parse().ok()
}

#[test]
fn an_attribute_is_expanded_whatever_is_written() {
    let mut expanded = 0;
    for options in OPTIONS.iter().filter_map(|text| tokens(text)) {
        for item in ITEMS.iter().filter_map(|text| tokens(text)) {
            let expansion = crate::handler_of(options.clone(), item);
            assert!(tokens(&expansion.to_string()).is_some());
            expanded += 1;
        }
    }
    assert!(expanded > 400, "most texts are token trees");
}

#[test]
fn a_derive_is_expanded_whatever_is_written() {
    for item in ITEMS.iter().filter_map(|text| tokens(text)) {
        for derive in [crate::inert::expand, crate::scope_value::expand, crate::policy::expand] {
            let expansion = crate::derive::derive(item.clone(), derive);
            assert!(tokens(&expansion.to_string()).is_some());
        }
    }
}
