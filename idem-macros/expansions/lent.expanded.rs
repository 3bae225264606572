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
        const {
            ::idem_runtime::__private::Options::NONE
                .in_progress(::idem_runtime::__private::InProgress::Wait {
                    limit_ms: 10000u32,
                    then: 503u16,
                })
                .endpoint("orders.create")
                .required(false)
        },
    );
    {
        let call = &mut call;
        {
            ::idem_runtime::__private::Door::of(&version).lets_through();
            let with: fn(&Version, &mut ::idem_runtime::__private::Fingerprinter) = versions::only_major;
            with(&version, call.fingerprinter());
        }
        {
            call.received::<Json<Event>>(&event);
        }
        {
            let Json(event) = ::idem_runtime::__private::Received::as_inner(&event);
            call.key(&event.id);
        }
    }
    let (mut run, mut held) = match call.admit().await {
        ::idem_runtime::__private::Admitted::Run(run, held) => (run, held),
        ::idem_runtime::__private::Admitted::Done(response) => return response,
    };
    ::idem_runtime::__private::Run::tasks(&run)
        .detach(async move {
            let ended = {
                let reserved = loop {
                    match run.reserve(&mut held).await {
                        ::core::ops::ControlFlow::Break(reserved) => break reserved,
                        ::core::ops::ControlFlow::Continue(again) => run = again,
                    }
                };
                match reserved {
                    ::idem_runtime::__private::Reserved::Run(mut attempt) => {
                        let handler = create;
                        let limit = ::idem_runtime::__private::Attempt::run_limit(
                            &attempt,
                        );
                        let outcome = {
                            let (tx, lent) = ::idem_runtime::__private::Attempt::parts(
                                &mut attempt,
                            );
                            match ::idem_runtime::__private::execute(
                                    limit,
                                    handler(
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
                                    ),
                                )
                                .await
                            {
                                ::core::result::Result::<
                                    Result<Json<Order>, AppError>,
                                    _,
                                >::Ok(value) => {
                                    let verdict = {
                                        #[allow(unused_imports)]
                                        use ::idem_runtime::__private::{
                                            AtTransient as _, AtError as _, AtAnyhow as _,
                                            AtResult as _, AtAny as _,
                                        };
                                        (&&&&&::idem_runtime::__private::Look(&value))
                                            .look_at_answer()
                                    };
                                    ::idem_runtime::__private::outcome::<
                                        Result<Json<Order>, AppError>,
                                    >(verdict, value)
                                }
                                ::core::result::Result::Err(stop) => {
                                    ::idem_runtime::__private::Outcome::stopped(stop)
                                }
                            }
                        };
                        match attempt.record(outcome).await {
                            ::idem_runtime::__private::Recorded::Commit(commit) => {
                                commit.finalize().await
                            }
                            ::idem_runtime::__private::Recorded::Ended(ended) => ended,
                        }
                    }
                    ::idem_runtime::__private::Reserved::Ended(ended) => ended,
                }
            };
            ended.answer(held).await
        })
        .await
}
