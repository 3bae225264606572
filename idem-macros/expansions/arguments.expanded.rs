async fn create(
    guard: ::idem_runtime::__private::Guard<
        <PgTransaction<
            'static,
        > as ::idem_runtime::__private::Tx>::Db<::idem_runtime::__private::Once>,
        ::idem_runtime::__private::NoPolicy,
    >,
    trace: Query<Trace>,
    app: State<App>,
    #[cfg(feature = "audit")]
    audit: Extension<Audit>,
    arg4: HeaderMap,
    arg5: Session,
    arg6: Create,
    arg7: Json<Order>,
) -> ::idem_runtime::__private::Response {
    async fn create(
        tx: &mut PgTransaction<'_>,
        Query(trace): Query<Trace>,
        State(app): State<App>,
        #[cfg(feature = "audit")]
        #[expect(unused)]
        Extension(audit): Extension<Audit>,
        _: HeaderMap,
        _session: Session,
        create: Create,
        Json(Order { item, qty }): Json<Order>,
    ) {
        body()
    }
    let (mut call, _) = ::idem_runtime::__private::begin::<
        _,
        ::idem_runtime::__private::NoPolicy,
    >(guard, ::idem_runtime::__private::Options::NONE);
    {
        let call = &mut call;
        {
            ::idem_runtime::__private::Door::of(&trace).lets_through();
        }
        #[cfg(feature = "audit")]
        {
            call.fingerprint::<Extension<Audit>>(&audit);
        }
        {
            call.fingerprint::<HeaderMap>(&arg4);
        }
        {
            call.fingerprint::<Session>(&arg5);
        }
        {
            call.fingerprint::<Create>(&arg6);
        }
        {
            call.fingerprint::<Json<Order>>(&arg7);
        }
        call.endpoint();
    }
    ::idem_runtime::__private::run(
            call,
            move |tx, _| ::std::boxed::Box::pin(async move {
                let handler = create;
                let value = handler(
                        ::idem_runtime::__private::Lends::lend(tx),
                        trace,
                        app,
                        #[cfg(feature = "audit")]
                        audit,
                        arg4,
                        arg5,
                        arg6,
                        arg7,
                    )
                    .await;
                let verdict = {
                    use ::idem_runtime::__private::LookAt as _;
                    (&&&&&::idem_runtime::__private::Look(&value)).look_at_answer()
                };
                ::idem_runtime::__private::outcome(verdict, value)
            }),
        )
        .await
}
