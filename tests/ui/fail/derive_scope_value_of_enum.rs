use idem_runtime::ScopeValue;

#[derive(ScopeValue)]
enum Region {
    North,
    South,
}

fn main() {}
