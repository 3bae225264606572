use axum::extract::rejection::{BytesRejection, JsonRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// Why a delivery never reaches its handler, nor the database.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unverified {
    /// It is not signed, or not so that it can be read: 401.
    NotSigned,
    /// Its time is more than five minutes away from the service's clock, so it may be one that somebody has kept: 401.
    NotOfThisTime,
    /// No signature of it is made with the secret: 401.
    WrongSignature,
    /// Its body cannot be received: too large, mostly.
    Body(BytesRejection),
    /// It is signed, and no event that the handler knows.
    Event(JsonRejection),
}

impl IntoResponse for Unverified {
    fn into_response(self) -> Response {
        let reason = match self {
            Self::NotSigned => "the delivery is not signed\n",
            Self::NotOfThisTime => "the signature is too old, or of a time to come\n",
            Self::WrongSignature => "the signature is wrong\n",
            Self::Body(rejection) => return rejection.into_response(),
            Self::Event(rejection) => return rejection.into_response(),
        };
        (StatusCode::UNAUTHORIZED, reason).into_response()
    }
}

impl From<BytesRejection> for Unverified {
    fn from(rejection: BytesRejection) -> Self {
        Self::Body(rejection)
    }
}

impl From<JsonRejection> for Unverified {
    fn from(rejection: JsonRejection) -> Self {
        Self::Event(rejection)
    }
}
