use idem_runtime::Inert;

#[derive(Inert)]
struct AppState {
    #[inert(trustd)]
    name: String,
}

fn main() {}
