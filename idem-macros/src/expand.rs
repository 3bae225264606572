//! The checked model to tokens. Nothing here can fail.
//!
//! The handler stays whole: it becomes a function inside a thin outer one of the same name, which takes a
//! guard in place of the transaction, says what the request is, and has the run time go through the steps of a run
//! with the handler in their midst.
//!
//! The author's tokens are used for the author's things, else rustc takes the function for generated code
//! and no longer tells that it is unused. Ours are mixed-site, and placed in the author's text where an
//! error about them should point.
//!
//! Long, since it is read beside an expansion (`expansions/`), from its first line to its last; what describes the
//! request, value by value, is in `describe`.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, FnArg, PatType, ReturnType, Signature, Token, Type, parse_quote};

use crate::args::Args;
use crate::argument::{Argument, Role};
use crate::describe;
use crate::errors::ends;
use crate::function::Function;
use crate::generics;
use crate::handler::{Handler, Transaction};
use crate::inner::Inner;
use crate::known;
use crate::lifetimes::to_inferred;
use crate::pattern;
use crate::runtime::{Runtime, site};
use crate::scope::{Part, Scope, Value};
use crate::setting;

/// What is lowered: everything that was written, resolved.
pub(crate) struct Checked<'a> {
    pub(crate) args: &'a Args,
    pub(crate) handler: &'a Handler,
    pub(crate) scope: &'a Scope,
    /// Where the key comes from, if not from the header.
    pub(crate) key: Option<&'a Value>,
}

/// The whole expansion; the function as it was, if a mistake leaves none.
pub(crate) fn lower(checked: &Checked<'_>) -> TokenStream {
    let Checked { args, handler, .. } = checked;
    match &handler.transaction {
        Some(transaction) => {
            let beside = match &args.inner {
                None if handler.says_self => Some(Inner::beside(&handler.function.sig.ident)),
                inner => inner.clone(),
            };
            Lowering { checked, transaction, beside }.whole()
        }
        None => handler.function.to_token_stream(),
    }
}

struct Lowering<'a> {
    checked: &'a Checked<'a>,
    transaction: &'a Transaction,
    /// The function that holds what was written, if it is not to stand inside the outer one.
    beside: Option<Inner>,
}

