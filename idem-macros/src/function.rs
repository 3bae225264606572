//! The item under the attribute: a function whose body is never read.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, Signature, Token, Visibility};

use crate::errors::Mistake;

/// A function as written.
///
/// The body stays one group of tokens: a syntax error in it is rustc's to report, once, and an editor's
/// completion keeps working in it.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
}

const ON_A_HANDLER: &str = "put it on a handler, an `async fn`";

/// Reads the item.
///
/// # Errors
/// The mistake, if the item is no function with a body, and what is to be given back of the item: all of it, unless it
/// is an expression, which cannot stand beside a mistake.
pub(crate) fn parse(item: TokenStream) -> Result<Function, (Mistake, TokenStream)> {
    syn::parse2(item.clone()).map_err(|error| {
        if syn::parse2::<syn::ExprClosure>(item.clone()).is_ok() {
            let message = "`#[idempotent]` is for async functions, not for a closure";
            return (
                Mistake::on(item, message).help("write the handler as an `async fn`"),
                TokenStream::new(),
            );
        }
        (not_a_function(&item, error), item)
    })
}

/// What is said of an item that is no function that can be read.
fn not_a_function(item: &TokenStream, error: syn::Error) -> Mistake {
    match syn::parse2::<Keyword>(item.clone()) {
        Ok(Keyword(Some(keyword))) => {
            let message = format!("`#[idempotent]` is for async functions, not for `{keyword}`");
            let mistake = Mistake::on(&keyword, message);
            match keyword.to_string().as_str() {
                "impl" | "mod" | "trait" => mistake.help("put it on each handler inside"),
                _ => mistake.help(ON_A_HANDLER),
            }
        }
        // A function that cannot be read is rustc's own to explain.
        Ok(Keyword(None))
            if !item
                .clone()
                .into_iter()
                .any(|token| matches!(token, TokenTree::Ident(word) if word == "fn")) =>
        {
            Mistake::on(item, "`#[idempotent]` is for async functions").help(ON_A_HANDLER)
        }
        _ => error.into(),
    }
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let sig: Signature = input.parse()?;
        if input.peek(Token![;]) {
            let message = "an `#[idempotent]` handler has a body\n= help: put the attribute on the function that implements this one";
            return Err(syn::Error::new(sig.ident.span(), message));
        }
        let body = braced(input.parse()?)?;
        Ok(Self { attrs, vis, sig, body })
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.append_all(&self.attrs);
        self.vis.to_tokens(tokens);
        self.sig.to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

/// The braces, also where a `$body:block` of a macro has wrapped them invisibly.
fn braced(token: TokenTree) -> syn::Result<Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Ok(group),
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            braced(syn::parse2(group.stream())?)
        }
        other => Err(syn::Error::new(other.span(), "expected the body of the function")),
    }
}

/// The keyword of an item that is no function.
struct Keyword(Option<Ident>);

impl Parse for Keyword {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const ITEMS: [&str; 11] = [
            "struct",
            "enum",
            "union",
            "trait",
            "impl",
            "mod",
            "static",
            "type",
            "use",
            "macro_rules",
            "let",
        ];
        const AMBIGUOUS: [&str; 4] = ["const", "extern", "unsafe", "async"];

        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        let words = input.parse::<TokenStream>()?.into_iter().filter_map(|token| match token {
            TokenTree::Ident(ident) => Some(ident),
            _ => None,
        });
        let is = |word: &Ident, words: &[&str]| words.contains(&word.to_string().as_str());
        let mut first = None;
        for word in words {
            if word == "fn" {
                return Ok(Self(None));
            }
            if is(&word, &ITEMS) {
                return Ok(Self(Some(word)));
            }
            if !is(&word, &AMBIGUOUS) {
                break;
            }
            first.get_or_insert(word);
        }
        Ok(Self(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Mistakes;
    use quote::quote;

    fn mistake(item: TokenStream) -> String {
        let mut mistakes = Mistakes::default();
        mistakes.add(parse(item).err().unwrap().0);
        mistakes.messages().concat()
    }

    #[test]
    fn a_body_is_not_read() {
        let function = parse(quote!(async fn f() { let = ; })).ok().unwrap();

        assert_eq!(function.to_token_stream().to_string(), quote!(async fn f() { let = ; }).to_string());
    }

    #[test]
    fn a_body_in_invisible_braces_is_found() {
        let block = Group::new(Delimiter::None, quote!({ body }));

        let function = parse(quote!(async fn f() #block)).ok().unwrap();

        assert_eq!(function.body.to_string(), quote!({ body }).to_string());
    }

    #[test]
    fn any_other_item_is_named() {
        for (item, keyword) in [
            (
                quote!(
                    struct Orders;
                ),
                "struct",
            ),
            (
                quote!(
                    #[derive(Debug)]
                    pub(crate) enum Orders {}
                ),
                "enum",
            ),
            (quote!(impl Orders { async fn f() {} }), "impl"),
            (
                quote!(
                    unsafe impl Send for Orders {}
                ),
                "impl",
            ),
            (
                quote!(
                    trait Orders {}
                ),
                "trait",
            ),
            (
                quote!(
                    mod orders {}
                ),
                "mod",
            ),
            (
                quote!(
                    const ORDERS: fn() = f;
                ),
                "const",
            ),
            (
                quote!(
                    static ORDERS: fn() = f;
                ),
                "static",
            ),
            (
                quote!(
                    type Orders = fn();
                ),
                "type",
            ),
            (
                quote!(
                    use orders::f;
                ),
                "use",
            ),
            (
                quote!(
                    extern "C" {
                        fn f();
                    }
                ),
                "extern",
            ),
        ] {
            assert_eq!(mistake(item), format!("`#[idempotent]` is for async functions, not for `{keyword}`"));
        }
    }

    #[test]
    fn what_is_no_item_is_told_apart() {
        assert_eq!(mistake(quote!(|a| a)), "`#[idempotent]` is for async functions, not for a closure");
        assert_eq!(
            mistake(quote!(async move |tx: &mut Tx| tx)),
            "`#[idempotent]` is for async functions, not for a closure"
        );
        assert_eq!(
            mistake(quote!(
                let f = async || ();
            )),
            "`#[idempotent]` is for async functions, not for `let`"
        );
        assert_eq!(mistake(quote!(println!("a"))), "`#[idempotent]` is for async functions");
    }

    #[test]
    fn a_closure_is_not_given_back_beside_its_mistake() {
        let (_, back) = parse(quote!(|a| a)).err().unwrap();

        assert!(back.is_empty());
    }

    #[test]
    fn a_function_without_a_body_is_told_apart() {
        assert_eq!(
            mistake(quote!(
                async fn f(tx: &mut Tx);
            )),
            "an `#[idempotent]` handler has a body"
        );
    }
}
