//! What the derives share: the options on the type and its fields, and bounds on fields.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, DeriveInput, Field, Generics, Ident, Path, Type, WherePredicate, parse_quote};

use crate::errors::{Mistake, Mistakes};
use crate::option::{self, Known, Seen};
use crate::runtime::Runtime;

/// Reads the item of a derive, and puts the mistakes beside what `derive` makes of it.
pub(crate) fn derive(
    item: TokenStream,
    derive: impl FnOnce(&DeriveInput, &mut Mistakes) -> TokenStream,
) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let mut tokens = match syn::parse2(item) {
        Ok(input) => derive(&input, &mut mistakes),
        Err(error) => {
            mistakes.add(error.into());
            TokenStream::new()
        }
    };
    tokens.extend(mistakes.into_tokens());
    tokens
}

/// Reads `#[<name>(crate = path)]` on the type.
pub(crate) fn runtime(attrs: &[Attribute], name: &str, mistakes: &mut Mistakes) -> Runtime {
    let mut runtime = Runtime::default();
    for attr in named(attrs, name) {
        let elsewhere = if name == "inert" { of_fields } else { |_: &option::Key| None };
        options(attr, "crate = path", &Known { names: &["crate"], elsewhere }, mistakes, |key, input, _| {
            runtime = key.runtime(input)?;
            Ok(())
        });
    }
    runtime
}

/// What is said of an option that only fields have.
fn of_fields(key: &option::Key) -> Option<Mistake> {
    (key.name == "trusted").then(|| {
        Mistake::at(key.span, "`trusted` is said of a field, not of its type")
            .help("move `#[inert(trusted)]` to the field that is vouched for")
    })
}

/// Tells whether `#[<name>(<flag>)]` is on the field, or was meant to be.
pub(crate) fn has_flag(field: &Field, name: &str, flag: &str, mistakes: &mut Mistakes) -> bool {
    let mut is_set = false;
    for attr in named(&field.attrs, name) {
        let before = mistakes.count();
        options(attr, flag, &Known::only(&[flag]), mistakes, |_, _, _| {
            is_set = true;
            Ok(())
        });
        is_set |= mistakes.count() > before;
    }
    is_set
}

/// Says of each `#[<name>(…)]` on a field that it has no meaning there.
pub(crate) fn refuse(field: &Field, name: &str, mistakes: &mut Mistakes) {
    for attr in named(&field.attrs, name) {
        mistakes.add(
            Mistake::on(attr, format!("`#[{name}]` has no meaning on a field"))
                .help("remove it, or move it to the type"),
        );
    }
}

pub(crate) fn named<'a>(attrs: &'a [Attribute], name: &'a str) -> impl Iterator<Item = &'a Attribute> {
    attrs.iter().filter(move |attr| attr.path().is_ident(name))
}

fn options(
    attr: &Attribute,
    example: &str,
    known: &Known<'_>,
    mistakes: &mut Mistakes,
    read: impl FnMut(&option::Key, syn::parse::ParseStream<'_>, &mut Mistakes) -> Result<(), Mistake>,
) {
    let parsed = attr.parse_args_with(|input: syn::parse::ParseStream<'_>| {
        option::each(input, known, &mut Seen::default(), mistakes, read);
        Ok(())
    });
    if parsed.is_err() {
        let name = attr.path().to_token_stream().to_string();
        mistakes.add(
            Mistake::on(attr, format!("`#[{name}]` takes options in parentheses"))
                .help(format!("write `#[{name}({example})]`")),
        );
    }
}

/// Adds a bound to the type's own.
pub(crate) fn bound(generics: &mut Generics, predicate: WherePredicate) {
    generics.make_where_clause().predicates.push(predicate);
}

/// Whether the bound on a field's type can only be judged where the type is used.
///
/// A type that holds itself is judged at once: as a bound of its own impl it would never end.
pub(crate) fn is_open(ty: &Type, input: &DeriveInput) -> bool {
    let parameters: Vec<&Ident> = input.generics.type_params().map(|param| &param.ident).collect();
    mentions(ty, &parameters) && !mentions(ty, &[&input.ident])
}

/// Whether one of the names is used in the type.
fn mentions(ty: &Type, names: &[&Ident]) -> bool {
    struct Find<'a>(&'a [&'a Ident], bool);
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_path(&mut self, path: &'ast Path) {
            let first = path.segments.first().map(|segment| &segment.ident);
            self.1 |= path.leading_colon.is_none() && first.is_some_and(|first| self.0.contains(&first));
            visit::visit_path(self, path);
        }
    }
    let mut find = Find(names, false);
    find.visit_type(ty);
    find.1
}

/// The field's type where `Self` has no meaning.
pub(crate) fn without_self(field: &Field, input: &DeriveInput) -> Type {
    struct Replace(Type);
    impl VisitMut for Replace {
        fn visit_type_mut(&mut self, ty: &mut Type) {
            if matches!(ty, Type::Path(path) if path.path.is_ident("Self")) {
                *ty = self.0.clone();
            } else {
                visit_mut::visit_type_mut(self, ty);
            }
        }
    }
    let (name, (_, arguments, _)) = (&input.ident, input.generics.split_for_impl());
    let mut ty = field.ty.clone();
    Replace(parse_quote!(#name #arguments)).visit_type_mut(&mut ty);
    ty
}

/// The keyword of a type.
pub(crate) fn keyword(input: &DeriveInput) -> TokenStream {
    match &input.data {
        syn::Data::Struct(data) => data.struct_token.to_token_stream(),
        syn::Data::Enum(data) => data.enum_token.to_token_stream(),
        syn::Data::Union(data) => data.union_token.to_token_stream(),
    }
}
