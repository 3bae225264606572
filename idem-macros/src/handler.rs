//! The function as a model: the transaction, the inputs, the names they bind.
//!
//! Long, since an argument's role depends on the others': which is the transaction, and which the body.

#[cfg(test)]
mod tests;

use proc_macro2::{Ident, Span};
use quote::{ToTokens, format_ident};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{FnArg, Lifetime, PatType, ReturnType, Safety, Signature, Type, TypeReference};

use crate::args::Args;
use crate::argument::{Argument, Role};
use crate::errors::{Mistake, Mistakes};
use crate::function::Function;
use crate::known::{self, peeled};
use crate::lifetimes::{Lifetimes, to_static};
use crate::marks::Marks;
use crate::pattern;
use crate::runtime::site;

/// The second attribute would find the function that the first has made, which takes no transaction.
pub(crate) const AGAIN: &str = "this handler is `#[idempotent]` already";

/// axum takes sixteen arguments; the guard stands in the transaction's place.
const MAX_EXTRACTORS: usize = 15;

/// A handler, with everything the expansion needs to know of its signature.
pub(crate) struct Handler {
    /// As written, without our attributes on its arguments.
    pub(crate) function: Function,
    /// In source order.
    pub(crate) arguments: Vec<Argument>,
    /// Nothing, if a mistake leaves no expansion; the function is then given back.
    pub(crate) transaction: Option<Transaction>,
    /// Whether the answer was reported, so that rustc is not to be asked about it.
    pub(crate) is_stream: bool,
    /// Whether an argument is of an `impl Trait`, which was reported: then the handler is no value that can be named.
    pub(crate) is_open: bool,
    /// Whether the handler says `Self`, so that it cannot stand inside another function.
    pub(crate) says_self: bool,
}

/// The argument that the handler writes through.
pub(crate) struct Transaction {
    /// The type as written, for carets.
    pub(crate) written: Type,
    /// The transaction's or connection's own type; borrows nothing. Nothing if there is no run, because it is known to be
    /// none or because the handler cannot be called; that has been reported.
    pub(crate) referent: Option<Type>,
    /// Whether a borrow of the run's transaction can be passed.
    pub(crate) is_lent: bool,
}

/// Reads the signature. With an `inner` function of its own, the handler may say `Self`.
pub(crate) fn model(mut function: Function, args: &Args, mistakes: &mut Mistakes) -> Handler {
    let can_run = check_signature(&function.sig, mistakes);
    check_answer(&mut function.sig.output, mistakes);
    let may_say_self = args.inner.as_ref().is_some_and(|inner| inner.is_associated);
    let says_self = match known::first_self(&function) {
        Some(at) if !may_say_self => {
            mistakes.add(
                Mistake::at(at, "`Self` cannot be used in an `#[idempotent]` handler, which becomes a function inside another")
                    .help(format!("name the type, or add the option `inner = \"Self::{}_inner\"`", function.sig.ident.unraw())),
            );
            true
        }
        _ => false,
    };

    let mut written: Vec<(PatType, Marks)> = Vec::new();
    for argument in &mut function.sig.inputs {
        if let FnArg::Typed(argument) = argument {
            let marks = Marks::take(&mut argument.attrs, mistakes);
            written.push((argument.clone(), marks));
        }
    }

    let (at, transaction) = find_transaction(&function.sig, &written, mistakes);
    let bodies: Vec<_> = written.iter().map(|(_, marks)| marks.fingerprint().cloned()).collect();
    let mut arguments: Vec<Argument> = Vec::new();
    for (index, (argument, marks)) in written.into_iter().enumerate() {
        let with = marks.with().cloned();
        let role = if at == Some(index) {
            check_marks_of_transaction(&marks, mistakes);
            Role::Transaction
        } else {
            role(&argument.ty, &marks, args, mistakes)
        };
        let mut argument = lift(argument, role, index, &function.sig.ident, &arguments);
        argument.with = with;
        arguments.push(argument);
    }
    check_count(&mut arguments, mistakes);
    check_body(&mut arguments, &bodies, mistakes);

    let is_stream = known::streaming_answer(&function.sig.output).is_some();
    let is_open = arguments.iter().any(|argument| known::has_impl(&argument.ty));
    let has_self = function.sig.receiver().is_some();
    let transaction = transaction.filter(|_| !has_self).map(|mut transaction| {
        transaction.referent = transaction.referent.filter(|_| can_run && !is_open);
        transaction
    });
    Handler { function, arguments, transaction, is_stream, is_open, says_self }
}

