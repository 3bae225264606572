//! What the header may say.

use idem_runtime::Syntax;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Answer, Request, r1};
use crate::problem::{assert_key_invalid, assert_problem};
use crate::same::{assert_ran, assert_replays};
use crate::server::Server;

/// Asserts that both requests run, as two keys.
async fn assert_two_keys<DB: TestDatabase>(bench: &Bench<DB>, one: &Request, other: &Request) {
    let server = bench.start().await;

    assert_ran(&server.send(one).await, 201);
    assert_ran(&server.send(other).await, 201);

    assert_eq!(server.runs(), 2);
    bench.assert_holds(2, 2).await;
}

/// Asserts that the second request replays the first, as one key.
async fn assert_one_key<DB: TestDatabase>(bench: &Bench<DB>, one: &Request, other: &Request) {
    let server = bench.start().await;

    let first = server.send(one).await;
    let again = server.send(other).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

/// Asserts that every one of these keys is refused for this reason, before anything is stored.
async fn assert_refused<DB: TestDatabase>(bench: &Bench<DB>, reason: &str, keys: &[&[u8]]) {
    let server = bench.start().await;

    for key in keys {
        assert_key_invalid(&server.send(&r1().key(key)).await, reason);
    }

    assert_nothing_ran(bench, &server).await;
}

async fn assert_nothing_ran<DB: TestDatabase>(bench: &Bench<DB>, server: &Server<DB>) {
    assert_eq!(server.runs(), 0);
    bench.assert_holds(0, 0).await;
}

// Cases: H-01
pub async fn a_quoted_key_is_accepted<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let answer = server.send(&r1()).await;

    assert_ran(&answer, 201);
    bench.assert_holds(1, 1).await;
    assert_eq!(bench.key_row().await.key, "k-0001");
}

// Cases: H-02
pub async fn a_bare_key_is_accepted<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let answer = server.send(&r1().key("k-0001")).await;

    assert_ran(&answer, 201);
    bench.assert_holds(1, 1).await;
    assert_eq!(bench.key_row().await.key, "k-0001");
}

// Cases: H-03
// Reports: B67
pub async fn quoted_and_bare_are_the_same_key<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_one_key(bench, &r1(), &r1().key("k-0001")).await;
}

// Cases: H-04
pub async fn bare_uuids_are_keys_whatever_they_begin_with<DB: TestDatabase>(bench: &Bench<DB>) {
    let digit = r1().key("8e03978e-40d5-43e8-bc93-6894a57f9324");
    let letter = r1().key("c8e03978-40d5-43e8-bc93-6894a57f9324");

    assert_two_keys(bench, &digit, &letter).await;
}

// Cases: H-05
pub async fn parameters_after_a_quoted_key_are_ignored<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_one_key(bench, &r1().key(r#""k-0001";v=1;x"#), &r1()).await;
}

// Cases: H-06, H-13
pub async fn a_bare_key_takes_neither_parameters_nor_spaces<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_refused(bench, "syntax", &[b"k-0001;v=1", b"k 0001"]).await;
}

// Cases: H-07
pub async fn a_request_without_a_key_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let answer = server.send(&r1().without("Idempotency-Key")).await;

    assert_problem(&answer, "idempotency_key_missing");
    assert_nothing_ran(bench, &server).await;
}

// Cases: H-08, H-09, H-10
// Reports: B67
pub async fn an_empty_key_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_refused(bench, "empty", &[b"", b"\"\"", b"\"   \""]).await;
}

// Cases: H-11
pub async fn whitespace_around_the_field_is_ignored<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_one_key(bench, &r1().key("  \"k-0001\"\t "), &r1()).await;
}

// Cases: H-12
// Reports: B67
pub async fn spaces_within_quotes_are_part_of_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_two_keys(bench, &r1().key("\"k 0001\""), &r1().key("\"k  0001\"")).await;
}

// Cases: H-14
// Reports: B67
pub async fn a_key_beyond_ascii_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_refused(bench, "not_ascii", &["\"füü\"".as_bytes(), b"f\xfc"]).await;
}

// Cases: H-15
pub async fn a_tab_within_a_key_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_refused(bench, "control_character", &[b"\"a\tb\""]).await;
}

