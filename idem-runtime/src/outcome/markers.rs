//! The markers by which a handler decides for a single answer, carried in the response's extensions.

use http::Extensions;

/// Commits what the handler wrote, with the answer, although the answer is an error.
///
/// For a failure that must leave a trace, such as a declined payment with its audit row. It works on `Ok` and
/// `Err` alike and whatever the [`RecordRule`](crate::RecordRule). On an answer that must not be stored (408,
/// 425, 429, 502, 503, 504, a 4xx or 5xx with `Retry-After`, a [`Transient`](crate::Transient) error, or
/// beside [`DoNotRecord`]) it is refused: the writes are rolled back, and the client is answered 500
/// `idempotency_response_not_storable`.
///
/// # Examples
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{Json, http::StatusCode, response::IntoResponse};
/// use idem_runtime::KeepWrites;
///
/// fn declined() -> impl IntoResponse {
///     (StatusCode::PAYMENT_REQUIRED, KeepWrites, Json("card_declined"))
/// }
/// # let response = declined().into_response();
/// # assert!(response.extensions().get::<KeepWrites>().is_some());
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeepWrites;

/// Stores an answer that the [`RecordRule`](crate::RecordRule) would leave out; its writes are rolled back.
///
/// For an `Err` that answers 5xx and will not pass, a 401 or 403 that is the operation's own, or any error
/// under [`RecordRule::Success`](crate::RecordRule::Success). Refused where [`KeepWrites`] is; without effect
/// on an answer that is stored anyway.
///
/// # Examples
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{http::StatusCode, response::IntoResponse};
/// use idem_runtime::Record;
///
/// fn not_allowed_for_this_order() -> impl IntoResponse {
///     (StatusCode::FORBIDDEN, Record, "the order is closed")
/// }
/// # let response = not_allowed_for_this_order().into_response();
/// # assert!(response.extensions().get::<Record>().is_some());
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Record;

/// Leaves an error answer unstored, so that a retry runs the handler again.
///
/// For a failure that may have passed by then. On an answer below 400 it is refused, for what it reports
/// would be neither done nor found again: the writes are rolled back, and the client is answered 500
/// `idempotency_response_not_storable`. The same happens beside [`Record`] or [`KeepWrites`].
///
/// # Examples
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{http::StatusCode, response::IntoResponse};
/// use idem_runtime::DoNotRecord;
///
/// fn out_of_stock() -> impl IntoResponse {
///     (StatusCode::CONFLICT, DoNotRecord, "nothing left at the moment")
/// }
/// # let response = out_of_stock().into_response();
/// # assert!(response.extensions().get::<DoNotRecord>().is_some());
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DoNotRecord;

/// Which markers an answer carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub(super) keep_writes: bool,
    pub(super) record: bool,
    pub(super) do_not_record: bool,
}

impl Marks {
    pub(super) fn remove(extensions: &mut Extensions) {
        extensions.remove::<KeepWrites>();
        extensions.remove::<Record>();
        extensions.remove::<DoNotRecord>();
    }

    pub(super) fn of(extensions: &Extensions) -> Self {
        Self {
            keep_writes: extensions.get::<KeepWrites>().is_some(),
            record: extensions.get::<Record>().is_some(),
            do_not_record: extensions.get::<DoNotRecord>().is_some(),
        }
    }

    /// Whether the answer is asked to be stored.
    pub(super) fn lift(self) -> bool {
        self.keep_writes || self.record
    }
}

#[cfg(feature = "axum")]
mod response_parts {
    use std::convert::Infallible;

    use axum::response::{IntoResponse, IntoResponseParts, Response, ResponseParts};

    use super::{DoNotRecord, KeepWrites, Record};

    macro_rules! response_part {
        ($($marker:ident),*) => {$(
            impl IntoResponseParts for $marker {
                type Error = Infallible;

                fn into_response_parts(
                    self,
                    mut response: ResponseParts,
                ) -> Result<ResponseParts, Infallible> {
                    response.extensions_mut().insert(self);
                    Ok(response)
                }
            }

            /// An answer without a body, as in `(StatusCode::NOT_FOUND, Record)`.
            impl IntoResponse for $marker {
                fn into_response(self) -> Response {
                    (self, ()).into_response()
                }
            }
        )*};
    }

    response_part!(DoNotRecord, KeepWrites, Record);
}

#[cfg(all(test, feature = "axum"))]
mod tests {
    use axum::{Json, http::StatusCode, response::IntoResponse};

    use super::{DoNotRecord, KeepWrites, Marks, Record};

    #[test]
    fn a_marker_stands_among_the_parts_of_a_response() {
        let response = (StatusCode::PAYMENT_REQUIRED, KeepWrites, Json("declined")).into_response();

        assert_eq!(response.status(), StatusCode::PAYMENT_REQUIRED);
        assert_eq!(response.extensions().get(), Some(&KeepWrites));
        let marks = Marks::of(response.extensions());
        assert!(marks.keep_writes && !marks.record && !marks.do_not_record);
    }

    #[test]
    fn a_marker_may_stand_last() {
        let response = (StatusCode::FORBIDDEN, Record).into_response();

        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        assert_eq!(response.extensions().get(), Some(&Record));
    }

    #[test]
    fn a_marker_may_be_optional() {
        let marked = (StatusCode::CONFLICT, Some(DoNotRecord), "later").into_response();
        let unmarked = (StatusCode::CONFLICT, None::<DoNotRecord>, "final").into_response();

        assert!(Marks::of(marked.extensions()).do_not_record);
        assert!(!Marks::of(unmarked.extensions()).do_not_record);
    }
}
