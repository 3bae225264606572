#[derive(Inert)]
#[inert(crate = idem)]
enum AppState<'a, T, const N: usize>
where
    T: Clone,
{
    Empty,
    Limits(&'a str, [T; N], Option<Arc<Self>>),
    Shared {
        name: String,
        #[inert(trusted)]
        pool: PgPool,
    },
}