// Cases: H-16
// Reports: B67
pub async fn other_control_characters_never_reach_the_library<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    for key in [b"a\x7fb", b"a\x01b"] {
        let answer = server.send(&r1().key(key)).await;

        assert_eq!((answer.status, answer.body.as_slice()), (400, b"".as_slice()));
    }
    assert_nothing_ran(bench, &server).await;
}

// Cases: H-17, H-19
pub async fn unbalanced_quotes_and_unknown_escapes_are_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let keys: [&[u8]; 4] = [b"\"k-0001", b"k-0001\"", b"\"a\\,b\"", b"\"a\\\""];

    assert_refused(bench, "syntax", &keys).await;
}

// Cases: H-18
pub async fn escapes_within_quotes_are_undone<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let answer = server.send(&r1().key(r#""a\"b\\c""#)).await;

    assert_ran(&answer, 201);
    assert_eq!(bench.key_row().await.key, r#"a"b\c"#);
}

// Cases: H-20
pub async fn a_key_of_255_characters_is_accepted<DB: TestDatabase>(bench: &Bench<DB>) {
    let key = "x".repeat(255);

    assert_one_key(bench, &r1().key(format!("\"{key}\"")), &r1().key(key)).await;
}

// Cases: H-21
// Reports: B67
pub async fn a_key_of_256_characters_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let key = "x".repeat(256);

    assert_refused(bench, "too_long", &[format!("\"{key}\"").as_bytes(), key.as_bytes()]).await;
}

// Cases: H-22, H-23
// Reports: B67
pub async fn two_lines_are_refused_even_if_equal<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    for second in ["\"b\"", "\"a\""] {
        let request = r1().key("\"a\"").field("Idempotency-Key", second);

        assert_key_invalid(&server.send(&request).await, "multiple");
    }
    assert_nothing_ran(bench, &server).await;
}

// Cases: H-24
// Reports: B67
pub async fn lines_joined_by_an_intermediary_are_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_refused(bench, "syntax", &[b"\"a\", \"b\"", b"a, b"]).await;
}

// Cases: H-25
pub async fn a_comma_within_quotes_is_part_of_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let answer = server.send(&r1().key("\"a, b\"")).await;

    assert_ran(&answer, 201);
    assert_eq!(bench.key_row().await.key, "a, b");
}

/// Keys that RFC 9651 reads as a byte sequence, a boolean and an integer.
const OTHER_TYPES: [&str; 3] = [":YWJj:", "?1", "42"];

// Cases: H-26
pub async fn other_structured_types_are_bare_keys<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    for key in OTHER_TYPES {
        assert_ran(&server.send(&r1().key(key)).await, 201);
    }
    let keys = bench.key_rows().await.into_iter().map(|row| row.key).collect::<Vec<_>>();
    assert_eq!(keys, OTHER_TYPES);
}

// Cases: H-26, H-30
pub async fn strict_syntax_takes_quoted_keys_only<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().engine(|builder| builder.syntax(Syntax::Strict)).start().await;

    for key in OTHER_TYPES.into_iter().chain(["k-0001"]) {
        assert_key_invalid(&server.send(&r1().key(key)).await, "syntax");
    }
    assert_nothing_ran(bench, &server).await;
    assert_ran(&server.send(&r1()).await, 201);
}

// Cases: H-27
pub async fn the_field_name_is_read_in_any_case<DB: TestDatabase>(bench: &Bench<DB>) {
    let other_case = r1().without("Idempotency-Key").field("idempotency-KEY", "\"k-0001\"");

    assert_one_key(bench, &other_case, &r1()).await;
}

// Cases: H-28
pub async fn a_look_alike_of_the_field_name_is_no_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let request = r1().without("Idempotency-Key").field("Idempotency_Key", "k-0001");
    let answer: Answer = server.send(&request).await;

    assert_problem(&answer, "idempotency_key_missing");
    assert_nothing_ran(bench, &server).await;
}

// Cases: H-29
pub async fn keys_that_differ_in_case_are_two<DB: TestDatabase>(bench: &Bench<DB>) {
    assert_two_keys(bench, &r1().key("\"ABC\""), &r1().key("\"abc\"")).await;
}

// Cases: H-36
// Reports: B69
pub async fn a_caller_who_is_nobody_is_told_so_first<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let answer = server.send(&r1().without("X-Tenant").without("Idempotency-Key")).await;

    assert_ran(&answer, 401);
    assert_eq!(answer.body, b"");
}
