//! The checked model to tokens. Nothing here can fail.
//!
//! The handler stays whole: it becomes a function inside a thin outer one of the same name, which takes a
//! guard in place of the transaction and goes through the steps of a run.
//!
//! The author's tokens are used for the author's things, else rustc takes the function for generated code
//! and no longer tells that it is unused. Ours are mixed-site, and placed in the author's text where an
//! error about them should point.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{FnArg, Index, ReturnType, Signature, Token, Type, parse_quote};

use crate::args::{Args, Record};
use crate::argument::{Argument, Role};
use crate::errors::ends;
use crate::function::Function;
use crate::generics;
use crate::handler::{Handler, Transaction};
use crate::known;
use crate::lifetimes::to_inferred;
use crate::pattern;
use crate::runtime::{Runtime, site};
use crate::scope::{Part, Scope, Step, Value};

/// The whole expansion; the function as it was, if a mistake leaves none.
pub(crate) fn lower(args: &Args, handler: &Handler, scope: &Scope) -> TokenStream {
    match &handler.transaction {
        Some(transaction) => Lowering { args, handler, scope, transaction }.outer(),
        None => handler.function.to_token_stream(),
    }
}

struct Lowering<'a> {
    args: &'a Args,
    handler: &'a Handler,
    scope: &'a Scope,
    transaction: &'a Transaction,
}

