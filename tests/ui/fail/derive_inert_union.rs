use idem_runtime::Inert;

#[derive(Inert)]
union AppState {
    number: u64,
}

fn main() {}
