#[idempotent(scope = "tenant,endpoint", inner = "Self::create_inner")]
#[expect(clippy::unused_async)]
#[cfg(unix)]
pub async fn create<T: Deserialize>(tx: &mut PgConnection, tenant: Self, Json(req): Json<T>) -> Json<Self> {
    body()
}
