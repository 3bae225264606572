::core::compile_error! {
    "`24 hours` is not a time to live\n= help: write a whole number and a unit, one of `s`, `m`, `h`, `d`: `ttl = \"24h\"`"
}
::core::compile_error! {
    "`decide` is not a value of `record`\n= help: a value with a similar name exists: `decided`"
}
::core::compile_error! {
    "unknown option `expires`\n= help: the options are `scope`, `ttl`, `policy`, `key`, `required`, `in_progress`, `record`, `endpoint`, `inner`, `allow`, `crate`"
}
::core::compile_error! {
    "an `#[idempotent]` handler is an `async fn`\n= help: write `async fn create`"
}
::core::compile_error! {
    "an answer that is a stream cannot be stored\n= note: the answer is stored whole, before the transaction commits\n= help: answer with a body of known length, such as `Json` or `Bytes`"
}
::core::compile_error! {
    "the transaction is lent to the handler, not given\n= help: take it by `&mut`; it commits when the handler succeeds and rolls back when it fails"
}
::core::compile_error! {
    "`Multipart` is a stream, which cannot be compared with a retry's\n= help: upload first, and take the upload's id or digest here"
}
::core::compile_error! {
    "no argument of this handler is named `tenent`\n= help: an argument with a similar name exists: `tenant`"
}
async fn create(
    guard: ::idem_runtime::__private::Guard<
        <PgTransaction<
            'static,
        > as ::idem_runtime::__private::Tx>::Db<::idem_runtime::__private::Once>,
        ::idem_runtime::__private::NoPolicy,
    >,
    tenant: TenantId,
) -> ::idem_runtime::__private::Response {
    async fn create(
        #[allow(unused_variables)]
        tx: PgTransaction<'_>,
        #[allow(unused_variables)]
        tenant: TenantId,
        #[allow(unused_variables)]
        config: &Config,
        #[allow(unused_variables)]
        upload: Multipart,
    ) -> Result<Sse<Events>, AppError> {
        body()
    }
    let (mut call, policy) = ::idem_runtime::__private::begin::<
        _,
        ::idem_runtime::__private::NoPolicy,
    >(guard, ::idem_runtime::__private::Options::NONE);
    {
        let call = &mut call;
        call.endpoint();
    }
    ::idem_runtime::__private::run(
            call,
            move |tx, lent| ::std::boxed::Box::pin(async move {
                let handler = create;
                let value = handler(
                        ::core::option::Option::unwrap(::core::option::Option::None),
                        tenant,
                        ::idem_runtime::__private::lend::<
                            Config,
                            ::idem_runtime::__private::NoPolicy,
                        >(lent, &policy),
                        ::core::option::Option::unwrap(::core::option::Option::None),
                    )
                    .await;
                let verdict = {
                    use ::idem_runtime::__private::LookAt as _;
                    (&&&&&::idem_runtime::__private::Look(&value)).look_at_answer()
                };
                {
                    ::core::mem::drop(value);
                    ::idem_runtime::__private::outcome(verdict, ())
                }
            }),
        )
        .await
}
