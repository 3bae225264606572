//! The contract on PostgreSQL.

idem_tests::contract!(sqlx::Postgres);

/// The contract once more, as on servers that have neither advisory locks nor `xmin` (Z-11).
mod without_locks_and_xmin {
    idem_tests::contract!(sqlx::Postgres, |builder| builder.advisory_locks(false).xmin_check(false));
}
