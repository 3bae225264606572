//! Every case that `docs/protocol.md` marks as covered has a test that carries its number, by a tag as
//! `idem_tests::tags` describes it: `// Cases: R-01, R-02`.

use idem_tests::tags::{CASES, Status, read, root, sources};

/// What `docs/guarantees.md` rests on and is not there: cases that are not covered, test files that do not exist.
fn hollow_references(guarantees: &str, page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let cases = CASES.rows(page).unwrap_or_default();
    let words = guarantees.split(|c: char| !(c.is_ascii_alphanumeric() || "-_/.".contains(c)));
    words
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| {
            // G-13 and so on are rules, not cases.
            let is_case = (CASES.is_number)(word) && !word.starts_with('G');
            (is_case && cases.get(*word).is_none_or(|case| case.status != Status::Covered))
                || (word.starts_with("tests/") && !exists(word))
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_guarantee_rests_on_tests_that_exist() {
    let (guarantees, page) = (read("docs/guarantees.md"), read(CASES.page));

    let hollow = hollow_references(&guarantees, &page, |path| root().join(path).exists());

    assert_eq!(hollow, [""; 0]);
}

#[test]
fn a_guarantee_that_rests_on_nothing_is_reported() {
    let page = "| R-01 | covered | same key, same body |\n| R-14 | later | content coding |\n";
    let guarantees = "Shown by R-01, R-14, R-99 (rule G-13), `tests/here.rs`, `tests/gone.rs`.";

    let hollow = hollow_references(guarantees, page, |path| path == "tests/here.rs");

    assert_eq!(hollow, ["R-14", "R-99", "tests/gone.rs"]);
}

#[test]
fn every_covered_case_has_a_test() {
    let complaints = CASES.complaints(&read(CASES.page), &sources());

    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}
