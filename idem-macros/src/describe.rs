//! The statements that tell a run what a request is: its fingerprint, its scope, its key.
//!
//! The same for the arguments of a handler and the fields of a policy; they differ in how a value is reached.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ExprPath, Index, Type, TypeTuple};

use crate::argument::Role;
use crate::errors::ends;
use crate::known;
use crate::path::Step;
use crate::runtime::{Runtime, site};

/// What the run calls whatever collects the statements.
pub(crate) fn call() -> Ident {
    Ident::new("call", Span::mixed_site())
}

/// What is asked of a value before the run; the caret of a missing trait is on its type.
///
/// `value` is a place of type `ty`, or, for [`Role::Body`], of the wrapper around it.
pub(crate) fn fingerprint(
    role: Role,
    with: Option<&ExprPath>,
    value: &TokenStream,
    ty: &Type,
    runtime: &Runtime,
) -> Option<TokenStream> {
    let at = site(ends(ty).0);
    let call = call();
    let named = || (!known::has_impl(ty)).then(|| quote_spanned!(at=> ::<#ty>));
    // Exactly the place of the type, or else rustc labels the call as well.
    let setter = |name| Ident::new(name, ends(ty).0);
    match role {
        Role::Compared => {
            let (setter, turbofish) = (setter("fingerprint"), named());
            Some(quote_spanned!(at=> #call.#setter #turbofish (&#value);))
        }
        Role::Body => {
            let (setter, turbofish) = (setter("received"), named());
            let p = runtime.private(at);
            let door = quote_spanned!(at=> #p::Door::of(#p::Received::as_inner(&#value)).lets_through(););
            Some(quote_spanned!(at=> #door #call.#setter #turbofish (&#value);))
        }
        Role::Skipped => Some(door(value, ty, runtime)),
        Role::With => {
            let p = runtime.private(at);
            let function = with;
            let with = Ident::new("with", Span::mixed_site());
            let door = door(value, ty, runtime);
            Some(quote_spanned! {at=>
                #door
                let #with: fn(&#ty, &mut #p::Fingerprinter) = #function;
                #with(&#value, #call.fingerprinter());
            })
        }
        Role::Context | Role::Transaction | Role::Lent | Role::Unfit => None,
    }
}

/// What is asked of each element of a tuple of extractors, but for those that are parts of the scope as a whole; the
/// caret is on the element.
pub(crate) fn elements(
    tuple: &TypeTuple,
    value: &TokenStream,
    is_scope: &dyn Fn(u32) -> bool,
    runtime: &Runtime,
) -> TokenStream {
    let compared = tuple.elems.iter().zip(0..).filter(|(_, index)| !is_scope(*index));
    let statements = compared.map(|(ty, index)| {
        let at = site(ends(ty).0);
        let index = Index { index, span: at };
        let element = quote_spanned!(at=> #value.#index);
        match known::peeled(ty) {
            Type::Tuple(tuple) => Some(elements(tuple, &element, &|_| false, runtime)),
            _ => fingerprint(Role::Compared, None, &element, ty, runtime),
        }
    });
    quote!(#(#statements)*)
}

/// What is still asked of a value that is not compared as its type says: of each element, where it is a tuple of
/// extractors.
fn door(value: &TokenStream, ty: &Type, runtime: &Runtime) -> TokenStream {
    let at = site(ends(ty).0);
    if let Type::Tuple(tuple) = known::peeled(ty) {
        let doors = tuple.elems.iter().zip(0..).map(|(element, index)| {
            let index = Index { index, span: at };
            door(&quote_spanned!(at=> #value.#index), element, runtime)
        });
        return quote!(#(#doors)*);
    }
    let p = runtime.private(at);
    quote_spanned!(at=> #p::Door::of(&#value).lets_through();)
}

/// Hands a value to `setter`, after `label` if there is one.
///
/// `head` is a reference to what the text's first name stands for; `text` is where the text is.
pub(crate) fn named(
    setter: &str,
    label: Option<&str>,
    head: &TokenStream,
    steps: &[Step],
    text: Span,
) -> TokenStream {
    let call = call();
    let label = label.map(|label| quote!(#label,));
    if steps.is_empty() {
        // The caret is on the name, which is the value; exactly there, or else rustc labels the call as well.
        let at = ends(head).0;
        let setter = Ident::new(setter, at);
        return quote_spanned!(site(at)=> #call.#setter(#label #head););
    }
    // The caret is on the text, which names the part of it.
    let at = site(text);
    let setter = Ident::new(setter, at);
    let steps = steps.iter().map(|step| match step {
        Step::Field(name) => {
            // Generated, or else rustc offers to replace the whole text by a name that is near.
            let mut name = name.clone();
            name.set_span(at);
            quote_spanned!(at=> .#name)
        }
        Step::Index(index) => {
            let index = Index { index: *index, span: at };
            quote_spanned!(at=> .#index)
        }
        Step::Call(method) => quote_spanned!(at=> .#method()),
    });
    quote_spanned!(at=> #call.#setter(#label &#head #(#steps)*);)
}
