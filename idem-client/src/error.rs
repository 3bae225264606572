//! What can go wrong, before an operation is sent and when it gets no answer.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use http::HeaderName;

use crate::answer::Answer;
use crate::key::KeyError;
use crate::operation::Operation;

/// A request cannot be made an operation of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationError {
    /// The body is a stream: it could be sent once, and neither be compared nor kept. Read it into memory first, and give
    /// the request its bytes. A multipart form of reqwest is a stream too.
    StreamingBody,
    /// The text is no idempotency key; the source says why.
    Key(KeyError),
    /// Two different keys were given, in the request's header and by name, or in two lines of the header. Keep one: which
    /// of them an earlier attempt was sent with cannot be known here.
    TwoKeys,
    /// The value of this header is not UTF-8, so that it cannot be kept. Encode it as its specification says (RFC 8187).
    HeaderNotText(HeaderName),
    /// The URL holds a user's name or password. Give them to reqwest's `basic_auth`, which makes them a credential.
    CredentialsInUrl,
    /// This header is part of what the operation asks for, or its key, and must be the same at every attempt. Make
    /// a new operation if another request is meant.
    NotACredential(HeaderName),
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StreamingBody => f.write_str("a body that is a stream cannot be sent again"),
            Self::Key(_) => f.write_str("the operation has no valid idempotency key"),
            Self::TwoKeys => f.write_str("the operation was given two different idempotency keys"),
            Self::HeaderNotText(name) => write!(f, "the header `{name}` is not UTF-8"),
            Self::CredentialsInUrl => f.write_str("the URL holds credentials"),
            Self::NotACredential(name) => {
                write!(f, "the header `{name}` belongs to the operation and cannot be changed")
            }
        }
    }
}

impl StdError for OperationError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Key(error) => Some(error),
            _ => None,
        }
    }
}

impl From<KeyError> for OperationError {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

/// An operation has no answer that could be acted upon.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// All attempts that the client's settings allow were made, and none brought a final answer. **The work may have been
    /// done.** Keep the operation, and send it again later; never make a new one for the same purpose.
    GaveUp(Box<GaveUp>),
    /// These credentials were not kept with the operation. Nothing was sent. Add them with
    /// [`set_credential`](Operation::set_credential).
    CredentialsMissing(Vec<HeaderName>),
    /// The operation is older than the client's `max_age`, so that the server may have forgotten its key, and would do the
    /// work again. Nothing was sent. If no attempt was ever made, make a new operation. If one may have reached the server,
    /// ask it what became of that (list the orders, say) before anything is sent again; if the server remembers keys for
    /// longer, raise `max_age`.
    TooOld {
        /// How old it is.
        age: Duration,
    },
    /// reqwest does not send this request, or does not follow the server's redirection: the URL's scheme is not `http` or
    /// `https`, or there are too many redirections. Nothing that waiting would change; the source says what it is. After
    /// a redirection, an earlier attempt may have been carried out.
    Unsendable(reqwest::Error),
    /// reqwest has followed a redirection, to a page for signing in say, so that this is the answer to another request.
    /// **The work may have been done, or not.** Keep the operation; build reqwest's client with `redirect(Policy::none())`,
    /// and the redirection itself is the answer.
    Redirected(Box<Answer>),
    /// The body of the answer is longer than the client takes
    /// ([`max_answer`](crate::IdempotentClientBuilder::max_answer)). The status and headers are here, and no body. **The work
    /// was probably done**, if the status says so. Keep the operation; a client that takes more gets the same answer again.
    AnswerTooLarge(Box<Answer>),
}

impl Error {
    /// The operation that was given up, to be kept.
    #[must_use]
    pub fn gave_up(self) -> Option<GaveUp> {
        match self {
            Self::GaveUp(gave_up) => Some(*gave_up),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GaveUp(gave_up) => gave_up.fmt(f),
            Self::CredentialsMissing(names) => {
                f.write_str("credentials were not kept with the operation:")?;
                names.iter().try_for_each(|name| write!(f, " `{name}`"))
            }
            Self::TooOld { age } => {
                write!(f, "the operation's key is {} s old and may have been forgotten", age.as_secs())
            }
            Self::Unsendable(_) => f.write_str("the request cannot be sent"),
            Self::Redirected(answer) => {
                write!(
                    f,
                    "the request was redirected, and its answer, {}, is another's",
                    answer.status().as_u16()
                )
            }
            Self::AnswerTooLarge(answer) => {
                write!(
                    f,
                    "the body of the answer, {}, is longer than the client takes",
                    answer.status().as_u16()
                )
            }
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::GaveUp(gave_up) => gave_up.source(),
            Self::Unsendable(error) => Some(error),
            Self::CredentialsMissing(_)
            | Self::TooOld { .. }
            | Self::Redirected(_)
            | Self::AnswerTooLarge(_) => None,
        }
    }
}

/// An operation that was given up, with what is known of it.
#[derive(Debug)]
pub struct GaveUp {
    pub(crate) operation: Operation,
    pub(crate) attempts: u32,
    pub(crate) last: Last,
    pub(crate) limit: Limit,
}

/// What the last attempt brought.
#[derive(Debug)]
#[non_exhaustive]
pub enum Last {
    /// An answer that says "not now".
    Answer(Answer),
    /// No whole answer: a connection that failed or broke, or a time-out. The URL is not in it.
    Failure(reqwest::Error),
}

/// Which of a client's limits ended the attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// `max_attempts`.
    Attempts,
    /// `total_time`, or what `max_age` left of it: the next attempt would have begun after it, perhaps because the server
    /// asked for a longer wait.
    Time,
    /// The retry budget that operations share: others come first for longer than there is time.
    Budget,
}

impl GaveUp {
    /// The operation, unchanged.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The operation, to keep.
    #[must_use]
    pub fn into_operation(self) -> Operation {
        self.operation
    }

    /// How many attempts were made.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// What the last one brought.
    #[must_use]
    pub fn last(&self) -> &Last {
        &self.last
    }

    /// Why there was no other.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.limit
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = match self.limit {
            Limit::Attempts => "no more attempts are allowed",
            Limit::Time => "its time is up",
            Limit::Budget => "the retry budget is used up",
        };
        write!(f, "the outcome of the operation is unknown after {} attempts: {limit}", self.attempts)?;
        match &self.last {
            Last::Answer(answer) => write!(f, ", the last answer was {}", answer.status().as_u16()),
            Last::Failure(_) => f.write_str(", the last attempt got no answer"),
        }
    }
}

impl StdError for GaveUp {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.last {
            Last::Answer(_) => None,
            Last::Failure(error) => Some(error),
        }
    }
}
