pub(crate) async fn create<
    T: ::core::marker::Send + 'static + Serialize,
    U,
    V: ::core::marker::Send + 'static,
    const N: usize,
>(
    guard: ::idem_runtime::__private::Guard<
        <Transaction<
            'static,
            Sqlite,
        > as ::idem_runtime::__private::Tx>::Db<::idem_runtime::__private::Once>,
        ::idem_runtime::__private::NoPolicy,
    >,
    filter: Query<U>,
    list: Json<Many<Cow<'static, str>, T, V, N>>,
) -> ::idem_runtime::__private::Response
where
    U: ::core::marker::Send + 'static + for<'c> Deserialize<'c>,
    Vec<V>: Read<'static>,
{
    async fn create<'a, 'b: 'a, T: Serialize, U, V, const N: usize>(
        tx: &'a mut Transaction<'b, Sqlite>,
        Query(filter): Query<U>,
        Json(list): Json<Many<Cow<'a, str>, T, V, N>>,
    ) -> Result<Json<Cow<'a, str>>, AppError>
    where
        'b: 'static,
        U: for<'c> Deserialize<'c>,
        Vec<V>: Read<'a>,
    {
        body()
    }
    let (mut call, _) = ::idem_runtime::__private::begin::<
        _,
        ::idem_runtime::__private::NoPolicy,
    >(
        guard,
        const {
            ::idem_runtime::__private::Options::NONE
                .record(::idem_runtime::__private::RecordRule::Success)
        },
    );
    {
        let call = &mut call;
        {
            call.fingerprint::<Query<U>>(&filter);
        }
        {
            call.fingerprint::<Json<Many<Cow<'static, str>, T, V, N>>>(&list);
        }
        call.global();
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
                        let handler = create::<T, U, V, N>;
                        let limit = ::idem_runtime::__private::Attempt::run_limit(
                            &attempt,
                        );
                        let outcome = {
                            let (tx, _) = ::idem_runtime::__private::Attempt::parts(
                                &mut attempt,
                            );
                            match ::idem_runtime::__private::execute(
                                    limit,
                                    handler(
                                        ::idem_runtime::__private::Lends::lend(tx),
                                        filter,
                                        list,
                                    ),
                                )
                                .await
                            {
                                ::core::result::Result::<
                                    Result<Json<Cow<'_, str>>, AppError>,
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
                                        Result<Json<Cow<'_, str>>, AppError>,
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
