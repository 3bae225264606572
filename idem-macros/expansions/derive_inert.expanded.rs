#[automatically_derived]
impl<'a, T, const N: usize> idem::Inert for AppState<'a, T, N>
where
    T: Clone,
    [T; N]: idem::Inert,
{}
#[allow(dead_code)]
const _: () = {
    const fn is_inert<T: ?::core::marker::Sized + idem::Inert>() {}
    const fn fields<'a, T, const N: usize>()
    where
        T: Clone,
        [T; N]: idem::Inert,
    {
        is_inert::<&'a str>();
        is_inert::<Option<Arc<AppState<'a, T, N>>>>();
        is_inert::<String>();
    }
};
