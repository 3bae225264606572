use super::*;
use quote::ToTokens;

fn read(function: &str) -> (Handler, Vec<String>) {
    let mut mistakes = Mistakes::default();
    let function = crate::function::parse(function.parse().unwrap()).ok().unwrap();
    let handler = model(function, &Args::default(), &mut mistakes);
    (handler, mistakes.messages().into_iter().map(str::to_owned).collect())
}

fn roles(handler: &Handler) -> Vec<Role> {
    handler.arguments.iter().map(|argument| argument.role).collect()
}

#[test]
fn the_transaction_is_the_argument_by_mut_wherever_it_stands() {
    for function in [
        "async fn f(tx: &mut PgConnection, body: String) {}",
        "async fn f(mut anything: &mut (Alias<'_>), body: String) {}",
    ] {
        let (handler, mistakes) = read(function);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        assert_eq!(roles(&handler), [Role::Transaction, Role::Compared]);
    }
    assert_eq!(
        roles(&read("async fn f(body: String, tx: &mut Tx) {}").0),
        [Role::Compared, Role::Transaction]
    );
}

#[test]
fn marks_decide_what_an_input_is() {
    let (handler, mistakes) = read(
        "async fn f(#[fingerprint(skip)] a: A, #[context] b: B, #[fingerprint(with = g)] w: W, e: &E, \
              #[allow(unused)] c: C, #[fingerprint(body)] d: D, tx: &mut Tx) {}",
    );

    assert!(mistakes.is_empty(), "{mistakes:?}");
    assert_eq!(
        roles(&handler),
        [Role::Skipped, Role::Context, Role::With, Role::Lent, Role::Compared, Role::Body, Role::Transaction]
    );
    let printed = handler.function.to_token_stream().to_string();
    assert!(
        printed.contains("allow") && !printed.contains("skip") && !printed.contains("context"),
        "{printed}"
    );
}

