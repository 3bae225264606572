//! The table that holds the key rows.

use std::error::Error;
use std::fmt;

/// Longest part of a table's name, in bytes: PostgreSQL keeps 63, and the index adds `_expires_at`.
const MAX_PART_LEN: usize = 52;

/// A validated table name with its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    schema: String,
    name: String,
    qualified: String,
}

impl Table {
    /// Name of the table if the builder is not told another.
    pub(crate) const DEFAULT_NAME: &str = "idempotency_keys";

    /// Reads `table` or `schema.table`; without a schema, `default_schema` is meant.
    ///
    /// # Errors
    /// [`TableNameError`] if a part is empty, longer than 52 bytes, or not `[A-Za-z_][A-Za-z0-9_]*`.
    pub(crate) fn parse(written: &str, default_schema: &str) -> Result<Self, TableNameError> {
        let (schema, name) = written.split_once('.').unwrap_or((default_schema, written));
        if !is_plain(schema) || !is_plain(name) {
            return Err(TableNameError { written: written.to_owned() });
        }
        Ok(Self {
            schema: schema.to_owned(),
            name: name.to_owned(),
            qualified: format!("\"{schema}\".\"{name}\""),
        })
    }

    /// The schema and the name, quoted, as they stand in SQL. Part of the advisory lock's id, so it never changes.
    pub(crate) fn qualified(&self) -> &str {
        &self.qualified
    }

    /// The migration's text for this table. `index` says how the database names the schema of an index.
    pub(crate) fn migration(&self, sql: &str, index: IndexSchema) -> String {
        let index_name = match index {
            IndexSchema::OfItsTable => format!("\"{}_expires_at\"", self.name),
            IndexSchema::OnTheIndex => format!("\"{}\".\"{}_expires_at\"", self.schema, self.name),
        };
        let indexed = match index {
            IndexSchema::OfItsTable => self.qualified.clone(),
            IndexSchema::OnTheIndex => format!("\"{}\"", self.name),
        };
        sql.replace("idempotency_keys_expires_at ON idempotency_keys", &format!("{index_name} ON {indexed}"))
            .replace(" idempotency_keys (", &format!(" {} (", self.qualified))
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Where a database wants the schema of an index.
#[derive(Debug, Clone, Copy)]
pub(crate) enum IndexSchema {
    /// PostgreSQL: the index lives in its table's schema and is named without one.
    OfItsTable,
    /// SQLite: the schema stands before the index, and the table is named without one.
    OnTheIndex,
}

/// Whether `part` needs no quoting and no thought.
fn is_plain(part: &str) -> bool {
    let mut bytes = part.bytes();
    part.len() <= MAX_PART_LEN
        && bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A table name that the builder refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableNameError {
    written: String,
}

impl fmt::Display for TableNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a table name: write `table` or `schema.table`, each part of ASCII letters, digits and `_`, \
             not beginning with a digit, at most {MAX_PART_LEN} bytes long",
            self.written
        )
    }
}

impl Error for TableNameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_schema_gets_the_default_one() {
        let table = Table::parse("idempotency_keys", "public").unwrap();

        assert_eq!(table.qualified(), "\"public\".\"idempotency_keys\"");
    }

    #[test]
    fn a_name_that_would_need_quoting_is_refused() {
        let too_long = "k".repeat(MAX_PART_LEN + 1);
        for written in ["", ".", "a.", ".a", "a.b.c", "1a", "a b", "a\"b", "a;b", "ä", &too_long] {
            assert!(Table::parse(written, "public").is_err(), "{written:?}");
        }
    }

    #[test]
    fn a_migration_names_the_table_and_its_index() {
        let table = Table::parse("app.keys", "public").unwrap();
        let sql = "CREATE TABLE IF NOT EXISTS idempotency_keys (\nCREATE INDEX IF NOT EXISTS \
                   idempotency_keys_expires_at ON idempotency_keys (expires_at);";

        let postgres = table.migration(sql, IndexSchema::OfItsTable);
        let sqlite = table.migration(sql, IndexSchema::OnTheIndex);

        assert_eq!(
            postgres,
            "CREATE TABLE IF NOT EXISTS \"app\".\"keys\" (\nCREATE INDEX IF NOT EXISTS \"keys_expires_at\" ON \
             \"app\".\"keys\" (expires_at);"
        );
        assert_eq!(
            sqlite,
            "CREATE TABLE IF NOT EXISTS \"app\".\"keys\" (\nCREATE INDEX IF NOT EXISTS \"app\".\"keys_expires_at\" \
             ON \"keys\" (expires_at);"
        );
    }
}
