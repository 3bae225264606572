#[automatically_derived]
impl<'a, T, const N: usize> idem::__private::Inert for AppState<'a, T, N>
where
    T: Clone,
    [T; N]: idem::__private::Inert,
{}
#[allow(dead_code)]
const _: () = {
    const fn is_inert<T: ?::core::marker::Sized + idem::__private::Inert>() {}
    const fn fields<'a, T, const N: usize>()
    where
        T: Clone,
        [T; N]: idem::__private::Inert,
    {
        is_inert::<&'a str>();
        is_inert::<Option<Arc<AppState<'a, T, N>>>>();
        is_inert::<String>();
    }
};
