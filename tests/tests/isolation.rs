//! The contract at the levels above READ COMMITTED: what a client sees is the same.

mod repeatable_read {
    idem_tests::contract!(sqlx::Postgres, |builder| builder
        .isolation(idem_runtime::Isolation::RepeatableRead));
}

mod serializable {
    idem_tests::contract!(sqlx::Postgres, |builder| builder.isolation(idem_runtime::Isolation::Serializable));
}