impl Lowering<'_> {
    /// The function that the router sees.
    fn outer(&self) -> TokenStream {
        let Function { attrs, vis, sig, body } = &self.handler.function;
        let asyncness = asyncness(sig);
        let Signature { fn_token, ident, .. } = sig;
        let generics = generics::outer(&sig.generics, self.runtime());
        let clause = &generics.where_clause;

        let guard = local("guard");
        let guard_type = self.guard();
        let inputs = self.inputs().map(|argument| {
            let Argument { conditions, name, ty, .. } = argument;
            quote!(#(#conditions)* #name: #ty)
        });
        let mut parameters = Group::new(Delimiter::Parenthesis, quote!(#guard: #guard_type, #(#inputs),*));
        parameters.set_span(sig.paren_token.span.join());

        // The last token of the signature is placed as the author's own.
        let end = match &sig.output {
            ReturnType::Default => sig.paren_token.span.close(),
            ReturnType::Type(_, ty) => ends(ty).1,
        };
        let private = self.runtime().private(end);
        let response = Ident::new("Response", end);

        let inner = self.inner();
        let run = self.run();
        let mut steps = Group::new(Delimiter::Brace, quote!(#inner #run));
        steps.set_span(body.span());

        quote! {
            #(#attrs)* #vis #asyncness #fn_token #ident #generics #parameters -> #private::#response #clause #steps
        }
    }

    /// The handler as written.
    fn inner(&self) -> Function {
        let Function { sig, body, .. } = &self.handler.function;
        let mut sig = sig.clone();
        sig.constness = None;
        sig.asyncness = Some(asyncness(&sig));
        let written = sig.inputs.iter_mut().filter_map(|input| match input {
            FnArg::Typed(argument) => Some(argument),
            FnArg::Receiver(_) => None,
        });
        for (index, argument) in written.enumerate() {
            // rustc refuses documentation on an argument.
            argument.attrs.retain(|attr| !attr.path().is_ident("doc"));
            if self.scope.names(index) {
                // Used, though perhaps not in the body.
                argument.attrs.push(parse_quote!(#[allow(unused_variables)]));
            }
        }
        Function { attrs: Vec::new(), vis: syn::Visibility::Inherited, sig, body: body.clone() }
    }

    /// `Guard<Db, NoPolicy>`; what is missing for it is shown at the transaction.
    ///
    /// The same place as the projection in it: rustc finds a type that is no transaction in both, and reports
    /// it once.
    fn guard(&self) -> TokenStream {
        let (start, end) = ends(&self.transaction.referent);
        let root = self.runtime().root(start);
        let policy_root = self.runtime().root(end);
        let database = self.database();
        let open = quote_spanned!(site(start)=> #root::Guard<);
        let close = quote_spanned!(site(end)=> , #policy_root::NoPolicy>);
        quote!(#open #database #close)
    }

    /// The transaction's database. The projection sees through every alias.
    fn database(&self) -> TokenStream {
        let referent = &self.transaction.referent;
        let (start, end) = ends(referent);
        let private = self.runtime().private(start);
        let open = quote_spanned!(site(start)=> <);
        let middle = quote_spanned!(site(start)=> as #private::Tx>);
        let close = quote_spanned!(site(end)=> ::Db);
        quote!(#open #referent #middle #close)
    }

    /// The steps of a run.
    fn run(&self) -> TokenStream {
        let sig = &self.handler.function.sig;
        let p = self.runtime().private(Span::mixed_site());
        let [
            guard,
            call,
            run,
            held,
            attempt,
            handler,
            outcome,
            ended,
            value,
            verdict,
            stop,
            response,
            commit,
            reserved,
            again,
        ] = [
            "guard", "call", "run", "held", "attempt", "handler", "outcome", "ended", "value", "verdict",
            "stop", "response", "commit", "reserved", "again",
        ]
        .map(local);

        let options = self.options();
        let fingerprints = self.arguments().filter_map(|(index, argument)| self.fingerprint(index, argument));
        let scope = self.scope.parts.iter().filter_map(|part| self.part(part));
        let written = self.handler();
        let passed = self.passed(&attempt);
        let answer = self.answer(&verdict, &value);
        // "not Send" is said of the function.
        let at = site(sig.ident.span());
        let work = quote! {{
            let #ended = {
                let #reserved = loop {
                    match #run.reserve(&mut #held).await {
                        #p::ControlFlow::Break(#reserved) => break #reserved,
                        #p::ControlFlow::Continue(#again) => #run = #again,
                    }
                };
                match #reserved {
                    #p::Reserved::Run(mut #attempt) => {
                        let #handler = #written;
                        let #outcome = match #p::execute(#attempt.run_limit(), #handler(#passed)).await {
                            #p::Result::Ok(#value) => {
                                let #verdict = {
                                    #[allow(unused_imports)]
                                    use #p::{AtTransient as _, AtError as _, AtAnyhow as _, AtResult as _, AtAny as _};
                                    (&&&&&#p::Look(&#value)).look()
                                };
                                #answer
                            }
                            #p::Result::Err(#stop) => #p::Outcome::stopped(#stop),
                        };
                        match #attempt.record(#outcome).await {
                            #p::Recorded::Commit(#commit) => #commit.finalize().await,
                            #p::Recorded::Ended(#ended) => #ended,
                        }
                    }
                    #p::Reserved::Ended(#ended) => #ended,
                }
            };
            #ended.answer(#held).await
        }};
        let task = quote_spanned!(at=> #run.tasks().detach(async move #work).await);

        quote! {
            let (mut #call, _) = #guard.call(const { #options });
            #(#fingerprints)*
            #(#scope)*
            let (mut #run, mut #held) = match #call.admit().await {
                #p::Admitted::Run(#run, #held) => (#run, #held),
                #p::Admitted::Done(#response) => return #response,
            };
            #task
        }
    }

    /// The options that were written.
    fn options(&self) -> TokenStream {
        let p = self.runtime().private(Span::mixed_site());
        let ttl = self.args.ttl.map(|seconds| quote!(.ttl(#seconds)));
        let record = self.args.record.map(|record| {
            let record = local(match record {
                Record::Decided => "Decided",
                Record::All => "All",
                Record::Success => "Success",
            });
            quote!(.record(#p::RecordRule::#record))
        });
        quote!(#p::Options::NONE #ttl #record)
    }

    /// What is asked of an argument before the run; the caret of a missing trait is on its type.
    fn fingerprint(&self, index: usize, argument: &Argument) -> Option<TokenStream> {
        let Argument { conditions, name, ty, .. } = argument;
        let at = site(ends(ty).0);
        let call = local("call");
        let statement = match argument.role {
            Role::Compared if self.scope.is_whole(index, argument) => return None,
            Role::Compared => {
                let turbofish = (!known::has_impl(ty)).then(|| quote_spanned!(at=> ::<#ty>));
                // Exactly the place of the type, or else rustc labels the call as well.
                let fingerprint = Ident::new("fingerprint", ends(ty).0);
                quote_spanned!(at=> #call.#fingerprint #turbofish (&#name);)
            }
            Role::Skipped => self.door(&quote!(#name), ty),
            Role::Context | Role::Transaction | Role::Unfit => return None,
        };
        Some(quote!(#(#conditions)* { #statement }))
    }

    /// What is still asked of a skipped argument: of each element, where it is a tuple of extractors.
    fn door(&self, value: &TokenStream, ty: &Type) -> TokenStream {
        let at = site(ends(ty).0);
        if let Type::Tuple(tuple) = known::peeled(ty) {
            let doors = tuple.elems.iter().zip(0..).map(|(element, index)| {
                let index = Index { index, span: at };
                self.door(&quote_spanned!(at=> #value.#index), element)
            });
            return quote!(#(#doors)*);
        }
        let p = self.runtime().private(at);
        quote_spanned!(at=> #p::Door::of(&#value).skipped();)
    }

    fn part(&self, part: &Part) -> Option<TokenStream> {
        let call = local("call");
        match part {
            Part::Endpoint => Some(quote!(#call.endpoint();)),
            Part::Global => Some(quote!(#call.global();)),
            Part::Value(value) => self.value(value),
        }
    }

    /// A value of the scope, taken out of its argument by reference.
    fn value(&self, value: &Value) -> Option<TokenStream> {
        let Value { label, argument, binding, steps, span } = value;
        let Argument { name, pat, .. } = self.handler.arguments.get(*argument)?;
        let call = local("call");
        let at = site(binding.span());
        // Exactly the place of the value, or else rustc labels the call as well.
        let scope = |span| Ident::new("scope", span);

        // A name that starts with `_` would be reported as used, though not by the author.
        let renamed = Ident::new("value", at);
        let local = if binding.to_string().starts_with('_') { &renamed } else { binding };
        let pat = pattern::only(pat, binding, local);

        let (scope, reference) = if steps.is_empty() {
            // The caret is on the binding, which is the value.
            (scope(local.span()), quote!(#local))
        } else {
            // The caret is on the text, which names the part of it.
            let at = site(*span);
            let head = respanned(local, local.span().located_at(*span));
            let steps = steps.iter().map(|step| match step {
                Step::Field(name) => {
                    // Generated, or else rustc offers to replace the whole text by a name that is near.
                    let name = respanned(name, at);
                    quote_spanned!(at=> .#name)
                }
                Step::Index(index) => {
                    let index = Index { index: *index, span: at };
                    quote_spanned!(at=> .#index)
                }
                Step::Call(method) => quote_spanned!(at=> .#method()),
            });
            (scope(at), quote_spanned!(at=> &#head #(#steps)*))
        };
        Some(quote_spanned!(at=> { let #pat = &#name; #call.#scope(#label, #reference); }))
    }

    /// The handler as a value. Called by its name, clippy would ask for an `await` in every handler, and axum's
    /// own are spared that because the router takes them as values.
    fn handler(&self) -> TokenStream {
        let Signature { ident, generics, .. } = &self.handler.function.sig;
        let turbofish = generics::turbofish(generics);
        quote!(#ident #turbofish)
    }

    /// What the handler is called with, in source order.
    fn passed(&self, attempt: &Ident) -> TokenStream {
        let arguments = self.arguments().map(|(_, argument)| {
            let Argument { conditions, name, role, .. } = argument;
            let value = match role {
                Role::Transaction if self.transaction.is_lent => {
                    let at = ends(&self.transaction.written).0;
                    let p = self.runtime().private(at);
                    quote_spanned!(site(at)=> #p::Lends::lend(#attempt.parts().0))
                }
                // Of any type, and never reached.
                Role::Transaction | Role::Unfit => {
                    quote!(::core::option::Option::unwrap(::core::option::Option::None))
                }
                Role::Compared | Role::Skipped | Role::Context => quote!(#name),
            };
            quote!(#(#conditions)* #value)
        });
        quote!(#(#arguments),*)
    }

    /// The handler's value as an outcome; the caret of a type that is no answer is on the return type.
    fn answer(&self, verdict: &Ident, value: &Ident) -> TokenStream {
        let (turbofish, at) = match &self.handler.function.sig.output {
            ReturnType::Default => (None, Span::mixed_site()),
            ReturnType::Type(_, ty) => {
                let at = site(ends(ty).0);
                // An open type cannot be named, and `!` not yet.
                let is_named = !known::has_impl(ty) && !matches!(known::peeled(ty), Type::Never(_));
                let ty = to_inferred(ty);
                (is_named.then(|| quote_spanned!(at=> ::<#ty>)), at)
            }
        };
        let p = self.runtime().private(at);
        if self.handler.is_stream {
            return quote!({ ::core::mem::drop(#value); #p::outcome(#verdict, ()) });
        }
        quote_spanned!(at=> #p::outcome #turbofish (#verdict, #value))
    }

    fn arguments(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.handler.arguments.iter().enumerate()
    }

    /// The arguments that are extracted.
    fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.handler
            .arguments
            .iter()
            .filter(|argument| !matches!(argument.role, Role::Transaction | Role::Unfit))
    }

    fn runtime(&self) -> &Runtime {
        &self.args.runtime
    }
}

/// A name of our own.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The name in another place.
fn respanned(name: &Ident, span: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(span);
    name
}

/// The author's `async`, or one in the place where it is missing.
fn asyncness(sig: &Signature) -> Token![async] {
    sig.asyncness.unwrap_or(Token![async](sig.fn_token.span))
}
