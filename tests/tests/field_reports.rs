//! Every report that `docs/field-reports.md` marks as covered has a test that carries its number, by a tag as
//! `idem_tests::tags` describes it: `// Reports: B01, B42`. The page names exactly the tests that are tagged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use idem_tests::tags::{REPORTS, Row, Source, read, root, sources};

/// Tests, each as its file and its function.
type Tests = BTreeSet<(String, String)>;

/// Whether a word in backticks is a Rust file.
fn is_file(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "rs")
}

/// What the last cell of a row lists: files that end in `.rs`, each followed by its functions, all of them in backticks.
fn listed(cell: &str) -> Tests {
    let mut tests = Tests::new();
    let mut file = "";
    for word in cell.split('`').skip(1).step_by(2) {
        if is_file(word) {
            file = word;
        } else {
            tests.insert((file.to_owned(), word.to_owned()));
        }
    }
    tests
}

/// The tests that are tagged with each number.
fn tagged(sources: &[Source]) -> BTreeMap<String, Tests> {
    let mut tests: BTreeMap<String, Tests> = BTreeMap::new();
    for Source { path, text } in sources {
        for tagged in REPORTS.tagged(text).unwrap_or_default() {
            for number in tagged.numbers {
                tests.entry(number).or_default().insert((path.clone(), tagged.function.clone()));
            }
        }
    }
    tests
}

/// What a page lists and is not tagged so, and what is tagged and not listed.
fn differences(rows: &BTreeMap<String, Row>, sources: &[Source]) -> Vec<String> {
    let tagged = tagged(sources);
    let none = Tests::new();
    let mut differences = Vec::new();
    for (number, row) in rows {
        let (listed, tagged) = (listed(&row.last), tagged.get(number).unwrap_or(&none));
        for (file, function) in listed.difference(tagged) {
            differences.push(format!("{number}: no function `{function}` of {file} is tagged with it"));
        }
        for (file, function) in tagged.difference(&listed) {
            differences.push(format!("{number}: the page does not name `{function}` of {file}"));
        }
    }
    differences
}

#[test]
fn every_covered_report_has_a_test() {
    let complaints = REPORTS.complaints(&read(REPORTS.page), &sources());

    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn the_page_names_the_tests_that_are_tagged_and_no_others() {
    let rows = REPORTS.rows(&read(REPORTS.page)).expect("the page can be read");

    let differences = differences(&rows, &sources());

    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn no_report_is_left_out() {
    let rows = REPORTS.rows(&read(REPORTS.page)).expect("the page can be read");

    let numbers = (1..=70).map(|number| format!("B{number:02}"));
    let kinds = (1..=8).map(|number| format!("U{number:02}"));

    assert_eq!(rows.into_keys().collect::<Vec<_>>(), numbers.chain(kinds).collect::<Vec<_>>());
}

#[test]
fn every_file_that_the_page_names_exists() {
    let page = read(REPORTS.page);
    let files: Vec<_> = page.split('`').filter(|word| is_file(word)).collect();

    assert!(!files.is_empty());
    for file in files {
        assert!(root().join(file).exists(), "{file}");
    }
}

#[test]
fn a_difference_is_reported_in_either_direction() {
    let page = "| B01 | covered | it ran twice | once | `a.rs`: `it_runs`, `it_waits`; `b.rs`: `it_ends` |";
    let rows = REPORTS.rows(page).expect("a row");
    let source = |path: &str, functions: &[&str]| Source {
        path: path.to_owned(),
        text: functions
            .iter()
            .map(|name| ["// Reports: B01\n#[test]\nfn ", name, "() {}\n"].concat())
            .collect(),
    };

    let same = [source("a.rs", &["it_runs", "it_waits"]), source("b.rs", &["it_ends"])];
    let other = [source("a.rs", &["it_runs", "it_ends"]), source("b.rs", &["it_ends"])];

    assert_eq!(differences(&rows, &same), [""; 0]);
    assert_eq!(
        differences(&rows, &other),
        [
            "B01: no function `it_waits` of a.rs is tagged with it",
            "B01: the page does not name `it_ends` of a.rs"
        ]
    );
}
