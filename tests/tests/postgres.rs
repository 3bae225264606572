//! The contract on PostgreSQL.

idem_tests::contract!(sqlx::Postgres);
