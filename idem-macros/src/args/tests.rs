use super::*;
use crate::value::InProgress;

fn read_as(options: &str, place: Place) -> (Args, Vec<String>) {
    let mut mistakes = Mistakes::default();
    let args = match place {
        Place::Handler => parse(options.parse().unwrap(), &mut mistakes),
        Place::Policy => {
            let mut reader = Reader::default();
            let read = |input: ParseStream<'_>| {
                reader.read(input, place, &mut mistakes);
                Ok(())
            };
            read.parse2(options.parse().unwrap()).unwrap();
            reader.finish(&mut mistakes)
        }
    };
    (args, mistakes.messages().into_iter().map(str::to_owned).collect())
}

fn read(options: &str) -> (Args, Vec<String>) {
    read_as(options, Place::Handler)
}

fn setting(args: &Args, name: &str) -> Option<Value> {
    args.settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.clone())
}

#[test]
fn every_option_of_a_handler_is_read() {
    let (args, mistakes) = read(
        r#"scope = "tenant", ttl = "1h", key = "event.id", required = false, in_progress = "wait 5s",
           record = "all", endpoint = "orders.create", inner = "create_inner", allow(short_ttl), crate = a::b,"#,
    );

    assert!(mistakes.is_empty(), "{mistakes:?}");
    assert!(matches!(&args.scope, Scope::Text(text) if text.value() == "tenant"));
    assert_eq!(args.key.as_ref().map(LitStr::value).as_deref(), Some("event.id"));
    assert!(args.inner.as_ref().is_some_and(|inner| inner.name == "create_inner" && !inner.is_associated));
    assert_eq!(args.runtime.root(Span::call_site()).to_string(), "a :: b");
    for (name, value) in [
        ("ttl", Value::Seconds(3_600)),
        ("required", Value::Flag(false)),
        ("in_progress", Value::InProgress(InProgress::Wait { limit_ms: 5_000, then: 409 })),
        ("record", Value::Variant("RecordRule", "All")),
        ("endpoint", Value::Text("orders.create".to_owned())),
    ] {
        assert_eq!(setting(&args, name), Some(value));
    }
}

#[test]
fn every_option_of_a_policy_is_read() {
    let (args, mistakes) = read_as(
        r#"scope = "tenant", ttl = "48h", required = true, in_progress = "reject", record = "success",
           header = "X-Key", syntax = "strict", key_format = "uuid", mismatch = 409, replay_headers = "X-A, x-b",
           max_response = "64KiB", isolation = "repeatable read", run_limit = "30s", fingerprint = "off",
           engine = "extension", crate = a"#,
        Place::Policy,
    );

    assert!(mistakes.is_empty(), "{mistakes:?}");
    assert!(args.is_engine_in_extension);
    for (name, value) in [
        ("ttl", Value::Seconds(2 * 86_400)),
        ("header", Value::Text("X-Key".to_owned())),
        ("syntax", Value::Variant("Syntax", "Strict")),
        ("key_format", Value::Variant("KeyFormat", "Uuid")),
        ("mismatch", Value::Status(409)),
        ("replay_headers", Value::Texts(vec!["x-a".to_owned(), "x-b".to_owned()])),
        ("max_response", Value::Bytes(65_536)),
        ("isolation", Value::Variant("Isolation", "RepeatableRead")),
        ("run_limit", Value::Seconds(30)),
        ("fingerprint", Value::Flag(false)),
    ] {
        assert_eq!(setting(&args, name), Some(value));
    }
}

#[test]
fn what_is_not_written_is_left_to_the_run_time() {
    let (args, mistakes) = read("");

    assert!(mistakes.is_empty());
    assert!(matches!(args.scope, Scope::Missing));
    assert!(args.settings.is_empty());
}

