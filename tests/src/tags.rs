//! Tags: what a comment above a test says that the test shows.
//!
//! A tag is a line of its own, above the function and its attributes. The function is a test itself (an attribute
//! ending in `test`), or a part of the contract suite, which then has to be named somewhere else too, by the list that
//! runs it. Each kind of tag has a page in `docs/` whose tables list the numbers and say which of them have a test.
//! CONTRIBUTING.md says so to authors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A kind of tag, and the page that lists its numbers.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The word before the colon.
    pub label: &'static str,
    /// A tag as it should be.
    pub form: &'static str,
    /// Whether a text is a number of this kind.
    pub is_number: fn(&str) -> bool,
    /// The page, from the workspace's root.
    pub page: &'static str,
}

/// The numbered cases of the protocol.
pub const CASES: Kind = Kind {
    label: "Cases",
    form: "// Cases: R-01, R-02",
    is_number: |text| {
        matches!(text.as_bytes(), [letter, b'-', tens, ones]
            if letter.is_ascii_uppercase() && tens.is_ascii_digit() && ones.is_ascii_digit())
    },
    page: "docs/protocol.md",
};

/// The faults that users of other libraries reported.
pub const REPORTS: Kind = Kind {
    label: "Reports",
    form: "// Reports: B01, B42",
    is_number: |text| matches!(text.as_bytes(), [b'B' | b'U', tens, ones] if tens.is_ascii_digit() && ones.is_ascii_digit()),
    page: "docs/field-reports.md",
};

/// What the second column of a row says about its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has a test.
    Covered,
    /// It has none yet, and needs none.
    Later,
}

/// A row of a page's tables that begins with a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its second cell.
    pub status: Status,
    /// Its last cell.
    pub last: String,
}

/// A function under a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// Its name.
    pub function: String,
    /// What the tag names.
    pub numbers: Vec<String>,
    /// Whether it has the attribute of a test.
    pub is_test: bool,
}

/// A Rust file of the workspace.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path from the workspace's root.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl Kind {
    /// The numbered rows of this kind's page.
    ///
    /// # Errors
    /// What is wrong with the page.
    pub fn rows(&self, page: &str) -> Result<BTreeMap<String, Row>, String> {
        let mut rows = BTreeMap::new();
        for line in page.lines() {
            let cells: Vec<_> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
            let [number, status, .., last] = cells.as_slice() else { continue };
            if !(self.is_number)(number) {
                continue;
            }
            let status = match *status {
                "covered" => Status::Covered,
                "later" => Status::Later,
                other => return Err(format!("{number} is `{other}`, neither `covered` nor `later`")),
            };
            let row = Row { status, last: (*last).to_owned() };
            if rows.insert((*number).to_owned(), row).is_some() {
                return Err(format!("{number} is listed twice"));
            }
        }
        Ok(rows)
    }

    /// The functions of one source file that have a tag of this kind.
    ///
    /// # Errors
    /// The line of a tag that cannot be read, and why.
    pub fn tagged(&self, source: &str) -> Result<Vec<Tagged>, String> {
        let mut found = Vec::new();
        let prefix = format!("// {}: ", self.label);
        let mut lines = source.lines().map(str::trim).zip(1..);
        while let Some((line, at)) = lines.next() {
            let label = line.strip_prefix("//").and_then(|comment| comment.split_once(':'));
            if label.is_none_or(|(label, _)| label.trim_start() != self.label) {
                continue;
            }
            let numbers = line.strip_prefix(&prefix).map(|list| list.split(", ").collect::<Vec<_>>());
            let Some(numbers) = numbers.filter(|list| list.iter().all(|number| (self.is_number)(number)))
            else {
                return Err(format!("line {at}: not of the form `{}`", self.form));
            };

            let mut is_test = false;
            // Another tag may stand between, so nothing is taken from the lines that the loop goes on with.
            let mut below = lines.clone();
            let function = loop {
                let Some((line, _)) = below.next() else { break None };
                if let Some(attribute) = line.strip_prefix("#[") {
                    let name = attribute.split(['(', ']']).next().unwrap_or_default();
                    is_test |= name.rsplit("::").next().is_some_and(|last| last.ends_with("test"));
                    if name.trim_start().starts_with("ignore") {
                        return Err(format!("line {at}: a test that is ignored covers nothing"));
                    }
                } else if !line.starts_with("//") {
                    break defined_function(line);
                }
            };
            let Some(function) = function else {
                return Err(format!("line {at}: no function follows the tag"));
            };
            found.push(Tagged {
                function: function.to_owned(),
                numbers: numbers.into_iter().map(str::to_owned).collect(),
                is_test,
            });
        }
        Ok(found)
    }

    /// Everything that is wrong between this kind's page and the sources.
    #[must_use]
    pub fn complaints(&self, page: &str, sources: &[Source]) -> Vec<String> {
        let rows = match self.rows(page) {
            Ok(rows) => rows,
            Err(complaint) => return vec![format!("{}: {complaint}", self.page)],
        };
        let mut complaints = Vec::new();
        let mut shown = BTreeSet::new();
        for Source { path, text } in sources {
            let tagged = match self.tagged(text) {
                Ok(tagged) => tagged,
                Err(complaint) => {
                    complaints.push(format!("{path}: {complaint}"));
                    continue;
                }
            };
            for Tagged { function, numbers, is_test } in tagged {
                let is_run = is_test
                    || sources.iter().map(|source| mentions(&source.text, &function)).sum::<usize>() > 1;
                if !is_run {
                    complaints
                        .push(format!("{path}: `{function}` is tagged, but is no test and nothing names it"));
                }
                for number in numbers {
                    if !rows.contains_key(&number) {
                        let page = self.page;
                        complaints.push(format!("{path}: `{function}` names {number}, which {page} has not"));
                    }
                    shown.insert(number);
                }
            }
        }
        for (number, row) in rows {
            if row.status == Status::Covered && !shown.contains(&number) {
                let page = self.page;
                complaints.push(format!("{page}: {number} is marked covered, but no test is tagged with it"));
            }
        }
        complaints
    }
}

