//! How an operation is made of a request.

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use reqwest::{Body, Request};

use super::credentials::{Credentials, is_credential, text};
use super::{IDEMPOTENCY_KEY, Operation};
use crate::clock;
use crate::error::OperationError;
use crate::key::{IdempotencyKey, KeyForm};

/// What an [`Operation`] is made of, beside its request.
#[must_use = "it makes nothing until `build`"]
pub struct OperationBuilder {
    request: Request,
    key: Option<String>,
    form: Option<KeyForm>,
    key_header: HeaderName,
    keeps_credentials: bool,
    made_at: Option<SystemTime>,
}

impl OperationBuilder {
    pub(super) fn new(request: Request) -> Self {
        Self {
            request,
            key: None,
            form: None,
            key_header: IDEMPOTENCY_KEY,
            keeps_credentials: false,
            made_at: None,
        }
    }

    /// The key, as plain text, without quotes: 1 to 255 printable ASCII characters, not all of them spaces. A new random
    /// UUID if not given.
    ///
    /// For an operation that has a name already, an order's number say: whoever makes it a second time makes the
    /// same key.
    pub fn key(mut self, plain: impl Into<String>) -> Self {
        self.key = Some(plain.into());
        self
    }

    /// How the key stands in its header; [`KeyForm::Quoted`] if not given, or as it stands in the request's own header.
    pub fn key_form(mut self, form: KeyForm) -> Self {
        self.form = Some(form);
        self
    }

    /// The header that takes the key, for servers that have another than `Idempotency-Key`.
    pub fn key_header(mut self, name: HeaderName) -> Self {
        self.key_header = name;
        self
    }

    /// Keeps the credentials with the operation when it is serialised. Left out if not asked for.
    ///
    /// Whoever can read the file or the queue can then act in the sender's name.
    pub fn keep_credentials(mut self) -> Self {
        self.keeps_credentials = true;
        self
    }

    /// When the key was made, if that was before now: its age counts from then
    /// ([`max_age`](crate::IdempotentClientBuilder::max_age)). Kept in whole seconds.
    pub fn made_at(mut self, time: SystemTime) -> Self {
        self.made_at = Some(time);
        self
    }

    /// Makes the operation, and its key if none was given.
    ///
    /// A key that the request has in its header already counts as given. The request's time-out and its version of HTTP
    /// are not kept: they are the client's.
    ///
    /// # Errors
    /// Any [`OperationError`].
    pub fn build(mut self) -> Result<Operation, OperationError> {
        if !self.request.url().username().is_empty() || self.request.url().password().is_some() {
            return Err(OperationError::CredentialsInUrl);
        }
        let body = match self.request.body_mut().take() {
            Some(body) => bytes(&body)?,
            None => Bytes::new(),
        };
        let headers = std::mem::take(self.request.headers_mut());
        let key = self.take_key(&headers)?;

        let (mut kept, mut credentials) = (HeaderMap::new(), Credentials::default());
        for (name, value) in headers.iter().filter(|(name, _)| **name != self.key_header) {
            text(name, value)?;
            // All lines of a name are of one kind: the name is what a credential is given back by.
            if headers.get_all(name).iter().any(|value| is_credential(name, value)) {
                credentials.push(name.clone(), Some(value.clone()));
            } else {
                kept.append(name, value.clone());
            }
        }
        Ok(Operation {
            key,
            key_header: self.key_header,
            method: self.request.method().clone(),
            url: self.request.url().clone(),
            headers: kept,
            credentials,
            keeps_credentials: self.keeps_credentials,
            body,
            made_at_secs: clock::unix_secs(self.made_at.unwrap_or_else(clock::now)),
        })
    }

    /// The one key that was given, in either place or both, or a new one.
    fn take_key(&mut self, headers: &HeaderMap) -> Result<IdempotencyKey, OperationError> {
        let default = self.form.unwrap_or_default();
        let mut given = headers
            .get_all(&self.key_header)
            .iter()
            .map(IdempotencyKey::parse)
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(plain) = self.key.take() {
            // Behind those of the header, which have a form of their own.
            let form = given.first().map_or(default, IdempotencyKey::form);
            given.push(IdempotencyKey::new(plain, form)?);
        }
        let mut given = given.into_iter();
        let Some(key) = given.next() else { return Ok(IdempotencyKey::random(default)) };
        if given.any(|other| other.as_str() != key.as_str()) {
            return Err(OperationError::TwoKeys);
        }
        Ok(match self.form {
            Some(form) => key.with_form(form)?,
            None => key,
        })
    }
}

/// Without the request and the key.
impl fmt::Debug for OperationBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperationBuilder")
            .field("form", &self.form)
            .field("key_header", &self.key_header)
            .field("keeps_credentials", &self.keeps_credentials)
            .field("made_at", &self.made_at)
            .finish_non_exhaustive()
    }
}

/// A body that can be sent twice.
fn bytes(body: &Body) -> Result<Bytes, OperationError> {
    body.as_bytes().map(Bytes::copy_from_slice).ok_or(OperationError::StreamingBody)
}