#[test]
fn a_policy_may_be_of_any_type() {
    let (args, mistakes) = read("policy = api::Shared<Tenant, 3>, ttl = \"48h\"");

    assert!(mistakes.is_empty(), "{mistakes:?}");
    let printed = quote::quote!(api::Shared<Tenant, 3>).to_string();
    assert_eq!(args.policy.map(|ty| quote::quote!(#ty).to_string()), Some(printed));
    assert_eq!(args.settings.len(), 1);
}

#[test]
fn a_short_ttl_may_be_allowed_before_or_after_it() {
    for options in [r#"ttl = "1s", allow(short_ttl)"#, r#"allow(short_ttl), ttl = "1s""#] {
        assert!(read(options).1.is_empty(), "{options}");
    }
    assert_eq!(read(r#"ttl = "86399s""#).1, ["a time to live of `86399s` is shorter than one day"]);
    assert!(read(r#"ttl = "86400s""#).1.is_empty());
}

#[test]
fn parsing_goes_on_after_each_mistake() {
    let (args, mistakes) = read(
        r#"unknown(a, b) = c, scope = endpoint, "text", ttl, ttl = "1d", record = 1, allow(), allow(x), crate = "a",
           required = "false", policy = 1, in_progress = "later", key = 2"#,
    );

    assert_eq!(
        mistakes,
        [
            "unknown option `unknown`",
            "the value of `scope` is a string",
            "expected the name of an option",
            "`ttl` needs a value",
            "the option `ttl` is given twice",
            "the value of `record` is a string",
            "`allow` names nothing",
            "the option `allow` is given twice",
            "the value of `crate` is a path",
            "the value of `required` is `true` or `false`",
            "the value of `policy` is a type",
            "`later` is not a value of `in_progress`",
            "the value of `key` is a string",
        ]
    );
    assert!(matches!(args.scope, Scope::Unreadable));
}

#[test]
fn a_forgotten_comma_is_one_mistake() {
    let (args, mistakes) = read(r#"scope = "endpoint" ttl = "48h" allow(short_ttl)"#);

    assert_eq!(mistakes, ["expected `,` between two options"; 2]);
    assert_eq!(setting(&args, "ttl"), Some(Value::Seconds(2 * 86_400)));
}

#[test]
fn an_option_in_the_wrong_place_is_told_where_it_belongs() {
    for (options, place, message) in [
        ("header = \"X\"", Place::Handler, "`header` is an option of policies and of the builder"),
        ("engine = \"extension\"", Place::Handler, "`engine` is an option of policies"),
        ("table = \"t\"", Place::Handler, "`table` is a setting of the builder"),
        ("key = \"a\"", Place::Policy, "`key` is an option of handlers"),
        ("wrap_tasks = f", Place::Policy, "`wrap_tasks` is a setting of the builder"),
        ("expires = \"1h\"", Place::Policy, "unknown option `expires`"),
    ] {
        assert_eq!(read_as(options, place).1, [message]);
    }
}

#[test]
fn a_scope_beside_a_policy_is_one_mistake() {
    for options in ["policy = Api, scope = \"tenant\"", "scope = \"nobody\", policy = Api"] {
        let (args, mistakes) = read(options);

        assert_eq!(mistakes, ["`scope` stands beside `policy`, which says what keys are unique within"]);
        assert!(matches!(args.scope, Scope::Unreadable));
    }
}

#[test]
fn a_key_outlives_its_run() {
    let policy = |options| read_as(options, Place::Policy).1;

    assert_eq!(
        policy(r#"ttl = "1h", allow(short_ttl), run_limit = "2h""#),
        ["a run limit of `2h` is longer than the time to live of `1h`"]
    );
    assert!(policy(r#"ttl = "1h", allow(short_ttl), run_limit = "1h""#).is_empty());
}

#[test]
fn a_value_out_of_its_range_is_refused() {
    for (options, message) in [
        ("mismatch = 404", "`404` is not a value of `mismatch`"),
        ("mismatch = 70000", "`70000` is not a value of `mismatch`"),
        ("max_response = \"1GB\"", "`1GB` is not a size"),
        ("max_response = \"0B\"", "a size of `0B` leaves no room for an answer"),
        ("isolation = \"serialisable\"", "`serialisable` is not a value of `isolation`"),
        ("run_limit = \"0s\"", "a run limit of `0s` ends before it begins"),
        ("header = \"a b\"", "`a b` is not the name of a header field"),
        ("replay_headers = \"set-cookie\"", "the header `set-cookie` must not be replayed"),
    ] {
        assert_eq!(read_as(options, Place::Policy).1, [message], "{options}");
    }
    for (options, message) in [
        ("endpoint = \" \"", "an endpoint's name is a text that is not empty"),
        ("inner = \"a b\"", "`a b` is not a name for a function"),
        ("inner = \"Self::\"", "`Self::` is not a name for a function"),
    ] {
        assert_eq!(read(options).1, [message], "{options}");
    }
}

#[test]
fn the_manual_has_every_option() {
    let manual = include_str!("../manual/options.md");

    for option in OF_HANDLERS.iter().chain(&OF_POLICIES) {
        assert!(manual.contains(&format!("\n## `{option}`\n")), "`{option}` has no section");
    }
    for setting in OF_THE_BUILDER {
        assert!(manual.contains(&format!("`{setting}`")), "`{setting}` is not in the table of the builder");
    }
    for name in OPT_OUTS {
        assert!(manual.contains(&format!("| `{name}` |")), "`{name}` is not in the table of opt-outs");
    }
}

#[test]
fn what_was_probably_the_scope_is_not_missed_as_well() {
    for (options, mistake) in [
        ("SCOPE = \"tenant\"", "unknown option `SCOPE`"),
        ("scop = \"tenant\"", "unknown option `scop`"),
        ("polcy = Api", "unknown option `polcy`"),
        ("\"tenant\"", "expected the name of an option"),
    ] {
        let (args, mistakes) = read(options);

        assert_eq!(mistakes, [mistake]);
        assert!(matches!(args.scope, Scope::Unreadable), "{options}");
    }
    assert!(matches!(read("expires = \"1h\"").0.scope, Scope::Missing));
}

#[test]
fn a_value_of_another_kind_is_one_mistake() {
    for (options, mistake) in [
        ("allow(\"short_ttl\")", "`allow` takes names, without quotes"),
        ("ttl = \"24h\" \"48h\"", "the value of `ttl` is one string"),
        ("ttl = \"24h\"; record = \"all\"", "expected `,` between two options"),
        ("policy = &Api", "a policy is a struct that is named"),
        ("policy = (Api, Other)", "a policy is a struct that is named"),
        ("policy = _", "a policy is a struct that is named"),
        ("policy = Api::new()", "the value of `policy` is a type"),
    ] {
        assert_eq!(read(options).1, [mistake], "{options}");
    }
}
