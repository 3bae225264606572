use idem_runtime::ScopeValue;

#[derive(ScopeValue)]
struct TenantId {
    region: String,
    id: String,
}

fn main() {}