#[test]
fn arguments_keep_their_names_where_they_can() {
    let (handler, _) = read(
        "async fn f(Json(mut req): Json<R>, _x: X, (a, b): Ab, f: F, _: H, Marker: M, req: R, tx: &mut Tx) {}",
    );

    let names: Vec<String> = handler.arguments.iter().map(|argument| argument.name.to_string()).collect();
    assert_eq!(names, ["req", "arg1", "arg2", "arg3", "arg4", "arg5", "arg6", "tx"]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of mistakes")]
fn each_mistake_of_a_signature_is_told_once() {
    for (function, mistake, expands) in [
        ("fn f(tx: &mut Tx) {}", "an `#[idempotent]` handler is an `async fn`", true),
        ("fn f(tx: &mut Tx) -> impl Future {}", "an `#[idempotent]` handler is an `async fn`", true),
        ("async fn f(self, tx: &mut Tx) {}", "an `#[idempotent]` handler has no `self`", false),
        ("async unsafe fn f(tx: &mut Tx) {}", "a handler cannot be `unsafe`", true),
        ("async extern \"C\" fn f(tx: &mut Tx) {}", "a handler cannot be `extern`", true),
        ("async fn f(tx: &mut Tx) -> (u8, Sse<E>) {}", "an answer that is a stream cannot be stored", true),
        ("async fn f(a: A) {}", "an `#[idempotent]` handler must take the transaction it runs in", false),
        ("async fn f(tx: Transaction<'_, Db>) {}", "the transaction is lent to the handler, not given", true),
        ("async fn f(tx: &PgConnection) {}", "the transaction is lent by a shared reference", true),
        ("async fn f(tx: &mut impl Conn) {}", "the transaction's type is not named", true),
        (
            "async fn f(tx: &'static mut Tx) {}",
            "the transaction is lent for the call, which is shorter than `'static`",
            true,
        ),
        (
            "async fn f<'a>(tx: &'a mut Tx<'a>) {}",
            "the transaction is lent for the call, which is shorter than `'a`",
            true,
        ),
        (
            "async fn f(a: &mut A, b: &mut B) {}",
            "a second argument is taken by `&mut`, which only the transaction is",
            true,
        ),
        (
            "async fn f(tx: &mut Tx, a: &'static A) {}",
            "what a run lends is lent for the call, which is shorter than `'static`",
            true,
        ),
        ("async fn f(tx: &mut Tx, #[context] a: &A) {}", "what a run lends is no input of the request", true),
        ("async fn f(tx: &mut Tx, a: &impl A) {}", "the type of an argument is not named", true),
        ("async fn f(tx: &mut Vec<u8>) {}", "`Vec<u8>` is not a transaction", true),
        ("async fn f(tx: &mut &mut Tx) {}", "`&mut Tx` is not a transaction", true),
        (
            "async fn f(tx: &mut Tx) -> Result<&str, E> {}",
            "an answer cannot be borrowed: it outlives the handler",
            true,
        ),
        ("async fn f(tx: &mut Tx, a: impl A) {}", "the type of an argument is not named", true),
        ("async fn f((tx, a): (&mut Tx, A)) {}", "a handler's transaction is an argument of its own", true),
        (
            "async fn f(tx: &mut Tx, a: &mut Execution) {}",
            "a second argument is taken by `&mut`, which only the transaction is",
            true,
        ),
        ("async fn f(guard: p::__private::Guard<A>) {}", "this handler is `#[idempotent]` already", false),
        ("const async fn f(tx: &mut Tx) {}", "a handler cannot be `const`", true),
        ("async fn f(tx: &mut sqlx::PgPool) {}", "a pool is not the transaction", true),
        ("async fn f(tx: &mut PoolConnection<Db>) {}", "a pooled connection is not the transaction", true),
        ("async fn f(tx: Option<&mut PgConnection>) {}", "a handler's transaction is always there", true),
        (
            "async fn f(tx: &mut Tx) -> Json<Self> {}",
            "`Self` cannot be used in an `#[idempotent]` handler, which becomes a function inside another",
            true,
        ),
        (
            "async fn f(tx: &mut Tx) { Self::a().await; Self::b() }",
            "`Self` cannot be used in an `#[idempotent]` handler, which becomes a function inside another",
            true,
        ),
        (
            "async fn f(tx: &mut Tx, #[fingerprint(body)] a: A, b: B) {}",
            "only the last extractor reads the body",
            true,
        ),
        (
            "async fn f(tx: &mut Tx, #[fingerprint(body)] (a, b): (A, B)) {}",
            "the body is all that would be compared of several extractors",
            true,
        ),
        (
            "async fn f(tx: &mut Tx, #[fingerprint(skip, body)] a: A) {}",
            "an argument is compared in one way",
            true,
        ),
        ("async fn f(tx: &mut Tx, #[fingerprint(with)] a: A) {}", "`with` needs a value", true),
        (
            "async fn f(tx: &mut Tx, #[fingerprint(with = |a| a)] a: A) {}",
            "the value of `with` is a path",
            true,
        ),
        (
            "async fn f(tx: &mut Tx, a: Multipart) {}",
            "`Multipart` is a stream, which cannot be compared with a retry's",
            true,
        ),
        ("async fn f(#[context] tx: &mut Tx) {}", "the transaction is no input of the request", true),
        ("async fn f(tx: &mut Tx, #[context(a)] a: A) {}", "`#[context]` takes no options", true),
        ("async fn f(tx: &mut Tx, #[context] #[context] a: A) {}", "the attribute is given twice", true),
        (
            "async fn f(tx: &mut Tx, #[context] #[fingerprint(skip)] a: A) {}",
            "a `#[context]` argument is not in the fingerprint anyway",
            true,
        ),
        ("async fn f(tx: &mut Tx, #[fingerprint] a: A) {}", "`#[fingerprint]` says nothing here", true),
        ("async fn f(tx: &mut Tx, #[fingerprint(bodies)] a: A) {}", "unknown option `bodies`", true),
    ] {
        let (handler, mistakes) = read(function);
        assert_eq!(mistakes, [mistake], "{function}");
        assert_eq!(handler.transaction.is_some(), expands, "{function}");
    }
}

#[test]
fn of_two_arguments_by_mut_the_transaction_is_the_one_that_is_called_like_it() {
    let (handler, mistakes) = read("async fn f(log: &mut Log, tx: &mut PgConnection) {}");

    assert_eq!(mistakes, ["a second argument is taken by `&mut`, which only the transaction is"]);
    assert_eq!(roles(&handler), [Role::Unfit, Role::Transaction]);
}

#[test]
fn a_literal_may_be_the_answer() {
    for answer in ["&'static str", "(u8, &'static [u8])", "Json<&str>", "Box<dyn Fn(&str)>"] {
        assert!(read(&format!("async fn f(tx: &mut Tx) -> {answer} {{}}")).1.is_empty(), "{answer}");
    }
}

#[test]
fn a_stream_may_be_vouched_for() {
    let (handler, mistakes) = read("async fn f(tx: &mut Tx, #[context] upload: Multipart) {}");

    assert!(mistakes.is_empty(), "{mistakes:?}");
    assert_eq!(roles(&handler), [Role::Transaction, Role::Context]);
}

#[test]
fn fifteen_extractors_are_the_most() {
    let with = |count: usize| {
        let extractors = ", _: A".repeat(count);
        read(&format!("async fn f(tx: &mut Tx{extractors}) {{}}")).1
    };

    assert!(with(15).is_empty());
    assert_eq!(with(17), ["a handler takes at most 15 extractors beside the transaction"]);
}

#[test]
fn an_item_in_the_body_may_have_a_self_of_its_own() {
    let (_, mistakes) = read("async fn f(tx: &mut Tx) { struct A; impl A { fn a() -> Self { Self } } }");

    assert!(mistakes.is_empty(), "{mistakes:?}");
}

#[test]
fn a_handler_that_cannot_be_called_is_expanded_without_a_run() {
    for function in [
        "async unsafe fn f(tx: &mut Tx) {}",
        "fn f(tx: &mut Tx) -> impl Future {}",
        "async fn f(tx: &mut Tx, a: impl A) {}",
        "async fn f(tx: &mut impl Conn) {}",
        "async fn f(tx: &mut [u8]) {}",
    ] {
        let (handler, _) = read(function);

        assert!(handler.transaction.is_some_and(|transaction| transaction.referent.is_none()), "{function}");
    }
}

#[test]
fn a_policy_is_lent() {
    let args = Args { policy: Some(syn::parse_quote!(api::Shared<Tenant>)), ..Args::default() };
    let function = "async fn f(tx: &mut Tx, a: api::Shared<Tenant>) {}".parse().unwrap();
    let mut mistakes = Mistakes::default();

    model(crate::function::parse(function).ok().unwrap(), &args, &mut mistakes);

    assert_eq!(mistakes.messages(), ["the policy is lent to the handler, not given"]);
}
