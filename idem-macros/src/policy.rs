//! `#[derive(Policy)]`: options, a scope and extractors that the handlers of an API share.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::ParseStream;
use syn::{Data, DeriveInput, ExprPath, Fields, Generics, Ident, Type, parse_quote, parse_quote_spanned};

use crate::args::{Args, Place, Reader};
use crate::argument::Role;
use crate::derive;
use crate::describe;
use crate::errors::{Mistake, Mistakes, ends};
use crate::generics;
use crate::marks::Marks;
use crate::runtime::{Runtime, site};
use crate::scope::{self, Part, Scope};
use crate::setting;
use crate::vocabulary::Vocabulary;

const NAME: &str = "policy";

/// A field, which is an extractor.
struct Field<'a> {
    name: &'a Ident,
    ty: &'a Type,
    role: Role,
    /// The function that says what is compared: with [`Role::With`].
    with: Option<ExprPath>,
}

/// Both impls: what the policy says, and how its fields are extracted.
pub(crate) fn expand(input: &DeriveInput, mistakes: &mut Mistakes) -> TokenStream {
    let args = args(input, mistakes);
    if let Some(lifetime) = input.generics.lifetimes().next() {
        mistakes.add(
            Mistake::on(&lifetime.lifetime, "a policy borrows nothing: it goes from one task to another")
                .help("remove the lifetime, and let the fields own what they hold"),
        );
        return TokenStream::new();
    }
    let fields = fields(input, mistakes);
    let scope = match &fields {
        Some(fields) => {
            let names = Vocabulary::of_policy(fields.iter().map(|field| field.name));
            scope::resolve(&args.scope, &names, input.ident.span(), mistakes)
        }
        None => Scope::default(),
    };
    let lowering = Lowering { input, args: &args, fields: fields.as_deref(), scope: &scope };
    let (says, extracts) = (lowering.says(), lowering.extracts());
    quote!(#says #extracts)
}

fn args(input: &DeriveInput, mistakes: &mut Mistakes) -> Args {
    let mut reader = Reader::default();
    for attr in derive::named(&input.attrs, NAME) {
        let read = attr.parse_args_with(|input: ParseStream<'_>| {
            reader.read(input, Place::Policy, mistakes);
            Ok(())
        });
        if read.is_err() {
            mistakes.add(
                Mistake::on(attr, "`#[policy]` takes options in parentheses")
                    .help("write `#[policy(scope = \"endpoint\")]`"),
            );
            reader.skip();
        }
    }
    reader.finish(mistakes)
}

/// The fields; nothing if the item is none whose fields have names.
fn fields<'a>(input: &'a DeriveInput, mistakes: &mut Mistakes) -> Option<Vec<Field<'a>>> {
    let message = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Unit => return Some(Vec::new()),
            Fields::Named(fields) => {
                let mut read = |field: &'a syn::Field| {
                    let name = field.ident.as_ref()?;
                    let (role, with) = role(field, mistakes);
                    Some(Field { name, ty: &field.ty, role, with })
                };
                return Some(fields.named.iter().filter_map(&mut read).collect());
            }
            Fields::Unnamed(_) => "the fields of a policy have names, which its scope uses".to_owned(),
        },
        Data::Enum(_) | Data::Union(_) => {
            format!("`Policy` is derived for a struct, not for `{}`", derive::keyword(input))
        }
    };
    mistakes.add(
        Mistake::on(&input.ident, message)
            .help(format!("write `struct {} {{ tenant: TenantId }}`, each field an extractor", input.ident)),
    );
    None
}

fn role(field: &syn::Field, mistakes: &mut Mistakes) -> (Role, Option<ExprPath>) {
    derive::refuse(field, NAME, mistakes);
    let marks = Marks::take(&mut field.attrs.clone(), mistakes);
    let role = match marks.role() {
        Role::Body => {
            mistakes.add(
                Mistake::on(marks.fingerprint(), "the body is read by the handler, not by its policy")
                    .help("move the field to the handlers' arguments"),
            );
            Role::Context
        }
        role => role,
    };
    (role, marks.with().cloned())
}

struct Lowering<'a> {
    input: &'a DeriveInput,
    args: &'a Args,
    /// Nothing if they were reported.
    fields: Option<&'a [Field<'a>]>,
    scope: &'a Scope,
}