impl Lowering<'_> {
    fn whole(&self) -> TokenStream {
        let outer = self.outer();
        match &self.beside {
            Some(inner) => {
                let written = self.written(inner.name.clone());
                let function = self.function();
                let doc = format!("`{}` as it was written, without `#[idempotent]`.", function.sig.ident);
                let docs = function.attrs.iter().filter(|attr| attr.path().is_ident("doc"));
                let attrs = function.attrs.iter().filter_map(carried);
                let vis = &function.vis;
                quote!(#outer #[doc = #doc] #[doc = ""] #(#docs)* #(#attrs)* #vis #written)
            }
            None => outer,
        }
    }

    /// The function that the router sees.
    fn outer(&self) -> TokenStream {
        let Function { attrs, vis, sig, body } = self.function();
        // What is expected of the body is not here, if the body is in the function beside this one.
        let attrs = attrs.iter().map(|attr| match &self.beside {
            Some(_) => expected(attr).unwrap_or_else(|| attr.to_token_stream()),
            None => attr.to_token_stream(),
        });
        let asyncness = asyncness(sig);
        let Signature { fn_token, ident, .. } = sig;
        let generics = generics::outer(&sig.generics);
        let clause = &generics.where_clause;

        let inputs = self.inputs().map(|argument| {
            let Argument { conditions, name, ty, role, .. } = argument;
            let ty = match role {
                Role::Body => {
                    let start = ends(ty).0;
                    let p = self.runtime().private(start);
                    quote_spanned!(site(start)=> #p::Received<#ty>)
                }
                _ => ty.to_token_stream(),
            };
            quote!(#(#conditions)* #name: #ty)
        });
        let guard = self.transaction.referent.as_ref().map(|referent| {
            let (guard, ty) = (local("guard"), self.guard(referent));
            quote!(#guard: #ty,)
        });
        let mut parameters = Group::new(Delimiter::Parenthesis, quote!(#guard #(#inputs),*));
        parameters.set_span(sig.paren_token.span.join());

        // The last token of the signature is placed as the author's own.
        let end = match &sig.output {
            ReturnType::Default => sig.paren_token.span.close(),
            ReturnType::Type(_, ty) => ends(ty).1,
        };
        let private = self.runtime().private(end);
        let response = Ident::new("Response", end);

        let inner = self.beside.is_none().then(|| self.written(ident.clone()));
        let run = if guard.is_some() { self.run() } else { self.without_run() };
        let mut block = Group::new(Delimiter::Brace, quote!(#inner #run));
        block.set_span(body.span());

        quote! {
            #(#attrs)* #vis #asyncness #fn_token #ident #generics #parameters -> #private::#response #clause #block
        }
    }

    /// The handler, as written but for what only the attribute understands.
    fn written(&self, name: Ident) -> TokenStream {
        let Function { sig, body, .. } = self.function();
        let mut sig = sig.clone();
        sig.ident = name;
        sig.constness = None;
        sig.asyncness = Some(asyncness(&sig));
        let written = sig.inputs.iter_mut().filter_map(|input| match input {
            FnArg::Typed(argument) => Some(argument),
            FnArg::Receiver(_) => None,
        });
        for (index, argument) in written.enumerate() {
            self.strip(index, argument);
        }
        quote!(#sig #body)
    }

    fn strip(&self, index: usize, argument: &mut PatType) {
        // rustc refuses documentation on an argument.
        argument.attrs.retain(|attr| !attr.path().is_ident("doc"));
        let is_key = self.checked.key.is_some_and(|key| key.source == index);
        if is_key || self.checked.scope.names(index) {
            // Used, though perhaps not in the body.
            argument.attrs.push(parse_quote!(#[allow(unused_variables)]));
        }
    }

    /// `Guard<Db, NoPolicy>`, or the handler's policy; what is missing for it is shown at the transaction.
    ///
    /// The same place as the projection in it: rustc finds a type that is no transaction in both, and reports
    /// it once.
    fn guard(&self, referent: &Type) -> TokenStream {
        let (start, end) = ends(referent);
        let p = self.runtime().private(start);
        let database = self.database(referent);
        let open = quote_spanned!(site(start)=> #p::Guard<);
        let comma = quote_spanned!(site(end)=> ,);
        let policy = self.policy(end);
        let close = quote_spanned!(site(end)=> >);
        quote!(#open #database #comma #policy #close)
    }

    /// The type of the handler's policy.
    fn policy(&self, end: Span) -> TokenStream {
        let named = self.checked.args.policy.as_ref().map(ToTokens::to_token_stream);
        named.unwrap_or_else(|| {
            let p = self.runtime().private(end);
            quote_spanned!(site(end)=> #p::NoPolicy)
        })
    }

    /// The transaction's database. The projection sees through every alias.
    ///
    /// It has a parameter with a lifetime of its own: a bound on such a type is not checked where it is written, and
    /// `debug_handler`, which writes one and then uses it, reports a missing engine once. An alias of the run time's,
    /// because `utoipa::path` reads paths only.
    fn database(&self, referent: &Type) -> TokenStream {
        let (start, end) = ends(referent);
        let private = self.runtime().private(start);
        let open = quote_spanned!(site(start)=> <);
        let middle = quote_spanned!(site(start)=> as #private::Tx>);
        let last = self.runtime().private(end);
        let close = quote_spanned!(site(end)=> ::Db<#last::Once>);
        quote!(#open #referent #middle #close)
    }

    /// What the request is, then the run: the run time goes through its steps, and calls the handler in the midst.
    fn run(&self) -> TokenStream {
        let p = self.runtime().private(Span::mixed_site());
        let [guard, call, policy, tx, lent] = ["guard", "call", "policy", "tx", "lent"].map(local);
        let (kept, execution) =
            if self.lends() { (quote!(#policy), quote!(#lent)) } else { (quote!(_), quote!(_)) };
        let options = setting::options(&self.checked.args.settings, self.runtime());
        // A type that is no policy is shown where it is named.
        let named = self.policy(Span::call_site());
        let describe = self.describe();
        let describe = (!describe.is_empty()).then(|| {
            // A reference, so that a trait of the author's cannot come between by a method of the same name.
            quote!({ let #call = &mut #call; #describe })
        });
        let work = self.work(&tx, &lent);
        // "not Send" is said of the function.
        let at = site(self.function().sig.ident.span());
        let boxed = quote_spanned!(at=> ::std::boxed::Box::pin(async move #work));

        quote! {
            let (mut #call, #kept) = #p::begin::<_, #named>(#guard, #options);
            #describe
            #p::run(#call, move |#tx, #execution| #boxed).await
        }
    }

    /// The handler called, and what it returned made an outcome.
    ///
    /// In one future, because what it returned may borrow from the transaction, and the outcome must not.
    fn work(&self, tx: &Ident, lent: &Ident) -> TokenStream {
        let p = self.runtime().private(Span::mixed_site());
        let [handler, value, verdict] = ["handler", "value", "verdict"].map(local);
        let written = self.handler();
        let passed = self.passed(tx, lent);
        let answer = self.answer(&verdict, &value);
        let returned = self.returned(&quote!(#handler(#passed).await));
        quote! {{
            let #handler = #written;
            let #value = #returned;
            let #verdict = {
                use #p::LookAt as _;
                (&&&&&#p::Look(&#value)).look_at_answer()
            };
            #answer
        }}
    }

    /// In place of a run where there is no database: the handler is type-checked, and the route has nothing to add.
    fn without_run(&self) -> TokenStream {
        let handler = (!self.checked.handler.is_open).then(|| self.handler()).into_iter();
        // Or else they would be reported as unused.
        let inputs =
            self.inputs().map(|Argument { conditions, name, .. }| quote!(#(#conditions)* let _ = #name;));
        quote! {
            #(let _ = #handler;)*
            #(#inputs)*
            ::core::option::Option::unwrap(::core::option::Option::None)
        }
    }

    /// What the request is: fingerprint, scope, key.
    fn describe(&self) -> TokenStream {
        let fingerprints = self.arguments().filter_map(|(index, argument)| {
            let Argument { conditions, name, ty, role, with, .. } = argument;
            // A scope value is inert, so there is nothing left to ask of an extension that holds one.
            let is_value = argument.is_plain() || argument.is_extension();
            if *role == Role::Compared && is_value && self.checked.scope.is_whole(index) {
                return None;
            }
            let value = name.to_token_stream();
            let statements = match known::peeled(ty) {
                Type::Tuple(tuple) if *role == Role::Compared => {
                    let is_scope = |element| {
                        let name = argument.element(element);
                        name.is_some_and(|name| self.checked.scope.is_whole_binding(index, name))
                    };
                    describe::elements(tuple, &value, &is_scope, self.runtime())
                }
                _ => describe::fingerprint(*role, with.as_ref(), &value, ty, self.runtime())?,
            };
            Some(quote!(#(#conditions)* { #statements }))
        });
        let call = local("call");
        let scope = self.checked.scope.parts.iter().filter_map(|part| match part {
            Part::Endpoint => Some(quote!(#call.endpoint();)),
            Part::Global => Some(quote!(#call.global();)),
            Part::Value(label, value) => self.named("scope", Some(label), value),
        });
        let key = self.checked.key.and_then(|value| self.named("key", None, value));
        quote!(#(#fingerprints)* #(#scope)* #key)
    }

    /// A value that an option names, taken out of its argument by reference.
    fn named(&self, setter: &str, label: Option<&str>, value: &Value) -> Option<TokenStream> {
        let Value { source, binding, steps, span } = value;
        let Argument { name, pat, role, .. } = self.checked.handler.arguments.get(*source)?;
        let at = site(binding.span());

        // A name that starts with `_` would be reported as used, though not by the author.
        let renamed = Ident::new("value", at);
        let local = if binding.to_string().starts_with('_') { &renamed } else { binding };
        let pat = pattern::only(pat, binding, local);

        let mut head = local.clone();
        if !steps.is_empty() {
            head.set_span(local.span().located_at(*span));
        }
        let statement = describe::named(setter, label, &head.to_token_stream(), steps, *span);
        let argument = if *role == Role::Body {
            let p = self.runtime().private(at);
            quote_spanned!(at=> #p::Received::as_inner(&#name))
        } else {
            quote_spanned!(at=> &#name)
        };
        Some(quote_spanned!(at=> { let #pat = #argument; #statement }))
    }

    /// The handler as a value. Called by its name, clippy would ask for an `await` in every handler, and axum's
    /// own are spared that because the router takes them as values.
    fn handler(&self) -> TokenStream {
        let Signature { ident, generics, .. } = &self.function().sig;
        let turbofish = generics::turbofish(generics);
        let path = self.beside.as_ref().map_or_else(|| ident.to_token_stream(), Inner::path);
        quote!(#path #turbofish)
    }

    /// What the handler is called with, in source order.
    fn passed(&self, tx: &Ident, lent: &Ident) -> TokenStream {
        let arguments = self.arguments().map(|(_, argument)| {
            let Argument { conditions, name, role, ty, .. } = argument;
            let value = match role {
                Role::Transaction if self.transaction.is_lent => {
                    let at = ends(&self.transaction.written).0;
                    let p = self.runtime().private(at);
                    quote_spanned!(site(at)=> #p::Lends::lend(#tx))
                }
                Role::Lent => self.lent(ty, lent),
                // Of any type, and never reached.
                Role::Transaction | Role::Unfit => {
                    quote!(::core::option::Option::unwrap(::core::option::Option::None))
                }
                Role::Body => quote!(#name.into_inner()),
                Role::Compared | Role::With | Role::Skipped | Role::Context => quote!(#name),
            };
            quote!(#(#conditions)* #value)
        });
        quote!(#(#arguments),*)
    }

    /// What the run holds, or the policy; the caret of a type that is neither is on it.
    fn lent(&self, ty: &Type, lent: &Ident) -> TokenStream {
        let Type::Reference(reference) = known::peeled(ty) else {
            unreachable!("what is lent is a reference")
        };
        let referent = &*reference.elem;
        let (start, end) = ends(referent);
        let p = self.runtime().private(start);
        let policy = local("policy");
        let open = quote_spanned!(site(start)=> #p::lend::<);
        let comma = quote_spanned!(site(end)=> ,);
        // Named, or else a type that is neither would be taken for the policy's.
        let named = self.policy(end);
        let close = quote_spanned!(site(end)=> >(#lent, &#policy));
        quote!(#open #referent #comma #named #close)
    }

    /// Whether an argument is lent.
    fn lends(&self) -> bool {
        self.checked.handler.arguments.iter().any(|argument| argument.role == Role::Lent)
    }

    /// The handler's value as an outcome; the caret of a type that is no answer is on the return type.
    fn answer(&self, verdict: &Ident, value: &Ident) -> TokenStream {
        let at = match &self.function().sig.output {
            ReturnType::Default => Span::mixed_site(),
            ReturnType::Type(_, ty) => site(ends(ty).0),
        };
        let turbofish = self.named_type().map(|ty| quote_spanned!(at=> ::<#ty>));
        let p = self.runtime().private(at);
        if self.checked.handler.is_stream {
            return quote!({ ::core::mem::drop(#value); #p::outcome(#verdict, ()) });
        }
        quote_spanned!(at=> #p::outcome #turbofish (#verdict, #value))
    }

    /// What the handler returned. A handler beside this one may be missing, and then its type is not to be guessed; not
    /// as the type of a `let`, which clippy would call complex where it does not that of an `async fn`.
    fn returned(&self, value: &TokenStream) -> TokenStream {
        match (&self.beside, self.named_type()) {
            (Some(_), Some(ty)) => quote!(::core::convert::identity::<#ty>(#value)),
            _ => value.clone(),
        }
    }

    /// The return type, if it can be named: an open type cannot, and `!` not yet.
    fn named_type(&self) -> Option<Type> {
        match &self.function().sig.output {
            ReturnType::Type(_, ty)
                if !known::has_impl(ty) && !matches!(known::peeled(ty), Type::Never(_)) =>
            {
                Some(to_inferred(ty))
            }
            _ => None,
        }
    }

    fn arguments(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.checked.handler.arguments.iter().enumerate()
    }

    /// The arguments that are extracted.
    fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.checked.handler.arguments.iter().filter(|argument| argument.is_extracted())
    }

    fn function(&self) -> &Function {
        &self.checked.handler.function
    }

    fn runtime(&self) -> &Runtime {
        &self.checked.args.runtime
    }
}

/// What an attribute of the handler says of a function beside it: whether it exists, and what is said of its lints.
fn carried(attr: &Attribute) -> Option<TokenStream> {
    let path = attr.path();
    if ["cfg", "cfg_attr", "allow", "warn", "deny", "forbid"].iter().any(|name| path.is_ident(name)) {
        return Some(attr.to_token_stream());
    }
    expected(attr)
}

/// `#[expect(…)]` as `#[allow(…)]`: of two functions, where it is fulfilled cannot be told.
fn expected(attr: &Attribute) -> Option<TokenStream> {
    let lints = attr.meta.require_list().ok().filter(|list| list.path.is_ident("expect"))?.tokens.clone();
    Some(quote!(#[allow(#lints)]))
}

/// A name of our own.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The author's `async`, or one in the place where it is missing.
fn asyncness(sig: &Signature) -> Token![async] {
    sig.asyncness.unwrap_or(Token![async](sig.fn_token.span))
}
