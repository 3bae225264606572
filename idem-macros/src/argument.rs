//! One argument of the handler.

use syn::{Attribute, ExprPath, Ident, Pat, Type};

use crate::pattern;

/// An argument, as the outer function takes it.
pub(crate) struct Argument {
    pub(crate) role: Role,
    /// Its name outside: the author's where the pattern binds one name, else ours.
    pub(crate) name: Ident,
    /// Its type outside, which borrows nothing.
    pub(crate) ty: Type,
    /// Its pattern inside.
    pub(crate) pat: Pat,
    /// The names that the pattern binds.
    pub(crate) bindings: Vec<Ident>,
    /// The function that says what is compared: with [`Role::With`].
    pub(crate) with: Option<ExprPath>,
    /// The conditions under which it exists, copied to every use of it.
    pub(crate) conditions: Vec<Attribute>,
}

/// What an argument is to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What the handler writes through.
    Transaction,
    /// What the run holds, or the policy: a shared reference.
    Lent,
    /// Extracted, and compared with a retry's.
    Compared,
    /// Extracted, and compared by what a function of the author's says of it.
    With,
    /// Extracted, and compared by the body that it was made of.
    Body,
    /// Extracted, and left out of the comparison: `#[fingerprint(skip)]`.
    Skipped,
    /// Extracted, and vouched for by the author: `#[context]`.
    Context,
    /// Reported; the handler is called without it, so that rustc has nothing to add.
    Unfit,
}

impl Argument {
    /// Whether the argument is bound as a whole, by a name alone.
    pub(crate) fn is_plain(&self) -> bool {
        pattern::is_plain(&self.pat)
    }

    /// Whether it is an extension that is bound by a name alone: `Extension(name)`.
    pub(crate) fn is_extension(&self) -> bool {
        let Pat::TupleStruct(pat) = &self.pat else { return false };
        let is_extension = pat.path.segments.last().is_some_and(|segment| segment.ident == "Extension");
        is_extension && pat.elems.len() == 1 && pat.elems.iter().all(pattern::is_plain)
    }

    /// The name alone that an element of a tuple is bound by.
    pub(crate) fn element(&self, index: u32) -> Option<&Ident> {
        let Pat::Tuple(pat) = &self.pat else { return None };
        // After `..` the places are not those of the type.
        if pat.elems.iter().any(|element| matches!(element, Pat::Rest(_))) {
            return None;
        }
        match pat.elems.iter().nth(usize::try_from(index).ok()?)? {
            Pat::Ident(element) if element.subpat.is_none() => Some(&element.ident),
            _ => None,
        }
    }

    /// Whether it comes from the request.
    pub(crate) fn is_extracted(&self) -> bool {
        !matches!(self.role, Role::Transaction | Role::Lent | Role::Unfit)
    }
}
