#[idempotent(
    scope = "account = claims.account_id(), user.0.region, _shop, endpoint",
    record = "all",
    ttl = "1h",
    allow(short_ttl),
    crate = crate::vendored::idem_runtime
)]
async fn create(
    #[context] claims: Claims,
    Extension(user): Extension<User>,
    Path((mut order, _shop)): Path<(u64, String)>,
    mut tx: &mut Transaction<'_, Sqlite>,
) -> impl IntoResponse {
    body()
}