impl Lowering<'_> {
    /// The options, and what the fields say of a request.
    fn says(&self) -> TokenStream {
        let p = self.runtime().private(Span::mixed_site());
        let options = setting::options(&self.args.settings, self.runtime());
        let engine = Ident::new(
            if self.args.is_engine_in_extension { "FromExtension" } else { "FromState" },
            Span::mixed_site(),
        );
        let (call, database) = (describe::call(), Ident::new("__DB", Span::mixed_site()));
        let statements = self.statements();

        let mut generics = self.generics();
        self.bound_fields(&mut generics);
        let name = &self.input.ident;
        let (parameters, arguments, clause) = generics.split_for_impl();
        quote! {
            #[automatically_derived]
            impl #parameters #p::Sealed for #name #arguments #clause {}

            #[automatically_derived]
            impl #parameters #p::Policy for #name #arguments #clause {
                const OPTIONS: #p::Options = #options;
                type Engine = #p::#engine;
                fn describe<#database: #p::Store>(&self, #call: &mut #p::Call<#database>) {
                    #statements
                }
            }
        }
    }

    fn statements(&self) -> TokenStream {
        let fields = self.fields.unwrap_or_default();
        let fingerprints = fields.iter().enumerate().filter_map(|(index, field)| {
            let Field { name, ty, role, with } = field;
            if self.is_whole(index, *role) {
                return None;
            }
            let statements =
                describe::fingerprint(*role, with.as_ref(), &quote!(self.#name), ty, self.runtime())?;
            Some(quote!({ #statements }))
        });
        let call = describe::call();
        let scope = self.scope.parts.iter().map(|part| match part {
            Part::Endpoint => quote!(#call.endpoint();),
            Part::Global => quote!(#call.global();),
            Part::Value(label, value) => {
                let binding = &value.binding;
                let at = site(binding.span());
                let statement =
                    describe::named("scope", Some(label), &quote!(#binding), &value.steps, value.span);
                // Of the same hygiene as the `self` of the method.
                let this = quote!(self);
                quote_spanned!(at=> { let #binding = &#this.#binding; #statement })
            }
        });
        // A field may be there for its rejection alone, and a policy without fields.
        let context = fields.iter().filter(|field| field.role == Role::Context).map(|field| field.name);
        let itself = fields.is_empty().then(|| quote!(let _ = self;));
        quote!(#itself #(let _ = &self.#context;)* #(#fingerprints)* #(#scope)*)
    }

    /// How the fields are extracted, in order.
    fn extracts(&self) -> TokenStream {
        let p = self.runtime().private(Span::mixed_site());
        let [state, parts, from] = ["__S", "parts", "state"].map(|name| Ident::new(name, Span::mixed_site()));
        let mut generics = self.generics();
        generics.params.push(syn::parse_quote!(#state: ::core::marker::Send + ::core::marker::Sync));
        self.bound_fields(&mut generics);
        let fields = self.fields.unwrap_or_default();
        for Field { ty, .. } in fields {
            let at = site(ends(ty).0);
            let private = self.runtime().private(at);
            derive::bound(&mut generics, parse_quote_spanned!(at=> #ty: #private::PolicyField<#state>));
        }
        let extracted = fields
            .iter()
            .map(|Field { name, ty, .. }| quote!(#name: #p::extract::<#ty, #state>(#parts, #from).await?));
        let made = if self.fields.is_some() {
            quote!({
                let _ = (&#parts, #from);
                ::core::result::Result::Ok(Self { #(#extracted),* })
            })
        } else {
            quote!({ ::core::option::Option::unwrap(::core::option::Option::None) })
        };

        let name = &self.input.ident;
        let (parameters, _, clause) = generics.split_for_impl();
        let (_, arguments, _) = self.input.generics.split_for_impl();
        quote! {
            #[automatically_derived]
            impl #parameters #p::FromPolicyParts<#state> for #name #arguments #clause {
                fn from_policy_parts<'__parts>(
                    #parts: &'__parts mut #p::Parts,
                    #from: &'__parts #state,
                ) -> ::core::pin::Pin<::std::boxed::Box<dyn ::core::future::Future<Output = ::core::result::Result<Self, #p::Response>> + ::core::marker::Send + '__parts>> {
                    ::std::boxed::Box::pin(async move #made)
                }
            }
        }
    }

    /// The type's own parameters, as those of something that goes from one task to another.
    fn generics(&self) -> Generics {
        let mut generics = self.input.generics.clone();
        for parameter in generics.type_params_mut() {
            parameter.default = None;
        }
        generics::bound(&mut generics, |_| {
            vec![
                ("Send", parse_quote!(::core::marker::Send)),
                ("Sync", parse_quote!(::core::marker::Sync)),
                ("'static", parse_quote!('static)),
            ]
        });
        generics
    }

    /// What is asked of a field whose type can only be judged where the policy is used.
    fn bound_fields(&self, generics: &mut Generics) {
        for (index, Field { ty, role, .. }) in self.fields.unwrap_or_default().iter().enumerate() {
            if !derive::is_open(ty, self.input) {
                continue;
            }
            let at = site(ends(ty).0);
            let p = self.runtime().private(at);
            if self.scope.is_whole(index) {
                derive::bound(generics, parse_quote_spanned!(at=> #ty: #p::ScopeValue));
            } else if *role == Role::Compared {
                derive::bound(generics, parse_quote_spanned!(at=> #ty: #p::Fingerprint));
            }
        }
    }

    /// Whether the field as a whole is a part of the scope, and so needs no comparison.
    fn is_whole(&self, index: usize, role: Role) -> bool {
        role == Role::Compared && self.scope.is_whole(index)
    }

    fn runtime(&self) -> &Runtime {
        &self.args.runtime
    }
}
