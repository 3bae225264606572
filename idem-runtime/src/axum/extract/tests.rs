use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use ::axum::Router;
use ::axum::body::Body;
use ::axum::extract::{
    ConnectInfo, Extension, Form, FromRequest, Json, MatchedPath, NestedPath, OriginalUri, Path, Query,
    RawForm, RawPathParams, RawQuery, State,
};
use ::axum::routing::any;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Uri, Version};
use serde::{Deserialize, Serialize};
use tower_service::Service as _;

use crate::fingerprint::Target;
use crate::{Digest, Fingerprint, Fingerprinter, Inert, ScopeValue};

/// The digest of a request by POST, to a named endpoint, whose handler takes `argument`.
pub(in crate::axum) fn digest(argument: &impl Fingerprint) -> Digest {
    as_if(|into| argument.fingerprint(into))
}

/// The digest of that request if its argument adds what `add` adds.
pub(in crate::axum) fn as_if(add: impl FnOnce(&mut Fingerprinter)) -> Digest {
    let mut into = Fingerprinter::new("POST", Target::Path("/"));
    add(&mut into);
    into.finish().expect("the argument has a canonical form")
}

#[derive(Serialize, Deserialize)]
struct Charge {
    id: u64,
    dry: bool,
}

const CHARGE: Charge = Charge { id: 7, dry: true };

#[test]
fn each_input_extractor_adds_its_value_under_its_kind() {
    let as_json = |kind| as_if(|into| into.json(kind, &serde_json::json!({"dry": true, "id": 7})));
    let as_bytes = |kind| as_if(|into| into.bytes(kind, b"id=7&dry=true"));
    let body = "id=7&dry=true";

    assert_eq!(digest(&Json(CHARGE)), as_json("json"));
    assert_eq!(digest(&Form(CHARGE)), as_json("form"));
    assert_eq!(digest(&Query(CHARGE)), as_json("query"));
    assert_eq!(digest(&Path(CHARGE)), as_json("path"));
    assert_eq!(digest(&Bytes::from_static(body.as_bytes())), as_bytes("bytes"));
    assert_eq!(digest(&BytesMut::from(body)), as_bytes("bytes"));
    assert_eq!(digest(&body.to_owned()), as_bytes("text"));
    assert_eq!(digest(&RawForm(Bytes::from_static(body.as_bytes()))), as_bytes("form"));
    assert_eq!(digest(&RawQuery(Some(body.to_owned()))), as_bytes("query"));
    assert_eq!(digest(&Uri::from_static("/charges?id=7&dry=true")), as_bytes("query"));
    assert_eq!(digest(&OriginalUri(Uri::from_static("/v1/charges?id=7&dry=true"))), as_bytes("query"));
}

/// These digests stand in databases; see `testdata/digests.tsv` for values.
#[test]
fn the_kinds_are_what_they_were_when_they_were_stored() {
    let hex = |digest: Digest| format!("{digest:?}");

    assert_eq!(
        hex(digest(&Json(CHARGE))),
        "Digest(b5d0f96f930ed2767def7c7a12cdca4883ba41f440f3666b72f5d19511dc0d3b)"
    );
    assert_eq!(
        hex(digest(&Form(CHARGE))),
        "Digest(90e5a8f925e5afff0869e69c441439b8798719b92842f8140cff68f35051cbf5)"
    );
    assert_eq!(
        hex(digest(&Query(CHARGE))),
        "Digest(cbe76dd0c6eb27df1b11ddf0ed64ec1b990893cfc97d8d75fd1972067bf0de6a)"
    );
    assert_eq!(
        hex(digest(&Path((7, "a")))),
        "Digest(22e1cb995674a2101d135ba15f169639202bf46f74a9b5ecd2e38f4d8b8bc589)"
    );
    assert_eq!(
        hex(digest(&Bytes::from_static(b"a"))),
        "Digest(f962db7e7aed5aae1556b71948491d89fae05c2ffe1e839957ca480777e21c6f)"
    );
    assert_eq!(
        hex(digest(&"a".to_owned())),
        "Digest(a9dc681181b162ba4e7943db774a3b219ed95df7234d9ba62a366022c99e65d9)"
    );
}

