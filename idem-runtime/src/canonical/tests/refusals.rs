//! What has no canonical form is an error, and no `Serialize` can hide it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::ser::{Error as _, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

use super::super::{Error, MAX_DEPTH};
use super::{canonical, text_of};

struct Failing;

impl Serialize for Failing {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("a lock was poisoned"))
    }
}

/// Serialises by a function, to act as a hand-written `Serialize` might.
struct By<F>(F);

/// `By` for arrays, objects and structs needs a function that is generic over the serializer.
trait Serialise {
    fn serialise<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error>;
}

impl<F: Serialise> Serialize for By<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        F::serialise(serializer)
    }
}

#[test]
fn nan_and_infinities_are_refused_at_any_place() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(canonical(&float), Err(Error::NotFinite)));
        assert!(matches!(canonical(&[Some(float)]), Err(Error::NotFinite)));
        assert!(matches!(canonical(&BTreeMap::from([("x", float)])), Err(Error::NotFinite)));
    }
    for float in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(matches!(canonical(&float), Err(Error::NotFinite)));
    }
}

#[test]
fn a_float_key_must_be_finite() {
    struct NanKey;
    impl Serialise for NanKey {
        fn serialise<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([(f64::NAN, 1)])
        }
    }

    assert!(matches!(canonical(&By(NanKey)), Err(Error::NotFinite)));
}

#[test]
fn a_failing_serialize_fails_the_whole_in_its_own_words() {
    let error = canonical(&BTreeMap::from([("a", vec![Failing])])).unwrap_err();

    assert_eq!(error.to_string(), "a lock was poisoned");
}

#[test]
fn a_failing_display_fails_the_whole() {
    struct Broken;
    impl fmt::Display for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    impl Serialize for Broken {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    assert!(matches!(canonical(&Broken), Err(Error::Custom(_))));
}

#[test]
fn keys_that_are_written_alike_are_refused() {
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    #[serde(untagged)]
    enum Key {
        Number(u8),
        Text(&'static str),
    }

    let twins = BTreeMap::from([(Key::Number(1), "a"), (Key::Text("1"), "a")]);

    assert!(matches!(canonical(&twins), Err(Error::DuplicateMember(name)) if name == "1"));
}

#[test]
fn a_flattened_field_of_the_same_name_is_refused() {
    #[derive(Serialize)]
    struct Outer {
        id: u8,
        #[serde(flatten)]
        inner: BTreeMap<&'static str, u8>,
    }

    let twins = Outer { id: 1, inner: BTreeMap::from([("id", 2)]) };

    assert!(matches!(canonical(&twins), Err(Error::DuplicateMember(name)) if name == "id"));
}

#[test]
fn keys_without_a_text_are_refused() {
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Variant {
        Holding(u8),
    }

    assert!(matches!(canonical(&BTreeMap::from([((), 1)])), Err(Error::KeyNotText)));
    assert!(matches!(canonical(&BTreeMap::from([(None::<u8>, 1)])), Err(Error::KeyNotText)));
    assert!(matches!(canonical(&BTreeMap::from([(vec![1], 1)])), Err(Error::KeyNotText)));
    assert!(matches!(canonical(&BTreeMap::from([((1, 2), 1)])), Err(Error::KeyNotText)));
    assert!(matches!(canonical(&BTreeMap::from([(Variant::Holding(1), 1)])), Err(Error::KeyNotText)));
    assert!(matches!(canonical(&BTreeMap::from([(BTreeMap::from([(1, 1)]), 1)])), Err(Error::KeyNotText)));
}

#[test]
fn an_element_that_failed_cannot_be_passed_over() {
    struct Careless;
    impl Serialise for Careless {
        fn serialise<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
            let mut array = serializer.serialize_seq(Some(1))?;
            let _ = array.serialize_element(&Failing);
            array.end()
        }
    }

    assert!(matches!(canonical(&By(Careless)), Err(Error::Incomplete)));
}

#[test]
fn a_member_that_failed_cannot_be_passed_over() {
    struct CarelessField;
    impl Serialise for CarelessField {
        fn serialise<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
            let mut object = serializer.serialize_struct("Careless", 1)?;
            let _ = object.serialize_field("a", &f64::NAN);
            object.end()
        }
    }
    struct CarelessKey;
    impl Serialise for CarelessKey {
        fn serialise<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            let _ = map.serialize_key(&());
            map.end()
        }
    }

    assert!(matches!(canonical(&By(CarelessField)), Err(Error::Incomplete)));
    assert!(matches!(canonical(&By(CarelessKey)), Err(Error::Incomplete)));
}

#[test]
fn keys_and_values_must_alternate() {
    struct KeyAtTheEnd;
    impl Serialise for KeyAtTheEnd {
        fn serialise<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_key("a")?;
            map.end()
        }
    }
    struct TwoKeys;
    impl Serialise for TwoKeys {
        fn serialise<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_key("a")?;
            let _ = map.serialize_key("b");
            map.serialize_value(&1)?;
            map.end()
        }
    }
    struct ValueFirst;
    impl Serialise for ValueFirst {
        fn serialise<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            let _ = map.serialize_value(&1);
            map.end()
        }
    }

    assert!(matches!(canonical(&By(KeyAtTheEnd)), Err(Error::Incomplete)));
    assert!(matches!(canonical(&By(TwoKeys)), Err(Error::Incomplete)));
    assert!(matches!(canonical(&By(ValueFirst)), Err(Error::Incomplete)));
}

/// Lists, objects, newtypes and options inside one another.
#[derive(Serialize)]
enum Nest {
    #[serde(rename = "list")]
    List(Vec<Nest>),
    #[serde(untagged)]
    Wrapped(Wrapped),
    #[serde(untagged)]
    Object { inner: Option<Box<Nest>> },
}

#[derive(Serialize)]
struct Wrapped(Option<Box<Nest>>);

fn nested(levels: usize, wrap: impl Fn(Nest) -> Nest) -> Nest {
    (0..levels).fold(Nest::List(Vec::new()), |inner, _| wrap(inner))
}

#[test]
fn everything_that_serde_json_parses_is_shallow_enough() {
    // Its parser stops at 128 (`Deserializer::disable_recursion_limit`); here each level is an object, a
    // `Some` and a newtype, the most that a typed value usually adds.
    #[derive(Serialize)]
    struct Level(Option<Box<Inner>>);
    #[derive(Serialize)]
    struct Inner {
        level: Level,
    }
    let json = "[".repeat(127) + &"]".repeat(127);
    let typed = (0..127).fold(Level(None), |level, _| Level(Some(Box::new(Inner { level }))));

    assert_eq!(super::text_of_json(&json), json);
    assert_eq!(text_of(&typed), format!("{}null{}", "{\"level\":".repeat(127), "}".repeat(127)));
}

#[test]
fn nesting_is_bounded_before_the_stack_of_a_worker_thread_ends() {
    // Half of the 2 MiB that tokio and std give a thread, in a build without optimisation.
    const STACK: usize = 1024 * 1024;
    let wraps: [fn(Nest) -> Nest; 3] = [
        |inner| Nest::List(vec![inner]),
        |inner| Nest::Wrapped(Wrapped(Some(Box::new(inner)))),
        |inner| Nest::Object { inner: Some(Box::new(inner)) },
    ];
    for wrap in wraps {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let outcome = thread.spawn(move || canonical(&nested(MAX_DEPTH, wrap))).unwrap().join().unwrap();

        assert!(matches!(outcome, Err(Error::TooDeep)));
    }
}
