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
        ::idem_runtime::__private::Options::NONE
            .record(::idem_runtime::__private::RecordRule::Success),
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
    ::idem_runtime::__private::run(
            call,
            move |tx, _| ::std::boxed::Box::pin(async move {
                let handler = create::<T, U, V, N>;
                let value = handler(
                        ::idem_runtime::__private::Lends::lend(tx),
                        filter,
                        list,
                    )
                    .await;
                let verdict = {
                    use ::idem_runtime::__private::LookAt as _;
                    (&&&&&::idem_runtime::__private::Look(&value)).look_at_answer()
                };
                ::idem_runtime::__private::outcome::<
                    Result<Json<Cow<'_, str>>, AppError>,
                >(verdict, value)
            }),
        )
        .await
}
