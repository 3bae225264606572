use idem_runtime::ScopeValue;

#[derive(ScopeValue)]
struct Weight(f64);

fn main() {}
