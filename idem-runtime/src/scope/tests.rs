use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use uuid::Uuid;

use super::{Scope, ScopeError, ScopeValue, lock_id};
use crate::IdempotencyKey;

fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text).expect("the test's key is a key")
}

fn tenant(value: &str) -> Scope {
    Scope::new().with("tenant", value).expect("the test's value is a scope value")
}

fn hex(id: [u8; 16]) -> String {
    id.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

// Reports: B44
/// Reckoned apart from this code, from the descriptions of `Scope::id` and `lock_id`. These values stand in
/// databases: a change of any loses every key row.
#[test]
fn ids_texts_and_locks_are_what_they_were_when_they_were_stored() {
    let vectors = [
        (
            tenant("t1").endpoint("POST", "/orders").unwrap(),
            key("k-0001"),
            "public.idempotency_keys",
            (
                "tenant=t1&endpoint=POST%20/orders",
                "f074248b9158ef1aebbd48640e953c71",
                -6_489_192_612_048_326_436,
            ),
        ),
        (
            Scope::global(),
            key("k-0001"),
            "public.idempotency_keys",
            ("global", "e2afa6e45e1a6514478abb4416cc3c73", 3_389_377_328_391_388_942),
        ),
        (
            tenant("ä€").endpoint_named("orders.create").unwrap(),
            key(r#"a"b\c"#),
            "app.keys",
            (
                "tenant=%C3%A4%E2%82%AC&endpoint=orders.create",
                "3de533a38b071a1fb139144fda5d5707",
                2_113_185_832_074_857_955,
            ),
        ),
    ];

    for (scope, key, table, (text, id, lock)) in vectors {
        assert_eq!(scope.text(), text);
        assert_eq!(hex(scope.id(key.as_str())), id);
        assert_eq!(lock_id(table, &scope.id(key.as_str())), lock);
    }
}

// Reports: B44
#[test]
fn s_07_and_s_13_joins_labels_and_order_are_told_apart() {
    let scopes = [
        tenant("a").endpoint_named("bc").unwrap(),
        tenant("ab").endpoint_named("c").unwrap(),
        Scope::new().endpoint_named("bc").unwrap().with("tenant", "a").unwrap(),
        tenant("5"),
        Scope::new().with("user", "5").unwrap(),
        tenant("a&endpoint=bc"),
        tenant("a%26endpoint%3Dbc"),
        tenant("a=b"),
        Scope::new().with("tenant=a", "b").unwrap(),
        tenant("a b"),
        tenant("a+b"),
        tenant("a%20b"),
        tenant("A"),
        tenant("Å"),
        tenant("A\u{30a}"),
        tenant("global"),
        Scope::new().with("global", "global").unwrap(),
        Scope::global(),
        Scope::new(),
    ];

    for (index, scope) in scopes.iter().enumerate() {
        for earlier in &scopes[..index] {
            assert_ne!(scope.text(), earlier.text());
            assert_ne!(scope.id(key("d").as_str()), earlier.id(key("d").as_str()));
            assert_ne!(scope, earlier);
        }
    }
}

#[test]
fn the_key_is_no_part_of_the_scope() {
    assert_ne!(tenant("a").id(key("bc").as_str()), tenant("ab").id(key("c").as_str()));
    assert_ne!(tenant("a").id(key("K").as_str()), tenant("a").id(key("k").as_str()));
}

#[test]
fn what_a_text_column_or_an_eye_could_mistake_is_escaped() {
    assert_eq!(tenant("a\tb\u{7f}\u{202e}").text(), "tenant=a%09b%7F%E2%80%AE");
    assert_eq!(tenant("/{id}?!*'();:@$,[]#").text(), "tenant=/{id}?!*'();:@$,[]#");
    assert_eq!(tenant("%&=+").text(), "tenant=%25%26%3D%2B");
    assert_eq!(Scope::new().with("a&b", "c").unwrap().text(), "a%26b=c");
}

#[test]
fn s_08_an_empty_part_or_one_with_a_nul_is_refused() {
    let empty = |label: &str| Err(ScopeError::Empty { label: label.to_owned() });
    let nul = |label: &str| Err(ScopeError::Nul { label: label.to_owned() });

    assert_eq!(Scope::new().with("tenant", ""), empty("tenant"));
    assert_eq!(Scope::new().with("tenant", "a\0b"), nul("tenant"));
    assert_eq!(Scope::new().with("", "a"), empty(""));
    assert_eq!(Scope::new().with("a\0", "a"), nul("a\0"));
    assert_eq!(Scope::new().endpoint("POST", ""), empty("endpoint"));
    assert_eq!(Scope::new().endpoint_named(""), empty("endpoint"));
}

#[test]
fn an_error_names_the_part_and_not_its_value() {
    let error = Scope::new().with("tenant", "secret\0").unwrap_err();

    assert_eq!(error.label(), "tenant");
    assert_eq!(error.to_string(), "the scope's part `tenant` holds a NUL");
}

#[test]
fn a_part_may_be_of_any_length() {
    let long = "x".repeat(100_000);

    assert_ne!(tenant(&long).id(key("k").as_str()), tenant(&long[1..]).id(key("k").as_str()));
}

#[test]
fn a_lock_belongs_to_one_table_and_one_id() {
    let id = tenant("a").id(key("k").as_str());

    assert_ne!(lock_id("a.keys", &id), lock_id("b.keys", &id));
    assert_ne!(lock_id("a.keys", &id), lock_id("a.keys", &tenant("b").id(key("k").as_str())));
}

#[test]
fn values_are_the_texts_that_one_expects() {
    let uuid = Uuid::from_u128(0x8e03_978e_40d5_43e8_bc93_6894_a57f_9324);

    assert_eq!((-5_i8).scope_value(), "-5");
    assert_eq!(u128::MAX.scope_value(), "340282366920938463463374607431768211455");
    assert_eq!(NonZeroU64::MIN.scope_value(), "1");
    assert_eq!(uuid.scope_value(), "8e03978e-40d5-43e8-bc93-6894a57f9324");
    for value in [&"t1" as &dyn ScopeValue, &"t1".to_owned(), &Cow::Borrowed("t1"), &&&"t1"] {
        assert_eq!(value.scope_value(), "t1");
    }
    assert_eq!(Box::<str>::from("t1").scope_value(), "t1");
    assert_eq!(Arc::<str>::from("t1").scope_value(), "t1");
}
