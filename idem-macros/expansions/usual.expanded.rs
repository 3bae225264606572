/// Creates an order.
pub async fn create(
    guard: ::idem_runtime::__private::Guard<
        <PgConnection as ::idem_runtime::__private::Tx>::Db<
            ::idem_runtime::__private::Once,
        >,
        ::idem_runtime::__private::NoPolicy,
    >,
    tenant: TenantId,
    req: Json<CreateOrder>,
) -> ::idem_runtime::__private::Response {
    async fn create(
        tx: &mut PgConnection,
        #[allow(unused_variables)]
        tenant: TenantId,
        Json(req): Json<CreateOrder>,
    ) -> Result<(StatusCode, Json<Order>), AppError> {
        let order = insert_order(&mut *tx, &tenant, &req).await?;
        Ok((StatusCode::CREATED, Json(order)))
    }
    let (mut call, _) = ::idem_runtime::__private::begin::<
        _,
        ::idem_runtime::__private::NoPolicy,
    >(guard, ::idem_runtime::__private::Options::NONE.ttl(172800u64));
    {
        let call = &mut call;
        {
            call.fingerprint::<Json<CreateOrder>>(&req);
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
                let handler = create;
                let value = handler(
                        ::idem_runtime::__private::Lends::lend(tx),
                        tenant,
                        req,
                    )
                    .await;
                let verdict = {
                    use ::idem_runtime::__private::LookAt as _;
                    (&&&&&::idem_runtime::__private::Look(&value)).look_at_answer()
                };
                ::idem_runtime::__private::outcome::<
                    Result<(StatusCode, Json<Order>), AppError>,
                >(verdict, value)
            }),
        )
        .await
}