/// Judges what is not an argument; tells whether the handler can be called.
fn check_signature(sig: &Signature, mistakes: &mut Mistakes) -> bool {
    let mut can_run = true;
    if sig.asyncness.is_none() {
        // Made async, it would answer with a future.
        let answers_future = matches!(&sig.output, ReturnType::Type(_, ty) if known::has_impl(ty));
        can_run &= !answers_future;
        let and = if answers_future { ", and answer with what the future gives" } else { "" };
        mistakes.add(
            Mistake::on(sig.fn_token, "an `#[idempotent]` handler is an `async fn`")
                .help(format!("write `async fn {}`{and}", sig.ident)),
        );
    }
    if let Some(receiver) = sig.receiver() {
        mistakes.add(
            Mistake::on(receiver, "an `#[idempotent]` handler has no `self`")
                .help("take what it needs of `self` as an extractor, for example `State`"),
        );
    }
    if let Some(keyword) = &sig.constness {
        mistakes.add(Mistake::on(keyword, "a handler cannot be `const`").help("remove `const`"));
    }
    if let Safety::Unsafe(keyword) = &sig.safety {
        mistakes.add(Mistake::on(keyword, "a handler cannot be `unsafe`").help("remove `unsafe`"));
        can_run = false;
    }
    if let Some(abi) = &sig.abi {
        mistakes.add(
            Mistake::on(abi, "a handler cannot be `extern`")
                .help(format!("remove `{}`", abi.to_token_stream())),
        );
        can_run = false;
    }
    if let Some(stream) = known::streaming_answer(&sig.output) {
        mistakes.add(
            Mistake::on(stream, "an answer that is a stream cannot be stored")
                .note("the answer is stored whole, before the transaction commits")
                .help("answer with a body of known length, such as `Json` or `Bytes`"),
        );
    }
    can_run
}

/// Judges an answer that borrows: what axum sends is `'static`. It is made so, or else rustc says the same three times.
fn check_answer(output: &mut ReturnType, mistakes: &mut Mistakes) {
    let ReturnType::Type(_, ty) = output else { return };
    known::for_each_borrowed_answer(ty, &mut |reference| {
        mistakes.add(
            Mistake::on(&*reference, "an answer cannot be borrowed: it outlives the handler")
                .help("answer with a `String` or a `Vec<u8>`; the type of a literal is `&'static str`"),
        );
        reference.lifetime = Some(Lifetime::new("'static", reference.and_token.spans[0]));
    });
}

/// Finds the one argument taken by `&mut`, and judges it.
fn find_transaction(
    sig: &Signature,
    arguments: &[(PatType, Marks)],
    mistakes: &mut Mistakes,
) -> (Option<usize>, Option<Transaction>) {
    const BY_MUT: &str =
        "take it by `&mut`; it commits when the handler succeeds and rolls back when it fails";
    const ALONE: &str = "take it by itself, and the extractors after it";
    const NO_OPTION: &str = "take it by `&mut` alone, without `Option`";
    let types = || arguments.iter().map(|(argument, _)| &*argument.ty).enumerate();
    let lent = || types().filter_map(|(index, ty)| as_mutable(ty).map(|reference| (index, ty, reference)));
    // Of two, the one that is called like a transaction: the other is the one too much.
    let named = lent().find(|(_, _, reference)| known::is_transaction(&reference.elem));
    if let Some((index, written, reference)) = named.or_else(|| lent().next()) {
        return (Some(index), Some(judge_lent(written, reference, mistakes)));
    }

    let given = types().find_map(|(index, ty)| match peeled(ty) {
        Type::Reference(reference) if known::is_transaction(&reference.elem) => {
            Some((index, ty, &*reference.elem, "the transaction is lent by a shared reference", BY_MUT))
        }
        _ if known::is_transaction(ty) => {
            Some((index, ty, ty, "the transaction is lent to the handler, not given", BY_MUT))
        }
        Type::Tuple(tuple) => {
            let reference = tuple.elems.iter().find_map(as_mutable)?;
            Some((index, ty, &*reference.elem, "a handler's transaction is an argument of its own", ALONE))
        }
        _ => {
            let referent = &*as_mutable(known::optional(ty)?)?.elem;
            Some((index, ty, referent, "a handler's transaction is always there", NO_OPTION))
        }
    });
    if let Some((index, written, referent, message, help)) = given {
        mistakes.add(Mistake::on(written, message).help(help));
        return (Some(index), Some(transaction(written, referent, false)));
    }

    if types().any(|(_, ty)| known::is_guard(ty)) {
        // Under another name, which the first could not tell.
        mistakes.add(Mistake::at(Span::call_site(), AGAIN).help("remove one of the two"));
        return (None, None);
    }
    mistakes.add(
        Mistake::on(&sig.ident, "an `#[idempotent]` handler must take the transaction it runs in")
            .help("add the argument `tx: &mut sqlx::PgConnection`"),
    );
    (None, None)
}

