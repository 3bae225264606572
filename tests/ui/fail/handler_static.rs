use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
const CREATE: fn() = main;

fn main() {}
