use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
struct Orders;

fn main() {}
