#[idempotent(scope = "tenent,endpoint", ttl = "24 hours", record = "decide", expires = "1h")]
fn create(
    tx: PgTransaction<'_>,
    tenant: TenantId,
    config: &Config,
    upload: Multipart,
) -> Result<Sse<Events>, AppError> {
    body()
}
