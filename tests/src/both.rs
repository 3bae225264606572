//! Promises that hold on both databases and are no part of the contract: they concern more than the library, as what a
//! layer or a client does with it.

/// Makes two tests of each of these functions, which are generic over the database as those of the contract are.
#[macro_export]
macro_rules! on_both_databases {
    ($($promise:ident)*) => {
        mod on_postgres {
            $crate::on_both_databases!(::sqlx::Postgres: $($promise)*);
        }
        mod on_sqlite {
            $crate::on_both_databases!(::sqlx::Sqlite: $($promise)*);
        }
    };
    ($database:ty: $($promise:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $promise() {
            $crate::bench::run::<$database>(super::$promise::<$database>).await;
        })*
    };
}
