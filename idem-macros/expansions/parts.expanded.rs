async fn create(
    guard: crate::vendored::idem_runtime::__private::Guard<
        <Transaction<
            'static,
            Sqlite,
        > as crate::vendored::idem_runtime::__private::Tx>::Db<
            crate::vendored::idem_runtime::__private::Once,
        >,
        crate::vendored::idem_runtime::__private::NoPolicy,
    >,
    claims: Claims,
    user: Extension<User>,
    arg2: Path<(u64, String)>,
) -> crate::vendored::idem_runtime::__private::Response {
    async fn create(
        #[allow(unused_variables)]
        claims: Claims,
        #[allow(unused_variables)]
        Extension(user): Extension<User>,
        #[allow(unused_variables)]
        Path((mut order, _shop)): Path<(u64, String)>,
        mut tx: &mut Transaction<'_, Sqlite>,
    ) -> impl IntoResponse {
        body()
    }
    let (mut call, _) = crate::vendored::idem_runtime::__private::begin::<
        _,
        crate::vendored::idem_runtime::__private::NoPolicy,
    >(
        guard,
        crate::vendored::idem_runtime::__private::Options::NONE
            .record(crate::vendored::idem_runtime::__private::RecordRule::All)
            .ttl(3600u64),
    );
    {
        let call = &mut call;
        {
            call.fingerprint::<Extension<User>>(&user);
        }
        {
            call.fingerprint::<Path<(u64, String)>>(&arg2);
        }
        {
            let claims = &claims;
            call.scope("account", &claims.account_id());
        }
        {
            let Extension(user) = &user;
            call.scope("region", &user.0.region);
        }
        {
            let Path((_, value)) = &arg2;
            call.scope("_shop", value);
        }
        call.endpoint();
    }
    crate::vendored::idem_runtime::__private::run(
            call,
            move |tx, _| ::std::boxed::Box::pin(async move {
                let handler = create;
                let value = handler(
                        claims,
                        user,
                        arg2,
                        crate::vendored::idem_runtime::__private::Lends::lend(tx),
                    )
                    .await;
                let verdict = {
                    use crate::vendored::idem_runtime::__private::LookAt as _;
                    (&&&&&crate::vendored::idem_runtime::__private::Look(&value))
                        .look_at_answer()
                };
                crate::vendored::idem_runtime::__private::outcome(verdict, value)
            }),
        )
        .await
}
