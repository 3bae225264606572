//! The example `payments`: money moves at a provider that no rollback reaches, and processes are killed in between.
//!
//! The provider, the mail service and the load balancer live in the test and outlive the service, which is a process of
//! its own (`payments serve`) and is killed by `kill -9`.

mod after_commit;
mod direct;
mod killed;
mod outbox;
mod shop;
mod stub;

/// Makes two tests of each of these functions, which take a shop on either database.
macro_rules! in_shops_on_both_databases {
    ($($promise:ident)*) => {
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                use $crate::shop::Shop;
                idem_tests::bench::run_on_own_database(async |bench| {
                    super::$promise(&Shop::open(bench, bench.place.url(None)).await).await;
                })
                .await;
            })*
        }
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                use $crate::shop::Shop;
                idem_tests::bench::run::<sqlx::Sqlite>(async |bench| {
                    super::$promise(&Shop::open(bench, bench.place.url()).await).await;
                })
                .await;
            })*
        }
    };
}
use in_shops_on_both_databases;

/// The program of the example.
const PROGRAM: &str = env!("CARGO_BIN_EXE_payments");
