use super::*;
use crate::handler::model;
use proc_macro2::Span;

fn read(text: &str, handler: &str) -> (Vec<String>, Vec<String>) {
    let mut mistakes = Mistakes::default();
    let handler = model(
        crate::function::parse(handler.parse().unwrap()).ok().unwrap(),
        &args::Args::default(),
        &mut mistakes,
    );
    let written = args::Scope::Text(LitStr::new(text, Span::call_site()));

    let scope = resolve(&written, &Vocabulary::of_handler(&handler), Span::call_site(), &mut mistakes);

    let parts = scope.parts.iter().map(|part| match part {
        Part::Endpoint => "endpoint".to_owned(),
        Part::Global => "global".to_owned(),
        Part::Value(label, value) => format!("{label} = {} of {}", value.spelled(), value.source),
    });
    (parts.collect(), mistakes.messages().into_iter().map(str::to_owned).collect())
}

const HANDLER: &str =
    "async fn f(user: User, tx: &mut Tx, Path((shop, r#type)): Path<(u64, u8)>, _late: Bytes) {}";

#[test]
fn a_name_is_what_an_argument_binds() {
    for (text, parts) in [
        ("user", vec!["user = user of 0"]),
        ("type, shop", vec!["type = type of 2", "shop = shop of 2"]),
        ("_late, endpoint", vec!["_late = _late of 3", "endpoint"]),
        ("global", vec!["global"]),
    ] {
        assert_eq!(read(text, HANDLER), (parts.into_iter().map(str::to_owned).collect(), vec![]));
    }
}

#[test]
fn a_label_is_the_last_name_unless_it_is_written() {
    for (text, part) in [
        ("user.tenant.id", "id = user.tenant.id of 0"),
        ("user.tenant()", "tenant = user.tenant() of 0"),
        ("user.0", "user = user.0 of 0"),
        ("user.keys.0", "keys = user.keys.0 of 0"),
        ("account = user.tenant.id", "account = user.tenant.id of 0"),
    ] {
        assert_eq!(read(text, HANDLER), (vec![part.to_owned()], vec![]));
    }
}

#[test]
fn a_part_that_is_wrong_is_dropped_and_the_others_stay() {
    for (text, parts, mistake) in [
        ("shopp,user", vec!["user = user of 0"], "no argument of this handler is named `shopp`"),
        ("tx,endpoint", vec!["endpoint"], "`tx` is the transaction, which tells no request from another"),
        ("user,,endpoint", vec!["user = user of 0", "endpoint"], "a part of `scope` is empty"),
        ("user,user", vec!["user = user of 0"], "`user` is twice in `scope`"),
        ("user.id,shop.id", vec!["id = user.id of 0"], "two parts of `scope` have the label `id`"),
        ("endpoint,endpoint", vec!["endpoint"], "`endpoint` is twice in `scope`"),
        (
            "user,global",
            vec!["user = user of 0"],
            "`global` stands alone: a key is unique everywhere, or within the other parts",
        ),
        ("a = endpoint", vec!["endpoint"], "`endpoint` takes no label"),
        ("global = user", vec!["global = user of 0"], "`global` cannot be a label"),
        (
            "user.f(x, y),shop",
            vec!["shop = shop of 2"],
            "a call in `scope` takes no arguments: `user.f(x, y)`",
        ),
        ("user;shop", vec![], "`user;shop` is not a part of a scope"),
        ("", vec![], "`scope` is empty"),
    ] {
        let expected = (parts.into_iter().map(str::to_owned).collect(), vec![mistake.to_owned()]);
        assert_eq!(read(text, HANDLER), expected, "{text}");
    }
}

#[test]
fn an_argument_of_the_name_of_a_part_is_refused_only_where_it_matters() {
    let handler = "async fn f(tx: &mut Tx, endpoint: Bytes) {}";

    assert_eq!(read("endpoint", handler).1.len(), 1);
    assert_eq!(read("endpoint.id", handler).1.len(), 0);
}

#[test]
fn the_scope_does_not_depend_on_a_cfg() {
    let (parts, mistakes) = read("user", "async fn f(tx: &mut Tx, #[cfg(unix)] user: User) {}");

    assert!(parts.is_empty());
    assert_eq!(mistakes, ["`user` is not always there, and `scope` must not depend on a `cfg`"]);
}

#[test]
fn what_is_lent_is_no_part_of_a_scope() {
    let (parts, mistakes) = read("run", "async fn f(tx: &mut Tx, run: &Execution) {}");

    assert!(parts.is_empty());
    assert_eq!(mistakes, ["`run` is lent by the run, and is no part of the request"]);
}

#[test]
fn a_missing_scope_is_helped_with_what_is_there() {
    for (handler, help) in [
        ("async fn f(tx: &mut Tx, body: Bytes, user_id: UserId) {}", "scope = \"user_id,endpoint\""),
        ("async fn f(tx: &mut Tx, body: Bytes) {}", "scope = \"endpoint\""),
    ] {
        let mut mistakes = Mistakes::default();
        let handler = model(
            crate::function::parse(handler.parse().unwrap()).ok().unwrap(),
            &args::Args::default(),
            &mut mistakes,
        );
        resolve(&args::Scope::Missing, &Vocabulary::of_handler(&handler), Span::call_site(), &mut mistakes);
        assert!(mistakes.into_tokens().to_string().contains(&help.escape_default().to_string()), "{help}");
    }
}
