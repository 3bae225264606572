//! The digests that are stored, and what they depend on. Compiled a second time by
//! `tests/serde-json-features`.

use std::collections::HashMap;
use std::error::Error as _;
use std::process::Command;

use serde_json::Value;

use super::{Digest, Fingerprint, Fingerprinter, Target};

fn hex(digest: Digest) -> String {
    digest.as_bytes().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// The digest of a `POST /orders` to which `add` adds.
fn orders(add: impl FnOnce(&mut Fingerprinter)) -> Digest {
    let mut fingerprinter = Fingerprinter::new("POST", Target::Path("/orders"));
    add(&mut fingerprinter);
    fingerprinter.finish().expect("the additions have a canonical form")
}

/// An argument that adds one text.
struct Text(&'static str);

impl Fingerprint for Text {
    fn fingerprint(&self, into: &mut Fingerprinter) {
        into.bytes("text", self.0.as_bytes());
    }
}

// Reports: B44
/// Reckoned apart from this code, from the description of `Fingerprinter::finish`. A change of any is a new
/// format version.
#[test]
fn digests_are_what_they_were_when_they_were_stored() {
    let named = Fingerprinter::new("POST", Target::Name("orders.create")).finish().unwrap();
    assert_eq!(hex(named), "e321f8df80d0206acb946263dafda5950585edfa5064303c49e74311bbcf0dfe");

    assert_eq!(hex(orders(|_| ())), "5f7ded604aab51295906dae52546afa2d4fa3c4d5a6715e3ebc8d868cdf247aa");
    assert_eq!(
        hex(orders(|into| into.json("json", &serde_json::json!({"qty": 1, "item": "tea"})))),
        "c6e0080e7cc34afa0e05f7c9c692874e9f581b1c1baee81f6f79dd99502070f3"
    );
    let all_bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(
        hex(orders(|into| into.bytes("bytes", &all_bytes))),
        "eb03af7b36390146fe68a596516a365146e978baff0f57822d99d597b0f53623"
    );

    let mut several = Fingerprinter::new("POST", Target::Path("/accounts/1/charges"));
    several.json("path", &HashMap::from([("id", 1)]));
    several.json("query", &HashMap::from([("dry", false)]));
    several.json("json", &HashMap::from([("amount", 9_007_199_254_740_993_u64)]));
    assert_eq!(
        hex(several.finish().unwrap()),
        "b9fd4faef65a6bd4c492ecfc02cd8498077ac0d7d7ceb2d3ed984b916e37197b"
    );
}

/// `testdata/digests.tsv`: a JSON body, its canonical text, the digest of `POST /orders` with it.
#[test]
fn json_bodies_have_the_digests_on_file() {
    let lines = include_str!("../../testdata/digests.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let [body, text, digest] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("a line of three columns: {line}");
        };
        let value: Value = serde_json::from_str(body).unwrap();

        let mut canonical = Vec::new();
        crate::canonical::write(&value, &mut canonical).unwrap();
        assert_eq!(String::from_utf8(canonical).unwrap(), text);
        assert_eq!(hex(orders(|into| into.json("json", &value))), digest, "{body}");
        assert_eq!(hex(orders(|into| into.body(body.as_bytes(), true))), digest, "{body} as received");
        count += 1;
    }
    assert!(count >= 30, "only {count} lines were read");
}

#[test]
fn a_received_body_is_bytes_where_it_is_not_json_or_has_no_canonical_form() {
    let depth = "[".repeat(1000) + &"]".repeat(1000);
    let bodies: [&[u8]; 7] =
        [b"", b"{", b"\"\xff\"", br#"{"a":1,"a":2}"#, br#""\ud800""#, b"\xef\xbb\xbf{}", depth.as_bytes()];

    for body in bodies {
        let expected = orders(|into| into.bytes("bytes", body));

        assert_eq!(orders(|into| into.body(body, true)), expected, "{body:?}");
    }
    assert_eq!(orders(|into| into.body(b"{ }", false)), orders(|into| into.bytes("bytes", b"{ }")));
}

/// `serde_json` hands over a double for each of these, unless the application has switched on
/// `arbitrary_precision`.
#[test]
fn numbers_of_a_received_body_are_exact() {
    let body = |text: &str| orders(|into| into.body(text.as_bytes(), true));

    assert_ne!(body("100000000000000000000000"), body("100000000000000000000001"));
    assert_ne!(body("0.1"), body("0.10000000000000000000000001"));
    assert_eq!(body("1e400"), body("10.0e399"));
}

#[test]
fn a_received_body_that_is_not_compared_adds_nothing() {
    let mut into = Fingerprinter::off();
    into.body(b"{}", true);
    into.body(b"{", true);

    assert!(into.finish().unwrap().is_off());
}

#[test]
fn method_and_path_count() {
    let digests = [
        Fingerprinter::new("POST", Target::Path("/orders")),
        Fingerprinter::new("PATCH", Target::Path("/orders")),
        Fingerprinter::new("POST", Target::Path("/orders/1")),
        Fingerprinter::new("POST", Target::Path("")),
        Fingerprinter::new("POST", Target::Name("/orders")),
        Fingerprinter::new("POST", Target::Name("orders.create")),
        Fingerprinter::new("POST/orders", Target::Name("")),
    ]
    .map(|fingerprinter| fingerprinter.finish().unwrap());

    for (index, digest) in digests.iter().enumerate() {
        assert!(!digests[..index].contains(digest), "number {index} is not the first of its kind");
    }
}

#[test]
fn the_order_of_additions_means_nothing() {
    let one = orders(|into| {
        into.bytes("bytes", b"1");
        into.json("query", "2");
        into.json("query", "3");
    });
    let other = orders(|into| {
        into.json("query", "3");
        into.bytes("bytes", b"1");
        into.json("query", "2");
    });

    assert_eq!(one, other);
}

#[test]
fn kind_and_content_of_an_addition_count() {
    let digests = [
        orders(|_| ()),
        orders(|into| into.bytes("text", b"")),
        orders(|into| into.bytes("text", b"1")),
        orders(|into| into.bytes("bytes", b"1")),
        orders(|into| into.bytes("text1", b"")),
        orders(|into| {
            into.bytes("text", b"1");
            into.bytes("text", b"1");
        }),
    ];

    for (index, digest) in digests.iter().enumerate() {
        assert!(!digests[..index].contains(digest), "number {index} is not the first of its kind");
    }
}

#[test]
fn an_absent_argument_differs_from_every_present_one() {
    let of = |argument: Option<Text>| orders(|into| argument.fingerprint(into));

    assert_eq!(of(None), orders(|_| ()));
    assert_eq!(of(Some(Text("a"))), orders(|into| Text("a").fingerprint(into)));
    assert_ne!(of(None), of(Some(Text(""))));
}

#[test]
fn a_rejected_argument_differs_from_every_accepted_one() {
    let of = |argument: Result<Text, &str>| orders(|into| argument.fingerprint(into));

    assert_eq!(of(Ok(Text("a"))), orders(|into| Text("a").fingerprint(into)));
    assert_eq!(of(Err("too long")), of(Err("too short")));
    assert_ne!(of(Err("too long")), of(Ok(Text(""))));
}

#[test]
fn a_tuple_adds_what_its_parts_add() {
    let apart = orders(|into| {
        Text("a").fingerprint(into);
        Text("b").fingerprint(into);
    });

    assert_eq!(orders(|into| ((), Text("a"), Some(Text("b"))).fingerprint(into)), apart);
}

#[test]
fn the_first_failure_is_reported_with_its_kind_and_cause() {
    let mut into = Fingerprinter::new("POST", Target::Name("orders.create"));
    into.json("query", &1);
    into.json("form", &f64::NAN);
    into.json("json", &HashMap::from([((), 1)]));
    into.bytes("bytes", b"");

    let error = into.finish().unwrap_err();

    assert_eq!(error.kind(), "form");
    assert_eq!(error.to_string(), "the request's `form` input has no canonical form");
    assert_eq!(error.source().unwrap().to_string(), "NaN and infinities have no JSON form");
}

#[test]
fn equal_hash_maps_have_equal_digests_in_a_hundred_processes() {
    const CHILD: &str = "IDEM_TEST_PRINT_A_DIGEST";
    let map: HashMap<String, u32> = (0..50).map(|n| (format!("key-{n}"), n)).collect();
    let digest = hex(orders(|into| into.json("json", &map)));
    if std::env::var_os(CHILD).is_some() {
        println!("digest={digest}");
        return;
    }
    let (_, path) = module_path!().split_once("::").expect("the crate's name comes first");
    let this_test = format!("{path}::equal_hash_maps_have_equal_digests_in_a_hundred_processes");

    for _ in 0..100 {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([this_test.as_str(), "--exact", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();

        let printed = String::from_utf8_lossy(&child.stdout);
        assert!(printed.contains(&format!("digest={digest}")), "{printed}");
    }
}
