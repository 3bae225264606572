use std::error::Error;
use std::fmt;

use axum::Json;
use axum::extract::rejection::FormRejection;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem_runtime::{DoNotRecord, KeepWrites};
use serde_json::json;

/// Why an operation failed, as Stripe says it: `{"error":{"type":…,"message":…}}`
/// (<https://docs.stripe.com/api/errors>).
#[derive(Debug)]
pub(super) enum StripeError {
    /// There is no API key: 401.
    NoApiKey,
    /// The API key is no account's: 401.
    UnknownApiKey,
    /// The body is no form: what axum says of it.
    NoForm(FormRejection),
    /// A field holds a NUL character: 400.
    NulCharacter,
    /// A field that must be there is not: 400.
    MissingParam(&'static str),
    /// A field is no positive number: 400.
    NoPositiveInteger(&'static str),
    /// The card was declined; the charge of this id says so: 402.
    Declined(String),
    /// The database failed: 500.
    Database(sqlx::Error),
}

impl StripeError {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoApiKey | Self::UnknownApiKey => StatusCode::UNAUTHORIZED,
            Self::NoForm(rejection) => rejection.status(),
            Self::NulCharacter | Self::MissingParam(_) | Self::NoPositiveInteger(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::Declined(_) => StatusCode::PAYMENT_REQUIRED,
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Declined(_) => "card_error",
            Self::Database(_) => "api_error",
            _ => "invalid_request_error",
        }
    }
}

impl fmt::Display for StripeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoApiKey => f.write_str(
                "You did not provide an API key. You need to provide your API key in the Authorization \
                 header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
            ),
            Self::UnknownApiKey => f.write_str("Invalid API Key provided."),
            Self::NoForm(rejection) => f.write_str(&rejection.body_text()),
            Self::NulCharacter => f.write_str("Invalid string: it contains a NUL character."),
            Self::MissingParam(name) => write!(f, "Missing required param: {name}."),
            Self::NoPositiveInteger(name) => write!(f, "Invalid positive integer: {name}."),
            Self::Declined(_) => f.write_str("Your card was declined."),
            Self::Database(_) => f.write_str("An error occurred internally with the API."),
        }
    }
}

impl Error for StripeError {
    /// Shows the driver's error, so that the library can tell a transient one.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            _ => None,
        }
    }
}

impl From<FormRejection> for StripeError {
    fn from(rejection: FormRejection) -> Self {
        Self::NoForm(rejection)
    }
}

impl From<sqlx::Error> for StripeError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl IntoResponse for StripeError {
    fn into_response(self) -> Response {
        let mut error = json!({ "type": self.kind(), "message": self.to_string() });
        match &self {
            Self::MissingParam(name) => {
                error["code"] = json!("parameter_missing");
                error["param"] = json!(name);
            }
            Self::NoPositiveInteger(name) => {
                error["code"] = json!("parameter_invalid_integer");
                error["param"] = json!(name);
            }
            Self::Declined(charge) => {
                error["code"] = json!("card_declined");
                error["decline_code"] = json!("generic_decline");
                error["charge"] = json!(charge);
            }
            _ => {}
        }
        let answer = (self.status(), Json(json!({ "error": error })));

        let challenge: [(HeaderName, &str); 1] = [(header::WWW_AUTHENTICATE, "Bearer realm=\"Stripe\"")];
        match self {
            Self::NoApiKey | Self::UnknownApiKey => (challenge, answer).into_response(),
            // Nothing began, so the key stays free for a request that has been mended.
            Self::MissingParam(_) | Self::NoPositiveInteger(_) => (DoNotRecord, answer).into_response(),
            // The row of a declined charge stays.
            Self::Declined(_) => (KeepWrites, answer).into_response(),
            Self::NoForm(_) | Self::NulCharacter | Self::Database(_) => answer.into_response(),
        }
    }
}