/// Whether the type is a transaction at all is left to a trait; this is about the borrow.
fn judge_lent(written: &Type, reference: &TypeReference, mistakes: &mut Mistakes) -> Transaction {
    let referent = &*reference.elem;
    if known::has_impl(referent) {
        mistakes.add(
            Mistake::on(referent, "the transaction's type is not named")
                .help("name it, for example `tx: &mut sqlx::PgConnection`"),
        );
        return unfit(written);
    }
    if let Some(what) = known::beside_the_transaction(referent) {
        mistakes.add(
            Mistake::on(referent, format!("{what} is not the transaction"))
                .help("take the transaction, or the connection inside it: `tx: &mut sqlx::PgConnection`"),
        );
        return unfit(written);
    }
    if known::is_plain_data(referent) {
        mistakes.add(
            Mistake::on(referent, format!("`{}` is not a transaction", known::spelled(referent)))
                .help("take the transaction, or the connection inside it: `tx: &mut sqlx::PgConnection`"),
        );
        return unfit(written);
    }
    if let Some(lifetime) = &reference.lifetime
        && (lifetime.ident == "static" || mentions(referent, lifetime))
    {
        mistakes.add(
            Mistake::on(
                lifetime,
                format!("the transaction is lent for the call, which is shorter than `{lifetime}`"),
            )
            .help("leave the lifetime out"),
        );
        return transaction(written, referent, false);
    }
    transaction(written, referent, true)
}

fn transaction(written: &Type, referent: &Type, is_lent: bool) -> Transaction {
    Transaction {
        written: written.clone(),
        referent: Some(to_static(referent, Lifetimes::visit_type_mut)),
        is_lent,
    }
}

/// What was reported: there is no database to ask for an engine.
fn unfit(written: &Type) -> Transaction {
    Transaction { written: written.clone(), referent: None, is_lent: false }
}

/// The role of an argument that is not the transaction.
fn role(ty: &Type, marks: &Marks, args: &Args, mistakes: &mut Mistakes) -> Role {
    if let Type::Reference(reference) = peeled(ty) {
        return role_of_reference(ty, reference, marks, mistakes);
    }
    if known::has_impl(ty) {
        mistakes.add(
            Mistake::on(ty, "the type of an argument is not named")
                .help("write the type, or a type parameter of the handler, in place of `impl …`"),
        );
        return Role::Unfit;
    }
    let written = ty.to_token_stream().to_string();
    let is_policy =
        args.policy.as_ref().is_some_and(|policy| policy.to_token_stream().to_string() == written);
    if is_policy && marks.any().is_none() {
        mistakes.add(Mistake::on(ty, "the policy is lent to the handler, not given").help("take it by `&`"));
        return Role::Unfit;
    }
    let role = marks.role();
    match known::streaming_extractor(ty) {
        Some(stream) if role == Role::Compared => {
            let message = format!("`{}` is a stream, which cannot be compared with a retry's", stream.name);
            mistakes.add(Mistake::on(ty, message).help(stream.help));
            Role::Unfit
        }
        _ => role,
    }
}

