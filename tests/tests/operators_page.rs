//! The SQL of `docs/operations.md` is run as it stands there, and finds what the page says.

use std::collections::BTreeMap;

use idem_tests::bench::{Bench, run};
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::http::r1;
use idem_tests::same::assert_ran;
use idem_tests::tags::read;
use sqlx::{AssertSqlSafe, Executor, Postgres, Sqlite};

/// The statements for one database, by the title that their first line gives them.
fn statements(database: &str) -> BTreeMap<String, String> {
    let page = read("docs/operations.md");
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().expect("a block ends"));
    let titled = blocks.map(|block| {
        let (first, sql) = block.split_once('\n').expect("a title and a statement");
        let title = first.strip_prefix("-- ").and_then(|title| title.split_once(": "));
        let (database, title) = title.unwrap_or_else(|| panic!("{first}: `-- Database: title`"));
        assert!(["PostgreSQL", "SQLite"].contains(&database), "{first}");
        (database, title.to_owned(), sql.to_owned())
    });
    let own = titled.filter(|(of, ..)| *of == database);
    own.map(|(_, title, sql)| (title, sql)).collect()
}

/// Runs the page's statements one by one, each on the table that it is written for, and gives the number of rows that
/// each returned or touched.
async fn run_all<DB: TestDatabase>(
    bench: &Bench<DB>,
    statements: &BTreeMap<String, String>,
) -> BTreeMap<String, usize>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    let mut found = BTreeMap::new();
    for (title, sql) in statements {
        fill(bench).await;
        let mut connection = bench.place.pool().acquire().await.expect("a connection");
        let rows = connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql.clone()))).await;
        let rows = rows.unwrap_or_else(|error| panic!("{title}: {error}"));
        found.insert(title.clone(), rows.len());
        drop(connection);
        let deleted = 9 - bench.count_keys().await;
        if deleted > 0 {
            found.insert(title.clone(), usize::try_from(deleted).expect("no more than there were"));
        }
    }
    found
}

/// Nine rows: R1's, two that need a person, two messages, four that have expired.
async fn fill<DB: TestDatabase>(bench: &Bench<DB>) {
    let table = bench.place.key_table();
    let server = bench.start().await;
    bench.place.execute(&format!("DELETE FROM {table}")).await;
    assert_ran(&server.send(&r1()).await, 201);
    bench.fill("broken", 2, 3600).await;
    bench.fill("received", 2, 3600).await;
    bench.fill("expired", 4, -1).await;
    let without = "response_status = NULL, response_headers = NULL, response_body = NULL";
    for (prefix, also) in [("broken", ", completed_at = NULL"), ("received", "")] {
        bench.place.execute(&format!("UPDATE {table} SET {without}{also} WHERE key LIKE '{prefix}%'")).await;
    }
}

/// What both databases find.
const FOUND: [(&str, usize); 6] = [
    ("the rows of a key", 1),
    ("the row of an id", 1),
    ("rows that need reconciliation", 2),
    ("messages that were received", 2),
    ("what is left to sweep", 1),
    ("forget a key", 1),
];

fn expected(also: &[(&str, usize)]) -> BTreeMap<String, usize> {
    FOUND.iter().chain(also).map(|(title, rows)| ((*title).to_owned(), *rows)).collect()
}

#[tokio::test]
async fn every_statement_for_postgresql_finds_what_the_page_says() {
    run(async |bench: &Bench<Postgres>| {
        drop(bench.start().await);
        let role = bench.place.role_with_the_tables().await;
        let statements = statements("PostgreSQL").into_iter();
        let statements =
            statements.map(|(title, sql)| (title, sql.replace("orders_service", &role))).collect();

        let found = run_all(bench, &statements).await;

        let also = [
            ("the row of a key, by the id that its scope and key make", 1),
            ("size of the table", 1),
            ("vacuum more often, less at a time", 0),
            ("grants for requests", 0),
            ("grants for the sweeper and for forgetting", 0),
        ];
        assert_eq!(found, expected(&also));
    })
    .await;
}

#[tokio::test]
async fn every_statement_for_sqlite_finds_what_the_page_says() {
    run(async |bench: &Bench<Sqlite>| {
        let found = run_all(bench, &statements("SQLite")).await;

        assert_eq!(found, expected(&[("size of the file", 1)]));
    })
    .await;
}
