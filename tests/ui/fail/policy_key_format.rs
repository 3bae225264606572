use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", key_format = "ulid")]
struct PublicApi;

fn main() {}
