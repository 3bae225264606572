#[derive(ScopeValue)]
struct TenantId<T> {
    id: Arc<T>,
}
