use std::collections::BTreeMap;

use axum::RequestExt as _;
use axum::extract::{Form, FromRequest, Request};
use idem_runtime::{Fingerprint, Fingerprinter};

use super::error::StripeError;

/// The form fields of a request, by their names as sent: `amount`, `metadata[order]`.
///
/// A retry is compared by all of them, whether or not the handler reads them; their order does not count,
/// but for that of fields of one name.
#[derive(Debug)]
pub(super) struct Params(BTreeMap<String, Vec<String>>);

impl Params {
    /// The value of a field; the first one if there are several.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(|values| values.first()).map(String::as_str)
    }

    /// The value of a field that must be there and say something.
    pub(super) fn require(&self, name: &'static str) -> Result<&str, StripeError> {
        self.get(name).filter(|value| !value.is_empty()).ok_or(StripeError::MissingParam(name))
    }

    /// The fields `map[member]`, by their members.
    pub(super) fn members(&self, map: &str) -> BTreeMap<String, String> {
        let mut members = BTreeMap::new();
        for (name, values) in &self.0 {
            let rest = name.strip_prefix(map).and_then(|rest| rest.strip_prefix('['));
            if let (Some(member), Some(value)) =
                (rest.and_then(|rest| rest.strip_suffix(']')), values.first())
            {
                members.insert(member.to_owned(), value.clone());
            }
        }
        members
    }
}

impl<S: Send + Sync> FromRequest<S> for Params {
    type Rejection = StripeError;

    async fn from_request(request: Request, _: &S) -> Result<Self, StripeError> {
        let Form(fields) = request.extract::<Form<Vec<(String, String)>>, _>().await?;
        let mut params = BTreeMap::<String, Vec<String>>::new();
        for (name, value) in fields {
            // PostgreSQL keeps no such text: refused here, it is the client's mistake and not the database's.
            if name.contains('\0') || value.contains('\0') {
                return Err(StripeError::NulCharacter);
            }
            params.entry(name).or_default().push(value);
        }
        Ok(Self(params))
    }
}

impl Fingerprint for Params {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.json("form", &self.0);
    }
}
