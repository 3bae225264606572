use idem_runtime::ScopeValue;

#[derive(ScopeValue)]
struct TenantId(Option<String>);

fn main() {}