#[test]
fn an_absent_query_differs_from_an_empty_one() {
    assert_eq!(digest(&RawQuery(None)), digest(&()));
    assert_eq!(digest(&Uri::from_static("/orders")), digest(&()));
    assert_ne!(digest(&RawQuery(Some(String::new()))), digest(&()));
}

#[test]
fn b_18_and_f_08_the_order_and_spelling_of_a_form_mean_nothing() {
    let query = |text: &str| {
        let uri: Uri = format!("/?{text}").parse().unwrap();
        digest(&Query::<BTreeMap<String, String>>::try_from_uri(&uri).unwrap())
    };

    assert_eq!(query("a=%41&b=1"), query("b=1&a=A"));
    assert_ne!(query("a=%41&b=1"), query("a=%41&b=2"));
}

#[test]
fn b_19_the_order_of_arguments_means_nothing() {
    let one = digest(&(Path(7), Query(CHARGE), Json("a")));
    let other = digest(&(Json("a"), Path(7), Query(CHARGE)));

    assert_eq!(one, other);
    assert_ne!(one, digest(&(Path(7), Form(CHARGE), Json("a"))));
}

#[test]
fn optional_and_fallible_extractors_add_what_they_hold() {
    let refused = Err::<Json<Charge>, _>("not JSON");

    assert_eq!(digest(&Some(Json(CHARGE))), digest(&Json(CHARGE)));
    assert_eq!(digest(&None::<Json<Charge>>), digest(&()));
    assert_eq!(digest(&Ok::<_, ()>(Json(CHARGE))), digest(&Json(CHARGE)));
    assert_eq!(digest(&refused), digest(&()));
    assert_ne!(digest(&Some(Json(()))), digest(&()));
}

#[test]
fn the_circumstances_of_a_request_add_nothing() {
    let address: SocketAddr = ([127, 0, 0, 1], 80).into();
    let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer 1".parse().unwrap())]);

    assert_eq!(digest(&Method::PATCH), digest(&()));
    assert_eq!(digest(&Version::HTTP_2), digest(&()));
    assert_eq!(digest(&headers), digest(&()));
    assert_eq!(digest(&ConnectInfo(address)), digest(&()));
    assert_eq!(digest(&State(Arc::<str>::from("config"))), digest(&()));
    assert_eq!(digest(&Extension(7_u64)), digest(&()));
}

#[test]
fn what_the_router_knows_of_a_path_is_compared_by_its_parameters_alone() {
    type Routed = (MatchedPath, NestedPath, RawPathParams);
    async fn handler(routed: Routed) -> String {
        format!("{:?}", digest(&routed))
    }
    let inner = Router::new().route("/{id}/{part}", any(handler)).route("/renamed/{id}/{part}", any(handler));
    let app = Router::new().nest("/orders", inner);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answer = |path: &str| {
        let request = http::Request::get(path).body(Body::empty()).unwrap();
        runtime.block_on(async {
            let response = app.clone().call(request).await.unwrap();
            String::from_request(http::Request::new(response.into_body()), &()).await.unwrap()
        })
    };

    let first = answer("/orders/7/%61");

    assert_eq!(first, format!("{:?}", as_if(|into| into.json("path", &[("id", "7"), ("part", "a")]))));
    assert_eq!(first, answer("/orders/renamed/7/a"));
    assert_ne!(first, answer("/orders/7/b"));
}

#[test]
fn an_extension_has_the_scope_value_of_what_it_holds() {
    assert_eq!(Extension("t1").scope_value(), "t1");
}

/// Compiled, not run: that a crate can say these things of its own types is the promise.
#[test]
fn the_traits_are_open_to_types_of_other_crates() {
    struct Tenant(u64);
    impl ScopeValue for Tenant {
        fn scope_value(&self) -> std::borrow::Cow<'_, str> {
            self.0.to_string().into()
        }
    }
    impl Fingerprint for Tenant {
        fn fingerprint(&self, _into: &mut Fingerprinter) {}
    }
    struct Prices(HashMap<u64, u64>);
    impl Inert for Prices {}
    fn is_input<T: Fingerprint>() {}

    is_input::<(Tenant, Extension<Tenant>, State<Prices>, State<Arc<Prices>>, Option<Extension<Prices>>)>();
    assert_eq!(Extension(Tenant(Prices(HashMap::new()).0.len() as u64)).scope_value(), "0");
}
