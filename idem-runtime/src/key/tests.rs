//! The header cases, by their numbers in the conformance list.

use super::{IdempotencyKey, KeyError, Syntax};

fn lenient(field: impl AsRef<[u8]>) -> Result<IdempotencyKey, KeyError> {
    IdempotencyKey::parse(field.as_ref(), Syntax::Lenient)
}

fn strict(field: impl AsRef<[u8]>) -> Result<IdempotencyKey, KeyError> {
    IdempotencyKey::parse(field.as_ref(), Syntax::Strict)
}

fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey(text.to_owned())
}

#[test]
fn quoted_and_bare_spellings_are_the_same_key() {
    // H-01, H-02, H-03
    assert_eq!(lenient(r#""k-0001""#), Ok(key("k-0001")));
    assert_eq!(lenient("k-0001"), Ok(key("k-0001")));
    assert_eq!(
        IdempotencyKey::parse(br#""k-0001""#, Syntax::Lenient),
        IdempotencyKey::parse(b"k-0001", Syntax::Lenient),
    );
}

#[test]
fn a_bare_uuid_works_whatever_its_first_digit() {
    // H-04
    for uuid in ["8e03978e-40d5-43e8-bc93-6894a57f9324", "c8e03978-40d5-43e8-bc93-6894a57f9324"] {
        assert_eq!(lenient(uuid), Ok(key(uuid)));
    }
}

#[test]
fn parameters_follow_a_quoted_key_only() {
    // H-05
    assert_eq!(lenient(r#""k-0001";v=1;x"#), Ok(key("k-0001")));
    assert_eq!(strict(r#""k-0001";v=1;x"#), Ok(key("k-0001")));
    assert_eq!(lenient(r#""k-0001";V=1"#), Err(KeyError::Syntax));
    // H-06
    assert_eq!(lenient("k-0001;v=1"), Err(KeyError::Syntax));
}

#[test]
fn no_field_line_is_no_key() {
    // H-07
    assert_eq!(IdempotencyKey::from_fields([], Syntax::Lenient), Ok(None));
}

#[test]
fn nothing_and_only_spaces_are_empty() {
    // H-08
    assert_eq!(lenient(""), Err(KeyError::Empty));
    assert_eq!(lenient(" \t "), Err(KeyError::Empty));
    assert_eq!(strict(""), Err(KeyError::Empty));
    // H-09
    assert_eq!(lenient(r#""""#), Err(KeyError::Empty));
    assert_eq!(lenient(r#""";v=1"#), Err(KeyError::Empty));
    // H-10
    assert_eq!(lenient(r#""   ""#), Err(KeyError::Empty));
}

#[test]
fn whitespace_around_the_value_is_not_part_of_it() {
    // H-11
    assert_eq!(lenient("  \"k-0001\"\t "), Ok(key("k-0001")));
    assert_eq!(lenient("\tk-0001 "), Ok(key("k-0001")));
    assert_eq!(strict("\t\"k-0001\"\t"), Ok(key("k-0001")));
}

#[test]
fn spaces_inside_quotes_belong_to_the_key() {
    // H-12
    assert_eq!(lenient(r#""k 0001""#), Ok(key("k 0001")));
    assert_eq!(lenient(r#""k  0001""#), Ok(key("k  0001")));
    assert_eq!(lenient(r#"" k""#), Ok(key(" k")));
    // H-13
    assert_eq!(lenient("k 0001"), Err(KeyError::Syntax));
}

#[test]
fn bytes_outside_ascii_are_named_before_any_other_mistake() {
    // H-14
    assert_eq!(lenient("\"füü\""), Err(KeyError::NotAscii));
    assert_eq!(lenient(b"f\xfc"), Err(KeyError::NotAscii));
    assert_eq!(lenient(b"\"f\xfc"), Err(KeyError::NotAscii));
    assert_eq!(strict(b"f\xfc"), Err(KeyError::NotAscii));
    assert_eq!(lenient([0x80; 300]), Err(KeyError::NotAscii));
}

#[test]
fn control_characters_are_named_before_a_wrong_form() {
    // H-15
    assert_eq!(lenient("\"a\tb\""), Err(KeyError::ControlCharacter));
    assert_eq!(lenient("a\tb"), Err(KeyError::ControlCharacter));
    assert_eq!(strict("a\tb"), Err(KeyError::ControlCharacter));
    // H-16, for callers that are no HTTP server
    assert_eq!(lenient("a\u{7f}b"), Err(KeyError::ControlCharacter));
    assert_eq!(lenient("a\u{1}b"), Err(KeyError::ControlCharacter));
    assert_eq!(lenient("\"a\0b\""), Err(KeyError::ControlCharacter));
}

#[test]
fn a_quote_without_its_partner_is_a_wrong_form() {
    // H-17
    assert_eq!(lenient(r#""k-0001"#), Err(KeyError::Syntax));
    assert_eq!(lenient(r#"k-0001""#), Err(KeyError::Syntax));
    assert_eq!(lenient("\""), Err(KeyError::Syntax));
}

#[test]
fn escapes_are_resolved_and_others_refused() {
    // H-18
    assert_eq!(lenient(r#""a\"b\\c""#), Ok(key(r#"a"b\c"#)));
    // H-19
    assert_eq!(lenient(r#""a\,b""#), Err(KeyError::Syntax));
    assert_eq!(lenient(r#""a\""#), Err(KeyError::Syntax));
    assert_eq!(lenient(r"a\b"), Err(KeyError::Syntax));
}

#[test]
fn length_is_counted_on_the_key_and_not_on_its_spelling() {
    // H-20
    let longest = "x".repeat(255);
    assert_eq!(lenient(format!("\"{longest}\"")), Ok(key(&longest)));
    assert_eq!(lenient(&longest), Ok(key(&longest)));
    assert_eq!(lenient(format!("\"{}\"", r"\\".repeat(255))), Ok(key(&r"\".repeat(255))));
    assert_eq!(lenient(format!("\"{longest}\";v=\"{longest}\"")), Ok(key(&longest)));
    // H-21
    let longer = "x".repeat(256);
    assert_eq!(lenient(format!("\"{longer}\"")), Err(KeyError::TooLong));
    assert_eq!(lenient(&longer), Err(KeyError::TooLong));
    assert_eq!(lenient(format!("\"{}\"", r"\\".repeat(256))), Err(KeyError::TooLong));
}

#[test]
fn a_wrong_form_is_named_before_a_wrong_length() {
    assert_eq!(lenient(format!("\"{}", "x".repeat(300))), Err(KeyError::Syntax));
    assert_eq!(lenient("x,".repeat(300)), Err(KeyError::Syntax));
}

#[test]
fn a_second_field_line_is_refused_even_if_equal() {
    let read = |lines: [&'static [u8]; 2]| IdempotencyKey::from_fields(lines, Syntax::Lenient);

    // H-22, H-23
    assert_eq!(read([br#""a""#, br#""b""#]), Err(KeyError::Multiple));
    assert_eq!(read([b"a", b"a"]), Err(KeyError::Multiple));
    assert_eq!(read([b"", b""]), Err(KeyError::Multiple));
}

#[test]
fn one_field_line_is_read() {
    let lenient = IdempotencyKey::from_fields([b"a".as_slice()], Syntax::Lenient);
    let strict = IdempotencyKey::from_fields([b"a".as_slice()], Syntax::Strict);

    assert_eq!(lenient, Ok(Some(key("a"))));
    assert_eq!(strict, Err(KeyError::Syntax));
}

#[test]
fn keys_joined_by_an_intermediary_are_refused() {
    // H-24
    assert_eq!(lenient(r#""a", "b""#), Err(KeyError::Syntax));
    assert_eq!(lenient("a, b"), Err(KeyError::Syntax));
    assert_eq!(lenient("a,b"), Err(KeyError::Syntax));
    // H-25
    assert_eq!(lenient(r#""a, b""#), Ok(key("a, b")));
}

#[test]
fn other_structured_types_are_bare_keys_unless_strict() {
    // H-26
    for field in [":YWJj:", "?1", "42", "@1659578233", "(a)", "1.5", "a=b"] {
        assert_eq!(lenient(field), Ok(key(field)));
        assert_eq!(strict(field), Err(KeyError::Syntax), "{field}");
    }
}

#[test]
fn keys_that_differ_in_case_differ() {
    // H-29
    assert_ne!(lenient(r#""ABC""#), lenient(r#""abc""#));
}

#[test]
fn strict_syntax_wants_quotes() {
    // H-30
    assert_eq!(strict("k-0001"), Err(KeyError::Syntax));
    assert_eq!(strict(r#""k-0001""#), Ok(key("k-0001")));
}

#[test]
fn every_byte_of_a_bare_key_is_itself_or_refused() {
    for byte in 0..=u8::MAX {
        let read = lenient([b'a', byte, b'a']);

        match byte {
            0x80.. => assert_eq!(read, Err(KeyError::NotAscii), "{byte:#04x}"),
            0x00..=0x1f | 0x7f => assert_eq!(read, Err(KeyError::ControlCharacter), "{byte:#04x}"),
            b' ' | b'"' | b',' | b';' | b'\\' => assert_eq!(read, Err(KeyError::Syntax), "{byte:#04x}"),
            _ => assert_eq!(read, Ok(key(&format!("a{}a", char::from(byte))))),
        }
    }
}

#[test]
fn a_key_is_read_as_plain_text() {
    assert_eq!(lenient(r#""a\"b""#).as_ref().map(IdempotencyKey::as_str), Ok("a\"b"));
}

#[test]
fn a_plain_key_is_taken_as_it_stands() {
    let plain = |text: &str| IdempotencyKey::new(text);

    assert_eq!(plain(r#""quoted", \ and so on;"#), Ok(key(r#""quoted", \ and so on;"#)));
    assert_eq!(plain(" k "), Ok(key(" k ")));
    assert_eq!(plain(""), Err(KeyError::Empty));
    assert_eq!(plain("  "), Err(KeyError::Empty));
    assert_eq!(plain("a\tb"), Err(KeyError::ControlCharacter));
    assert_eq!(plain("ü"), Err(KeyError::NotAscii));
    assert_eq!(plain(&"x".repeat(256)), Err(KeyError::TooLong));
}

#[test]
fn a_key_is_not_shown_by_debug() {
    assert_eq!(format!("{:?}", key("s3cret")), "IdempotencyKey(_)");
}

#[test]
fn reasons_are_the_words_of_the_protocol() {
    let reasons = [
        (KeyError::Empty, "empty"),
        (KeyError::Syntax, "syntax"),
        (KeyError::NotAscii, "not_ascii"),
        (KeyError::ControlCharacter, "control_character"),
        (KeyError::Multiple, "multiple"),
        (KeyError::TooLong, "too_long"),
    ];

    for (error, reason) in reasons {
        assert_eq!(error.reason(), reason);
    }
}

#[cfg(feature = "axum")]
#[test]
fn a_key_as_a_field_is_read_back_as_itself() {
    for text in ["k-0001", "a b", "a\"b", "a\\b", "a,b", "a;b", " a ", "~!#", &"x".repeat(255)] {
        let key = key(text);
        let quoted = key.to_field(Syntax::Strict);
        assert_eq!(strict(quoted.as_bytes()), Ok(key.clone()), "{quoted:?}");
        let field = key.to_field(Syntax::Lenient);
        assert_eq!(lenient(field.as_bytes()), Ok(key), "{field:?}");
        assert_eq!(
            field.as_bytes().starts_with(b"\""),
            lenient(text).as_ref() != Ok(&self::key(text)),
            "{field:?}"
        );
    }
}

#[cfg(feature = "axum")]
#[test]
fn a_uuid_is_five_groups_of_hexadecimal_digits() {
    use super::KeyFormat;

    let accepts = |text: &str| KeyFormat::Uuid.accepts(&IdempotencyKey::new(text).unwrap());

    assert!(accepts("0f2c1f56-0ba4-4a4f-9d3a-6a8e4f6f2b11"));
    assert!(accepts("0F2C1F56-0BA4-4A4F-9D3A-6A8E4F6F2B11"));
    assert!(!accepts("0f2c1f560ba44a4f9d3a6a8e4f6f2b11"));
    assert!(!accepts("{0f2c1f56-0ba4-4a4f-9d3a-6a8e4f6f2b11}"));
    assert!(!accepts("0f2c1f56-0ba4-4a4f-9d3a-6a8e4f6f2b1g"));
    assert!(!accepts("0f2c1f5-60ba4-4a4f-9d3a-6a8e4f6f2b11"));
    assert!(KeyFormat::Any.accepts(&IdempotencyKey::new("not a uuid").unwrap()));
}
