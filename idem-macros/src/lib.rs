//! The attribute and derives of `idem-runtime`, which re-exports them: an application depends on that crate alone.
//!
//! `parse → model → resolve → lower`, a file or two each, each a function from a value to a value: `args` reads what
//! is written in the attribute, `function` and `handler` what is under it, `scope` brings the two together, and
//! `expand` makes tokens of it. Mistakes are gathered on the way, in `errors`, and stand beside the best
//! expansion there is.

#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod args;
mod argument;
mod derive;
mod describe;
mod duration;
mod errors;
mod expand;
#[cfg(test)]
mod expansions;
mod function;
mod generics;
mod handler;
mod header_name;
mod inert;
mod inner;
mod key;
mod known;
mod lifetimes;
mod marks;
mod names;
mod option;
mod path;
mod pattern;
mod policy;
mod runtime;
mod scope;
mod scope_value;
mod setting;
mod size;
#[cfg(test)]
mod totality;
mod value;
mod vocabulary;

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::errors::{Mistake, Mistakes};
use crate::expand::Checked;
use crate::scope::Scope;
use crate::vocabulary::Vocabulary;

#[doc = include_str!("manual/overview.md")]
#[doc = include_str!("manual/options.md")]
#[doc = include_str!("manual/arguments.md")]
#[doc = include_str!("manual/answer.md")]
#[doc = include_str!("manual/policies.md")]
#[doc = include_str!("manual/webhooks.md")]
#[doc = include_str!("manual/surprises.md")]
#[doc = include_str!("manual/migration.md")]
#[doc = include_str!("manual/errors.md")]
#[proc_macro_attribute]
pub fn idempotent(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    handler_of(options.into(), item.into()).into()
}

/// Makes a type inert if each of its fields is.
///
/// For a struct or an enum, generic or not: each field's type must be `Inert`, and one that is not is an error at that
/// field. A pool or a connection never is. A field whose type cannot be asked, because it belongs to another crate, is
/// vouched for by its author with `#[inert(trusted)]`: nothing is written through it.
///
/// A type with a scope value is inert already, and has no use for the derive.
///
/// | option | place | meaning |
/// |---|---|---|
/// | `#[inert(trusted)]` | a field | not checked; what is written through it is neither rolled back nor left out of a replay |
/// | `#[inert(crate = path)]` | the type | where the run time is; `::idem_runtime` if not given |
///
/// # Examples
/// ```
/// # mod another_crate { pub struct Clock; }
/// use std::sync::Arc;
///
/// #[derive(idem_runtime::Inert)]
/// struct AppState {
///     currencies: Arc<Vec<String>>,
///     #[inert(trusted)]
///     clock: another_crate::Clock,
/// }
/// ```
#[proc_macro_derive(Inert, attributes(inert))]
pub fn derive_inert(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive::derive(item.into(), inert::expand).into()
}

/// Gives a newtype the scope value of what it holds.
///
/// For a struct with one field, named or not, whose type has a scope value: a string, an integer, a UUID, or another
/// such type. A type with more to it implements `ScopeValue` by hand.
///
/// `#[scope_value(crate = path)]` on the type says where the run time is; `::idem_runtime` if not given.
///
/// # Examples
/// ```
/// use idem_runtime::ScopeValue;
///
/// #[derive(ScopeValue)]
/// struct TenantId(String);
///
/// assert_eq!(TenantId("t1".to_owned()).scope_value(), "t1");
/// ```
#[proc_macro_derive(ScopeValue, attributes(scope_value))]
pub fn derive_scope_value(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive::derive(item.into(), scope_value::expand).into()
}

/// Makes a policy of a struct whose fields are extractors: what the handlers of an API have in common.
///
/// For a struct with named fields, or without fields, generic or not. `#[policy(…)]`, once or several times, holds the
/// [options](macro@idempotent#options), of which `scope` must be there. A field that is not named whole in the scope is
/// compared, unless `#[fingerprint(skip)]`, `#[fingerprint(with = path)]` or `#[context]` says otherwise, as on an argument
/// of a handler.
///
/// The manual is the section [Policies](macro@idempotent#policies) of the attribute's.
///
/// # Examples
/// ```
/// # mod api {
/// # use axum::Extension;
/// # use sqlx::PgConnection;
/// # #[derive(Clone, idem_runtime::ScopeValue)]
/// # pub struct TenantId(String);
/// #[derive(idem_runtime::Policy)]
/// #[policy(scope = "tenant,endpoint", in_progress = "wait 5s")]
/// pub struct PublicApi {
///     pub tenant: Extension<TenantId>,
/// }
///
/// #[idem_runtime::idempotent(policy = PublicApi, ttl = "72h")]
/// async fn refund(tx: &mut PgConnection, order: String) -> String {
///     order
/// }
/// # }
/// ```
#[proc_macro_derive(Policy, attributes(policy, fingerprint, context))]
pub fn derive_policy(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive::derive(item.into(), policy::expand).into()
}

/// Parse, model, resolve, lower; mistakes stand beside the best expansion there is.
fn handler_of(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let mut args = args::parse(options, &mut mistakes);
    let expansion = match function::parse(item) {
        Ok(mut function) => {
            for again in function.attrs.extract_if(.., |attr| known::is_idempotent(attr)) {
                mistakes.add(Mistake::on(&again, handler::AGAIN).help("remove one of the two"));
            }
            if let Some(inner) = args.inner.take_if(|inner| inner.name == function.sig.ident) {
                mistakes.add(inner.is_the_handlers());
            }
            let handler = handler::model(function, &args, &mut mistakes);
            let names = Vocabulary::of_handler(&handler);
            let scope = match &args.policy {
                Some(_) => Scope::of_policy(),
                None => scope::resolve(&args.scope, &names, Span::call_site(), &mut mistakes),
            };
            let key = args.key.as_ref().and_then(|literal| key::resolve(literal, &names, &mut mistakes));
            expand::lower(&Checked { args: &args, handler: &handler, scope: &scope, key: key.as_ref() })
        }
        Err((mistake, item)) => {
            mistakes.add(mistake);
            item
        }
    };
    let mistakes = mistakes.into_tokens();
    quote!(#mistakes #expansion)
}
