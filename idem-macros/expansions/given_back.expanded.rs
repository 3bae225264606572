::core::compile_error! {
    "an `#[idempotent]` handler has no `self`\n= help: take what it needs of `self` as an extractor, for example `State`"
}
::core::compile_error! {
    "an `#[idempotent]` handler must take the transaction it runs in\n= help: add the argument `tx: &mut sqlx::PgConnection`"
}
async fn create(&self, tenant: TenantId, req: Request) -> String {
    body()
}
