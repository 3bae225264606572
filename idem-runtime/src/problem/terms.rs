//! What an application settles about its problems: where the key is, and two of the statuses.

use std::borrow::Cow;

use http::{HeaderName, StatusCode};

/// What the wording and the status of a problem rest on beside its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) key: KeyPlace,
    /// The status of a mismatch: 422, 409 or 400.
    pub(crate) mismatch: StatusCode,
    /// The status while the first request runs: 409 or 503.
    pub(crate) in_progress: StatusCode,
}

/// Where a request has its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// In the header field of this name, as HTTP compares it.
    Header(HeaderName),
    /// In the header field that is spelt so.
    Spelt(&'static str),
    /// In the request's content.
    Content,
}

impl KeyPlace {
    /// The field that holds it; `None` if it is no header.
    pub(crate) fn header(&self) -> Option<HeaderName> {
        match self {
            Self::Header(name) => Some(name.clone()),
            Self::Spelt(name) => name.parse().ok(),
            Self::Content => None,
        }
    }

    /// The key within a sentence.
    pub(super) fn noun(&self) -> Cow<'static, str> {
        match self {
            Self::Header(name) => Cow::Owned(capitalised(name.as_str())),
            Self::Spelt(name) => capitals_kept(name),
            Self::Content => Cow::Borrowed("idempotency key"),
        }
    }

    /// The key at the beginning of a sentence.
    pub(super) fn subject(&self) -> Cow<'static, str> {
        match self {
            Self::Header(_) | Self::Spelt(_) => self.noun(),
            Self::Content => Cow::Borrowed("The idempotency key"),
        }
    }

    /// What a request without the key is told.
    pub(super) fn is_required(&self) -> String {
        let noun = self.noun();
        match self {
            Self::Header(_) | Self::Spelt(_) => {
                format!("This operation requires {} {noun} header.", article(&noun))
            }
            Self::Content => format!("This operation requires an {noun}, which is a field of the request."),
        }
    }

    /// What a request is told whose key is none.
    pub(super) fn must_be(&self) -> String {
        let what = "must be one string of 1 to 255 printable ASCII characters.";
        match self {
            Self::Header(_) | Self::Spelt(_) => format!("The {} header {what}", self.noun()),
            Self::Content => format!("The {}, which is a field of the request, {what}", self.noun()),
        }
    }
}

/// A name that is written with capitals stands as it is written.
fn capitals_kept(name: &'static str) -> Cow<'static, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(capitalised(name))
    }
}

/// `idempotency-key` as `Idempotency-Key`: the `http` crate keeps names in lower case, people do not.
fn capitalised(name: &str) -> String {
    let mut begins_word = true;
    let letter = |character: char| {
        let shown = if begins_word { character.to_ascii_uppercase() } else { character };
        begins_word = character == '-';
        shown
    };
    name.chars().map(letter).collect()
}

/// By the letter's sound where it is read out: `an X-Request-Id`.
fn article(noun: &str) -> &'static str {
    if noun.starts_with(['A', 'E', 'I', 'O', 'X', 'a', 'e', 'i', 'o', 'x']) { "an" } else { "a" }
}

/// The builder's own.
impl Default for Terms {
    fn default() -> Self {
        Self {
            key: KeyPlace::Header(crate::replay::IDEMPOTENCY_KEY),
            mismatch: StatusCode::UNPROCESSABLE_ENTITY,
            in_progress: StatusCode::CONFLICT,
        }
    }
}
