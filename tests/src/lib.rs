//! The harness of the contract suite, and the suite itself.
//!
//! Each test has an empty database of its own ([`mod@bench`]), serves routers on real sockets ([`server`]) and
//! talks to them byte by byte ([`http`]). A race is made with a gate in a handler, or with a proxy before
//! PostgreSQL ([`proxy`]); every wait ends ([`patience`]). [`mod@contract`] holds what is promised on every
//! database; `tests/postgres.rs` and `tests/sqlite.rs` run it. [`mod@history`] plays random histories with faults.

#![expect(clippy::result_large_err, reason = "handlers answer with whole responses, failed or not")]

pub mod bench;
pub mod both;
pub mod clients;
pub mod consumer;
pub mod contract;
pub mod database;
pub mod faults;
pub mod hand;
pub mod history;
pub mod http;
pub mod http_proxy;
pub mod own_server;
pub mod patience;
pub mod problem;
pub mod process;
pub mod proxy;
pub mod random;
pub mod same;
pub mod scripted;
pub mod sending;
pub mod server;
pub mod shape;
pub mod spans;
mod spared;
pub mod stream;
pub mod tags;
pub mod ways;
