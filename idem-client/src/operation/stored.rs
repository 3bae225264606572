//! The form in which operations are kept: version 1. It is data in the files and queues of users, so it never changes;
//! anything else is another version beside it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use serde::de::{Deserializer, Error as _};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};

use super::Operation;
use super::credentials::{Credentials, text};
use crate::error::OperationError;
use crate::key::{IdempotencyKey, KeyForm};

/// The version that is written, and the only one there is.
const VERSION: u32 = 1;

/// What is kept, in this order. A member that is not known is refused: it would say something of the request.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Operation", deny_unknown_fields)]
struct Stored {
    #[serde(deserialize_with = "known_version")]
    version: u32,
    key: String,
    key_form: KeyForm,
    key_header: String,
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    credentials: Vec<(String, Option<String>)>,
    body: StoredBody,
    made_at: u64,
}

/// Bodies are text mostly, and are to be read by people then.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredBody {
    Text(String),
    Base64(String),
}

fn known_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        VERSION => Ok(VERSION),
        other => Err(D::Error::custom(format_args!(
            "an operation of version {other}, of which this version of idem-client does not know"
        ))),
    }
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let headers = self.headers.iter().map(|(name, value)| {
            Ok((name.as_str().to_owned(), text(name, value).map_err(S::Error::custom)?.to_owned()))
        });
        let credentials = self.credentials.iter().map(|(name, value)| {
            let value = value.filter(|_| self.keeps_credentials);
            let value = value.map(|value| text(name, value).map(str::to_owned)).transpose();
            Ok((name.as_str().to_owned(), value.map_err(S::Error::custom)?))
        });
        let body = match str::from_utf8(&self.body) {
            Ok(text) => StoredBody::Text(text.to_owned()),
            Err(_) => StoredBody::Base64(BASE64_STANDARD.encode(&self.body)),
        };
        let stored = Stored {
            version: VERSION,
            key: self.key.as_str().to_owned(),
            key_form: self.key.form(),
            key_header: self.key_header.as_str().to_owned(),
            method: self.method.as_str().to_owned(),
            url: self.url.as_str().to_owned(),
            headers: headers.collect::<Result<_, _>>()?,
            credentials: credentials.collect::<Result<_, _>>()?,
            body,
            made_at: self.made_at_secs,
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let name = |name: &str| HeaderName::try_from(name).map_err(D::Error::custom);
        let value = |value: &str| HeaderValue::from_bytes(value.as_bytes()).map_err(D::Error::custom);

        let mut headers = HeaderMap::new();
        for (header, text) in &stored.headers {
            headers.append(name(header)?, value(text)?);
        }
        let mut credentials = Credentials::default();
        for (header, text) in &stored.credentials {
            credentials.push(name(header)?, text.as_deref().map(value).transpose()?);
        }
        let url = Url::parse(&stored.url).map_err(D::Error::custom)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(D::Error::custom(OperationError::CredentialsInUrl));
        }
        let key_header = name(&stored.key_header)?;
        if headers.contains_key(&key_header) || credentials.iter().any(|(name, _)| *name == key_header) {
            return Err(D::Error::custom(OperationError::TwoKeys));
        }
        let keeps_credentials = stored.credentials.iter().any(|(_, text)| text.is_some());
        let body = match stored.body {
            StoredBody::Text(text) => Bytes::from(text),
            StoredBody::Base64(text) => Bytes::from(BASE64_STANDARD.decode(text).map_err(D::Error::custom)?),
        };
        Ok(Self {
            key: IdempotencyKey::new(stored.key, stored.key_form).map_err(D::Error::custom)?,
            key_header,
            method: Method::from_bytes(stored.method.as_bytes()).map_err(D::Error::custom)?,
            url,
            headers,
            credentials,
            keeps_credentials,
            body,
            made_at_secs: stored.made_at,
        })
    }
}
