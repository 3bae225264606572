#[expect(clippy::unused_async)]
#[cfg(unix)]
pub async fn create<T: ::core::marker::Send + 'static + Deserialize>(
    guard: ::idem_runtime::__private::Guard<
        <PgConnection as ::idem_runtime::__private::Tx>::Db<
            ::idem_runtime::__private::Once,
        >,
        ::idem_runtime::__private::NoPolicy,
    >,
    tenant: Self,
    req: Json<T>,
) -> ::idem_runtime::__private::Response {
    let (mut call, _) = ::idem_runtime::__private::begin::<
        _,
        ::idem_runtime::__private::NoPolicy,
    >(guard, const { ::idem_runtime::__private::Options::NONE });
    {
        let call = &mut call;
        {
            call.fingerprint::<Json<T>>(&req);
        }
        {
            let tenant = &tenant;
            call.scope("tenant", tenant);
        }
        call.endpoint();
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
                        let handler = Self::create_inner::<T>;
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
                                        tenant,
                                        req,
                                    ),
                                )
                                .await
                            {
                                ::core::result::Result::<Json<Self>, _>::Ok(value) => {
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
                                        Json<Self>,
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
///`create` as it was written, without `#[idempotent]`.
///
#[allow(clippy::unused_async)]
#[cfg(unix)]
pub async fn create_inner<T: Deserialize>(
    tx: &mut PgConnection,
    #[allow(unused_variables)]
    tenant: Self,
    Json(req): Json<T>,
) -> Json<Self> {
    body()
}
