#[idempotent(scope = "global", record = "success")]
pub(crate) async fn create<'a, 'b: 'a, T: Serialize, U, V, const N: usize>(
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
