//! What the extractors of axum-extra add to the fingerprint.
//!
//! Covered are those behind its features `cached`, `cookie`, `form`, `query`, `typed-header` and
//! `with-rejection`. The others would bring cryptography or a parser along for those who do not use them:
//! mark the signed and private cookie jars `#[context]`.

use axum_extra::TypedHeader;
use axum_extra::either::{Either, Either3, Either4, Either5, Either6, Either7, Either8};
use axum_extra::extract::{Cached, CookieJar, Form, OptionalQuery, Query, WithRejection};

use crate::{Fingerprint, Fingerprinter, Payload};

/// The form as deserialised: `form`, as by axum's own `Form`.
impl<T: Payload> Fingerprint for Form<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.json("form", &self.0);
    }
}

/// The query as deserialised: `query`, as by axum's own `Query`.
impl<T: Payload> Fingerprint for Query<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.json("query", &self.0);
    }
}

/// The query as deserialised: `query`; nothing if there is none.
impl<T: Payload> Fingerprint for OptionalQuery<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        if let Some(query) = &self.0 {
            into.json("query", query);
        }
    }
}

/// Adds nothing: cookies change between a request and its retry, and say who is calling rather than what is
/// asked for. One that is an input is hashed by an extractor of its own.
impl Fingerprint for CookieJar {
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// Adds nothing, as all headers: one that is an input is hashed by an extractor of its own.
impl<T> Fingerprint for TypedHeader<T> {
    fn fingerprint(&self, _into: &mut Fingerprinter) {}
}

/// What the extractor inside adds.
impl<T: Fingerprint> Fingerprint for Cached<T> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        self.0.fingerprint(into);
    }
}

/// What the extractor inside adds.
impl<T: Fingerprint, R> Fingerprint for WithRejection<T, R> {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        self.0.fingerprint(into);
    }
}

macro_rules! impl_for_either {
    ($($either:ident: $($variant:ident)*;)*) => {
        $(
            /// What the extractor that succeeded adds.
            impl<$($variant: Fingerprint),*> Fingerprint for $either<$($variant),*> {
                fn fingerprint(&self, into: &mut Fingerprinter) {
                    match self {
                        $(Self::$variant(argument) => argument.fingerprint(into),)*
                    }
                }
            }
        )*
    };
}

impl_for_either! {
    Either: E1 E2;
    Either3: E1 E2 E3;
    Either4: E1 E2 E3 E4;
    Either5: E1 E2 E3 E4 E5;
    Either6: E1 E2 E3 E4 E5 E6;
    Either7: E1 E2 E3 E4 E5 E6 E7;
    Either8: E1 E2 E3 E4 E5 E6 E7 E8;
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::marker::PhantomData;

    use axum_extra::headers::UserAgent;

    use super::*;
    use crate::axum::extract::tests::{as_if, digest};

    type Fields = HashMap<String, u8>;

    fn fields() -> Fields {
        Fields::from([("b".to_owned(), 2), ("a".to_owned(), 1)])
    }

    #[test]
    fn forms_and_queries_add_what_those_of_axum_add() {
        assert_eq!(digest(&Form(fields())), digest(&::axum::Form(fields())));
        assert_eq!(digest(&Query(fields())), digest(&::axum::extract::Query(fields())));
        assert_eq!(digest(&OptionalQuery(Some(fields()))), digest(&Query(fields())));
        assert_eq!(digest(&OptionalQuery::<Fields>(None)), digest(&()));
    }

    #[test]
    fn wrappers_add_what_they_wrap() {
        let json = || ::axum::Json(fields());
        let expected = as_if(|into| into.json("json", &fields()));

        assert_eq!(digest(&Cached(json())), expected);
        assert_eq!(digest(&WithRejection(json(), PhantomData::<()>)), expected);
        assert_eq!(digest(&Either::<(), _>::E2(json())), expected);
        assert_eq!(digest(&Either8::<_, (), (), (), (), (), (), ()>::E1(json())), expected);
    }

    #[test]
    fn cookies_and_typed_headers_add_nothing() {
        let jar = CookieJar::new().add(("session", "1"));

        assert_eq!(digest(&jar), digest(&()));
        assert_eq!(digest(&TypedHeader(UserAgent::from_static("a"))), digest(&()));
    }
}
