//! One argument of the handler, and what is written on it.

use syn::{Attribute, Ident, Meta, Pat, PatType, Type};

use crate::errors::{Mistake, Mistakes};
use crate::names::nearest;
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
    /// The conditions under which it exists, copied to every use of it.
    pub(crate) conditions: Vec<Attribute>,
}

/// What an argument is to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What the handler writes through.
    Transaction,
    /// Extracted, and compared with a retry's.
    Compared,
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
}

/// Our attributes on an argument.
#[derive(Default)]
pub(crate) struct Marks {
    pub(crate) skip: Option<Attribute>,
    pub(crate) context: Option<Attribute>,
}

impl Marks {
    /// Takes our attributes off the argument; the others stay.
    pub(crate) fn take(argument: &mut PatType, mistakes: &mut Mistakes) -> Self {
        let mut marks = Self::default();
        for attr in std::mem::take(&mut argument.attrs) {
            let mark = if attr.path().is_ident("fingerprint") {
                check_fingerprint(&attr, mistakes);
                &mut marks.skip
            } else if attr.path().is_ident("context") {
                check_context(&attr, mistakes);
                &mut marks.context
            } else {
                argument.attrs.push(attr);
                continue;
            };
            if mark.is_some() {
                mistakes.add(Mistake::on(attr, "the attribute is given twice").help("remove one of them"));
            } else {
                *mark = Some(attr);
            }
        }
        if let (Some(skip), Some(_)) = (&marks.skip, &marks.context) {
            mistakes.add(
                Mistake::on(skip, "a `#[context]` argument is not in the fingerprint anyway")
                    .help("remove `#[fingerprint(skip)]`"),
            );
        }
        marks
    }

    /// The role of an extractor that carries these marks.
    pub(crate) fn role(&self) -> Role {
        match self {
            Self { context: Some(_), .. } => Role::Context,
            Self { skip: Some(_), .. } => Role::Skipped,
            Self { .. } => Role::Compared,
        }
    }

    /// Whichever is there.
    pub(crate) fn any(&self) -> Option<&Attribute> {
        self.skip.as_ref().or(self.context.as_ref())
    }
}

/// `#[fingerprint(skip)]` is the one form there is.
fn check_fingerprint(attr: &Attribute, mistakes: &mut Mistakes) {
    const HELP: &str = "the attribute is `#[fingerprint(skip)]`";
    match attr.parse_args::<Ident>() {
        Ok(word) if word == "skip" => {}
        Ok(word) => {
            let text = word.to_string();
            let mistake = Mistake::on(&word, format!("unknown option `{text}` of `#[fingerprint]`"));
            mistakes.add(match nearest(&text, ["skip"]) {
                Some(near) => mistake.help(format!("an option with a similar name exists: `{near}`")),
                None => mistake.help(HELP),
            });
        }
        Err(_) => mistakes.add(Mistake::on(attr, "`#[fingerprint]` says nothing here").help(HELP)),
    }
}

fn check_context(attr: &Attribute, mistakes: &mut Mistakes) {
    if !matches!(attr.meta, Meta::Path(_)) {
        mistakes.add(Mistake::on(attr, "`#[context]` takes no options").help("write `#[context]`"));
    }
}
