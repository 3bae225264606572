//! Our attributes on an argument of a handler, or on a field of a policy.

use syn::parse::ParseStream;
use syn::{Attribute, ExprPath, Meta};

use crate::argument::Role;
use crate::errors::{Mistake, Mistakes};
use crate::option::{self, Known, Seen};

/// `#[fingerprint(…)]` and `#[context]`, as far as they are there.
#[derive(Default)]
pub(crate) struct Marks {
    fingerprint: Option<(Attribute, Option<How>)>,
    context: Option<Attribute>,
}

/// How an argument is compared, where it is not as its type says.
enum How {
    Skip,
    With(Box<ExprPath>),
    Body,
}

impl Marks {
    /// Takes our attributes out of `attrs`; the others stay.
    pub(crate) fn take(attrs: &mut Vec<Attribute>, mistakes: &mut Mistakes) -> Self {
        let mut marks = Self::default();
        for attr in attrs.extract_if(.., |attr| is(attr, "fingerprint") || is(attr, "context")) {
            let is_first = if is(&attr, "context") {
                check_context(&attr, mistakes);
                marks.context.is_none()
            } else {
                marks.fingerprint.is_none()
            };
            if !is_first {
                mistakes.add(Mistake::on(attr, "the attribute is given twice").help("remove one of them"));
            } else if is(&attr, "context") {
                marks.context = Some(attr);
            } else {
                let how = how(&attr, mistakes);
                marks.fingerprint = Some((attr, how));
            }
        }
        if let (Some((fingerprint, _)), Some(_)) = (&marks.fingerprint, &marks.context) {
            mistakes.add(
                Mistake::on(fingerprint, "a `#[context]` argument is not in the fingerprint anyway")
                    .help("remove `#[fingerprint(…)]`"),
            );
        }
        marks
    }

    /// The role of an extractor that carries these marks.
    pub(crate) fn role(&self) -> Role {
        match self {
            Self { context: Some(_), .. } => Role::Context,
            Self { fingerprint: Some((_, how)), .. } => match how {
                Some(How::With(_)) => Role::With,
                Some(How::Body) => Role::Body,
                // Reported, if it is not `skip`: then nothing more is to be said of the argument.
                Some(How::Skip) | None => Role::Skipped,
            },
            Self { .. } => Role::Compared,
        }
    }

    /// The function of `#[fingerprint(with = …)]`.
    pub(crate) fn with(&self) -> Option<&ExprPath> {
        match &self.fingerprint {
            Some((_, Some(How::With(function)))) => Some(function),
            _ => None,
        }
    }

    /// Whichever is there.
    pub(crate) fn any(&self) -> Option<&Attribute> {
        self.fingerprint().or(self.context.as_ref())
    }

    /// The attribute that says how the argument is compared.
    pub(crate) fn fingerprint(&self) -> Option<&Attribute> {
        self.fingerprint.as_ref().map(|(attr, _)| attr)
    }
}

fn is(attr: &Attribute, name: &str) -> bool {
    attr.path().is_ident(name)
}

/// What `#[fingerprint(…)]` says; nothing if that was reported.
fn how(attr: &Attribute, mistakes: &mut Mistakes) -> Option<How> {
    let before = mistakes.count();
    let mut ways: Vec<How> = Vec::new();
    let known = Known::only(&["skip", "with", "body"]);
    let read = attr.parse_args_with(|input: ParseStream<'_>| {
        option::each(input, &known, &mut Seen::default(), mistakes, |key, input, _| {
            ways.push(match key.name.as_str() {
                "skip" => How::Skip,
                "body" => How::Body,
                _ => How::With(Box::new(key.function(input)?)),
            });
            Ok(())
        });
        Ok(())
    });
    let count = ways.len();
    match (ways.pop(), mistakes.count() > before) {
        (_, true) => None,
        (Some(how), false) if count == 1 && read.is_ok() => Some(how),
        (Some(_), false) => {
            mistakes.add(
                Mistake::on(attr, "an argument is compared in one way")
                    .help("keep one of `skip`, `with` and `body`"),
            );
            None
        }
        (None, false) => {
            mistakes.add(
                Mistake::on(attr, "`#[fingerprint]` says nothing here")
                    .help("write `#[fingerprint(skip)]`, `#[fingerprint(with = my_function)]` or `#[fingerprint(body)]`"),
            );
            None
        }
    }
}

fn check_context(attr: &Attribute, mistakes: &mut Mistakes) {
    if !matches!(attr.meta, Meta::Path(_)) {
        mistakes.add(Mistake::on(attr, "`#[context]` takes no options").help("write `#[context]`"));
    }
}
