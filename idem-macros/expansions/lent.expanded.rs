async fn create(
    guard: ::idem_runtime::__private::Guard<
        <PgConnection as ::idem_runtime::__private::Tx>::Db<
            ::idem_runtime::__private::Once,
        >,
        api::Shared<Tenant>,
    >,
    version: Version,
    event: ::idem_runtime::__private::Received<Json<Event>>,
) -> ::idem_runtime::__private::Response {
    async fn create(
        api: &api::Shared<Tenant>,
        tx: &mut PgConnection,
        version: Version,
        execution: &Execution,
        #[allow(unused_variables)]
        Json(event): Json<Event>,
    ) -> Result<Json<Order>, AppError> {
        body()
    }
    let (mut call, policy) = ::idem_runtime::__private::begin::<
        _,
        api::Shared<Tenant>,
    >(
        guard,
        ::idem_runtime::__private::Options::NONE
            .in_progress(::idem_runtime::__private::InProgress::Wait {
                limit_ms: 10000u32,
                then: 503u16,
            })
            .endpoint("orders.create")
            .required(false),
    );
    {
        let call = &mut call;
        {
            ::idem_runtime::__private::Door::of(&version).lets_through();
            let with: fn(&Version, &mut ::idem_runtime::__private::Fingerprinter) = versions::only_major;
            with(&version, call.fingerprinter());
        }
        {
            ::idem_runtime::__private::Door::of(
                    ::idem_runtime::__private::Received::as_inner(&event),
                )
                .lets_through();
            call.received::<Json<Event>>(&event);
        }
        {
            let Json(event) = ::idem_runtime::__private::Received::as_inner(&event);
            call.key(&event.id);
        }
    }
    ::idem_runtime::__private::run(
            call,
            move |tx, lent| ::std::boxed::Box::pin(async move {
                let handler = create;
                let value = handler(
                        ::idem_runtime::__private::lend::<
                            api::Shared<Tenant>,
                            api::Shared<Tenant>,
                        >(lent, &policy),
                        ::idem_runtime::__private::Lends::lend(tx),
                        version,
                        ::idem_runtime::__private::lend::<
                            Execution,
                            api::Shared<Tenant>,
                        >(lent, &policy),
                        event.into_inner(),
                    )
                    .await;
                let verdict = {
                    use ::idem_runtime::__private::LookAt as _;
                    (&&&&&::idem_runtime::__private::Look(&value)).look_at_answer()
                };
                ::idem_runtime::__private::outcome::<
                    Result<Json<Order>, AppError>,
                >(verdict, value)
            }),
        )
        .await
}
