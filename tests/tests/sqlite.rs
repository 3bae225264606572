//! The contract on SQLite.

idem_tests::contract!(sqlx::Sqlite);