/// Whether a shared reference is to something that a run lends is left to a trait.
fn role_of_reference(ty: &Type, reference: &TypeReference, marks: &Marks, mistakes: &mut Mistakes) -> Role {
    let mistake = if reference.mutability.is_some() {
        let help = if known::is_execution(&reference.elem) {
            "take it by `&`"
        } else {
            "remove it, or take it by value"
        };
        Mistake::on(ty, "a second argument is taken by `&mut`, which only the transaction is").help(help)
    } else if let Some(mark) = marks.any() {
        Mistake::on(mark, "what a run lends is no input of the request").help("remove the attribute")
    } else if let Some(lifetime) = reference.lifetime.as_ref().filter(|lifetime| lifetime.ident == "static") {
        Mistake::on(lifetime, "what a run lends is lent for the call, which is shorter than `'static`")
            .help("leave the lifetime out")
    } else if known::has_impl(&reference.elem) {
        Mistake::on(&reference.elem, "the type of an argument is not named").help(
            "write `&Execution` or the policy, which are what a run lends; an extractor is taken by value",
        )
    } else {
        return Role::Lent;
    };
    mistakes.add(mistake);
    Role::Unfit
}

fn check_marks_of_transaction(marks: &Marks, mistakes: &mut Mistakes) {
    if let Some(mark) = marks.any() {
        mistakes.add(
            Mistake::on(mark, "the transaction is no input of the request").help("remove the attribute"),
        );
    }
}

fn check_count(arguments: &mut [Argument], mistakes: &mut Mistakes) {
    let extractors =
        arguments.iter_mut().filter(|argument| argument.is_extracted() && argument.conditions.is_empty());
    for (index, excess) in extractors.skip(MAX_EXTRACTORS).enumerate() {
        excess.role = Role::Unfit;
        if index == 0 {
            let message =
                format!("a handler takes at most {MAX_EXTRACTORS} extractors beside the transaction");
            mistakes.add(
                Mistake::on(&excess.pat, message)
                    .help("gather some of them in a struct that derives axum's `FromRequestParts`"),
            );
        }
    }
}

/// The body is read by the last extractor alone.
fn check_body(arguments: &mut [Argument], fingerprints: &[Option<syn::Attribute>], mistakes: &mut Mistakes) {
    let last = arguments.iter().rposition(Argument::is_extracted);
    for (index, (argument, attr)) in arguments.iter_mut().zip(fingerprints).enumerate() {
        if argument.role != Role::Body {
            continue;
        }
        let mistake = if Some(index) != last {
            Mistake::on(attr, "only the last extractor reads the body")
                .help("move the argument behind the others, or remove `#[fingerprint(body)]`")
        } else if matches!(peeled(&argument.ty), Type::Tuple(_)) {
            Mistake::on(attr, "the body is all that would be compared of several extractors")
                .help("take each extractor as an argument of its own, and mark the last")
        } else {
            continue;
        };
        argument.role = Role::Unfit;
        mistakes.add(mistake);
    }
}

/// The argument as the outer function takes it.
fn lift(written: PatType, role: Role, index: usize, function: &Ident, others: &[Argument]) -> Argument {
    let PatType { attrs, pat, ty, .. } = written;
    let bindings = pattern::bindings(&pat);
    let own = format_ident!("arg{}", index, span = site(crate::errors::ends(&pat).0));
    let name = match bindings.as_slice() {
        // The author's name, so that the documentation shows it and `#[instrument]` finds it; unless clippy
        // would take our use of it for the author's, or it already means something here.
        [name]
            if !name.to_string().starts_with('_')
                && name != function
                && others.iter().all(|other| other.name != *name) =>
        {
            name.clone()
        }
        _ => own,
    };
    Argument {
        role,
        name,
        ty: to_static(&*ty, Lifetimes::visit_type_mut),
        bindings,
        with: None,
        pat: *pat,
        conditions: attrs.into_iter().filter(known::is_condition).collect(),
    }
}

fn as_mutable(ty: &Type) -> Option<&TypeReference> {
    match peeled(ty) {
        Type::Reference(reference) if reference.mutability.is_some() => Some(reference),
        _ => None,
    }
}

fn mentions(ty: &Type, wanted: &Lifetime) -> bool {
    struct Find<'a>(&'a Lifetime, bool);
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
            self.1 |= lifetime == self.0;
            visit::visit_lifetime(self, lifetime);
        }
    }
    let mut find = Find(wanted, false);
    find.visit_type(ty);
    find.1
}
