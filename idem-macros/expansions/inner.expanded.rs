#[allow(clippy::unused_async)]
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
    >(guard, ::idem_runtime::__private::Options::NONE);
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
    ::idem_runtime::__private::run(
            call,
            move |tx, _| ::std::boxed::Box::pin(async move {
                let handler = Self::create_inner::<T>;
                let value = ::core::convert::identity::<
                    Json<Self>,
                >(
                    handler(::idem_runtime::__private::Lends::lend(tx), tenant, req)
                        .await,
                );
                let verdict = {
                    use ::idem_runtime::__private::LookAt as _;
                    (&&&&&::idem_runtime::__private::Look(&value)).look_at_answer()
                };
                ::idem_runtime::__private::outcome::<Json<Self>>(verdict, value)
            }),
        )
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
