//! One thing that is to be done once: its request and its key, from the first attempt to the last.

mod builder;
mod credentials;
mod stored;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::{Request, Url};

pub use self::builder::OperationBuilder;
use self::credentials::Credentials;
use crate::clock;
use crate::error::OperationError;
use crate::key::IdempotencyKey;

/// The header that takes the key.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request and its idempotency key, which stay the same however often it is sent.
///
/// Make it when the button is pressed or the job is put into the queue, not when it is sent: the key belongs to what is to
/// be done. Keep it until there is an [`Outcome`](crate::Outcome), also across the end of the process.
///
/// # Kept in a file or a queue
///
/// It is `Serialize` and `Deserialize`, in a form that does not change from one version of this crate to the next:
///
/// ```json
/// {
///   "version": 1,
///   "key": "8e03978e-40d5-43dd-bc93-6894a57f9324",
///   "key_form": "quoted",
///   "key_header": "idempotency-key",
///   "method": "POST",
///   "url": "https://api.example.com/orders",
///   "headers": [["content-type", "application/json"]],
///   "credentials": [["authorization", null]],
///   "body": { "text": "{\"item\":\"tea\",\"qty\":1}" },
///   "made_at": 1796083217
/// }
/// ```
///
/// `key_form` is `quoted` or `bare`. A body that is not UTF-8 is `{"base64": "…"}`. `made_at` is in seconds since the
/// beginning of 1970. A form of another version is refused, and so is a member that is not known. The body and the URL
/// with its query are kept as they are: protect the file as what is in them asks for.
///
/// # Credentials
///
/// They are left out: only their names are kept, and an operation that comes back has to be
/// [given](Self::set_credential) them before it can be sent. So nothing is sent without, and taken for refused.
/// Credentials are `Authorization`, `Proxy-Authorization`, `Cookie`, `Api-Key`, `X-Api-Key` and `X-Auth-Token`, and any
/// header whose value is [marked](HeaderValue::set_sensitive) as sensitive, as reqwest's `bearer_auth` does. What the
/// client adds by itself (`default_headers` of reqwest) is no part of the operation.
/// [`keep_credentials`](OperationBuilder::keep_credentials) keeps them.
///
/// `Debug` shows neither the key nor a credential, nor the body, nor the URL's query.
#[derive(Clone, PartialEq, Eq)]
pub struct Operation {
    key: IdempotencyKey,
    key_header: HeaderName,
    method: Method,
    url: Url,
    /// All but the key and the credentials.
    headers: HeaderMap,
    credentials: Credentials,
    keeps_credentials: bool,
    body: Bytes,
    /// Since the beginning of 1970.
    made_at_secs: u64,
}

impl Operation {
    /// Makes an operation of a request, with a new key: a random UUID. If the request has an `Idempotency-Key`, that is
    /// the key.
    ///
    /// # Errors
    /// Any [`OperationError`]; a body that is a stream is one.
    ///
    /// # Examples
    /// ```
    /// use idem_client::Operation;
    ///
    /// let http = reqwest::Client::new();
    /// let request = http.post("https://api.example.com/orders").body(r#"{"item":"tea"}"#).build()?;
    /// let operation = Operation::new(request)?;
    ///
    /// let kept = serde_json::to_string(&operation)?;
    /// assert_eq!(serde_json::from_str::<Operation>(&kept)?, operation);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(request: Request) -> Result<Self, OperationError> {
        Self::builder(request).build()
    }

    /// Makes an operation with a key of the caller's own, or with other settings.
    ///
    /// # Examples
    /// ```
    /// use idem_client::{KeyForm, Operation};
    ///
    /// let request = reqwest::Client::new().post("https://api.example.com/charges").build()?;
    /// let operation = Operation::builder(request).key("order-17").key_form(KeyForm::Bare).build()?;
    /// assert_eq!(operation.key().as_str(), "order-17");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(request: Request) -> OperationBuilder {
        OperationBuilder::new(request)
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// The request's method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Where the request goes.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The request's body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// How long ago the key was made, by this machine's clock; zero if that says that it is yet to come.
    #[must_use]
    pub fn age(&self) -> Duration {
        let made_at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.made_at_secs));
        made_at.and_then(|made_at| clock::now().duration_since(made_at).ok()).unwrap_or_default()
    }

    /// The credentials that the request had and that were not kept.
    pub fn missing_credentials(&self) -> impl Iterator<Item = &HeaderName> {
        self.credentials.missing()
    }

    /// Adds a credential, or takes a new one for an old: a token that has expired. Whatever has been a credential
    /// of this name is replaced.
    ///
    /// # Errors
    /// [`OperationError::NotACredential`] if the header is part of what is asked for, and so must not change.
    pub fn set_credential(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), OperationError> {
        credentials::text(&name, &value)?;
        if name == self.key_header || self.headers.contains_key(&name) {
            return Err(OperationError::NotACredential(name));
        }
        self.credentials.set(name, value);
        Ok(())
    }

    /// The request of each attempt.
    pub(crate) fn to_request(&self) -> Request {
        let mut request = Request::new(self.method.clone(), self.url.clone());
        let mut headers = self.headers.clone();
        for (name, value) in self.credentials.iter() {
            if let Some(value) = value {
                headers.append(name, value.clone());
            }
        }
        headers.insert(&self.key_header, self.key.to_field());
        *request.headers_mut() = headers;
        if !self.body.is_empty() {
            *request.body_mut() = Some(self.body.clone().into());
        }
        request
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        f.debug_struct("Operation")
            .field("method", &self.method)
            .field("url", &url.as_str())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("credentials", &self.credentials.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}
