#[idempotent(scope = "tenant,endpoint")]
async fn create(&self, #[context] tenant: TenantId, #[fingerprint(skip)] req: Request) -> String {
    body()
}