/// The name of the function that `line` begins to define.
#[must_use]
pub fn defined_function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "async", "const"];
    let name = after.split(['(', '<']).next()?.trim();
    (before.split_whitespace().all(|word| qualifiers.contains(&word)) && !name.is_empty()).then_some(name)
}

/// How often `name` stands in `text` as a whole word.
fn mentions(text: &str, name: &str) -> usize {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    text.match_indices(name)
        .filter(|(at, _)| {
            let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
            !is_word(before) && !is_word(text.as_bytes().get(at + name.len()))
        })
        .count()
}

/// The directory of the workspace.
///
/// # Panics
/// Never: the package lies in it.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

/// The text of a file of the workspace.
///
/// # Panics
/// If it cannot be read.
#[must_use]
pub fn read(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file in which a tag may stand, except what cargo built.
///
/// # Panics
/// If one cannot be read.
#[must_use]
pub fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    for package in ["tests", "idem-client", "idem-runtime", "idem-macros", "examples"] {
        rust_files(&root().join(package), &mut paths);
    }
    paths.sort();
    let source = |path: &PathBuf| {
        let path = path.strip_prefix(root()).unwrap_or(path).display().to_string();
        Source { text: read(&path), path }
    };
    paths.iter().map(source).collect()
}

fn rust_files(directory: &Path, into: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for entry in entries {
        let path = entry.expect("a directory entry can be read").path();
        if path.is_dir() {
            if !path.ends_with("target") {
                rust_files(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with one covered case and one that comes later.
    const PAGE: &str = "\
| ID | Status | Situation |
|---|---|---|
| R-01 | covered | same key, same body |
| R-14 | later | content coding |
";

    /// What is wrong with `PAGE` and one source file.
    fn complaints_about(text: &str) -> Vec<String> {
        CASES.complaints(PAGE, &[Source { path: "a.rs".to_owned(), text: text.to_owned() }])
    }

    #[test]
    fn a_tag_reaches_its_function_through_attributes_and_comments() {
        let source = "    // Cases: R-01, R-14\n    // Reports: B01\n    /// Says why.\n    #[tokio::test]\n    async fn it_replays() {}\n";

        let cases = CASES.tagged(source).expect("the tag is well-formed");
        let reports = REPORTS.tagged(source).expect("the tag is well-formed");

        let function = "it_replays".to_owned();
        let numbers = vec!["R-01".to_owned(), "R-14".to_owned()];
        assert_eq!(cases, [Tagged { function: function.clone(), numbers, is_test: true }]);
        assert_eq!(reports, [Tagged { function, numbers: vec!["B01".to_owned()], is_test: true }]);
    }

    #[test]
    fn a_covered_case_without_a_test_is_reported() {
        let complaints = complaints_about("// Cases: R-14\n#[test]\nfn it_decodes() {}\n");

        assert_eq!(complaints, ["docs/protocol.md: R-01 is marked covered, but no test is tagged with it"]);
    }

    #[test]
    fn a_tag_with_an_unknown_number_is_reported() {
        let complaints = complaints_about("// Cases: R-01, R-99\n#[test]\nfn it_replays() {}\n");

        assert_eq!(complaints, ["a.rs: `it_replays` names R-99, which docs/protocol.md has not"]);
    }

    #[test]
    fn a_function_of_the_contract_counts_only_when_something_names_it() {
        let function = "// Cases: R-01\npub async fn it_replays<D: Database>(world: &World<D>) {}\n";

        let alone = complaints_about(function);
        let listed = complaints_about(&format!("{function}contract!(it_replays);\n"));
        let near_miss = complaints_about(&format!("{function}contract!(it_replays_too);\n"));

        let complaint = ["a.rs: `it_replays` is tagged, but is no test and nothing names it"];
        assert_eq!(alone, complaint);
        assert_eq!(listed, [""; 0]);
        assert_eq!(near_miss, complaint);
    }

    #[test]
    fn a_tag_that_cannot_be_read_is_reported_with_its_line() {
        for (source, complaint) in [
            ("\n//Cases: R-01\n#[test]\nfn f() {}\n", "line 2: not of the form `// Cases: R-01, R-02`"),
            (
                "// Cases: R-01 to R-03\n#[test]\nfn f() {}\n",
                "line 1: not of the form `// Cases: R-01, R-02`",
            ),
            ("// Cases: R-01,R-02\n#[test]\nfn f() {}\n", "line 1: not of the form `// Cases: R-01, R-02`"),
            ("// Cases: R-01\n\n#[test]\nfn f() {}\n", "line 1: no function follows the tag"),
            ("// Cases: R-01\nconst N: u8 = 1;\n", "line 1: no function follows the tag"),
            (
                "// Cases: R-01\n#[test]\n#[ignore]\nfn f() {}\n",
                "line 1: a test that is ignored covers nothing",
            ),
        ] {
            assert_eq!(CASES.tagged(source), Err(complaint.to_owned()), "{source}");
        }
    }

    #[test]
    fn a_page_that_cannot_be_read_is_reported() {
        for (page, complaint) in [
            ("| R-01 | done | x |", "R-01 is `done`, neither `covered` nor `later`"),
            ("| R-01 | later | x |\n| R-01 | later | x |", "R-01 is listed twice"),
        ] {
            assert_eq!(CASES.rows(page), Err(complaint.to_owned()));
        }
    }
}
