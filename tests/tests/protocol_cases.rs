//! Every case that `docs/protocol.md` marks as covered has a test that carries its number.
//!
//! A test carries numbers by a tag: the line `// Cases: R-01, R-02`, above the function and its attributes.
//! A tagged function is a test itself (an attribute ending in `test`), or a part of the contract suite,
//! which then has to be named somewhere else too, by the list that runs it. CONTRIBUTING.md says so to
//! authors; this file enforces it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What the second column of a case says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Covered,
    Later,
}

/// A function under a `// Cases:` line.
#[derive(Debug, PartialEq, Eq)]
struct Tagged {
    function: String,
    cases: Vec<String>,
    is_test: bool,
}

/// Whether `text` is the number of a case: a capital letter, a dash, two digits.
fn is_number(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b'-', tens, ones]
        if letter.is_ascii_uppercase() && tens.is_ascii_digit() && ones.is_ascii_digit())
}

/// The cases of the protocol page: the rows of its tables that begin with a number.
fn cases(page: &str) -> Result<BTreeMap<String, Status>, String> {
    let mut cases = BTreeMap::new();
    for line in page.lines() {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(number), Some(status)) = (cells.next(), cells.next()) else { continue };
        if !is_number(number) {
            continue;
        }
        let status = match status {
            "covered" => Status::Covered,
            "later" => Status::Later,
            other => return Err(format!("case {number} is `{other}`, neither `covered` nor `later`")),
        };
        if cases.insert(number.to_owned(), status).is_some() {
            return Err(format!("case {number} is listed twice"));
        }
    }
    Ok(cases)
}

/// The name of the function that `line` begins to define.
fn defined_function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "async", "const"];
    let name = after.split(['(', '<']).next()?.trim();
    (before.split_whitespace().all(|word| qualifiers.contains(&word)) && !name.is_empty()).then_some(name)
}

/// The tagged functions of one source file.
fn tagged(source: &str) -> Result<Vec<Tagged>, String> {
    let mut found = Vec::new();
    let mut lines = source.lines().map(str::trim).zip(1..);
    while let Some((line, at)) = lines.next() {
        let Some(comment) = line.strip_prefix("//") else { continue };
        if !comment.trim_start().starts_with("Cases:") {
            continue;
        }
        let numbers = comment.strip_prefix(" Cases: ").map(|list| list.split(", ").collect::<Vec<_>>());
        let Some(numbers) = numbers.filter(|list| list.iter().all(|number| is_number(number))) else {
            return Err(format!("line {at}: not of the form `// Cases: R-01, R-02`"));
        };

        let mut is_test = false;
        let function = loop {
            let Some((line, _)) = lines.next() else { break None };
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
            cases: numbers.into_iter().map(str::to_owned).collect(),
            is_test,
        });
    }
    Ok(found)
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

/// Everything that is wrong between the protocol page and the `(path, text)` of the sources.
fn complaints(page: &str, sources: &[(String, String)]) -> Vec<String> {
    let cases = match cases(page) {
        Ok(cases) => cases,
        Err(complaint) => return vec![format!("docs/protocol.md: {complaint}")],
    };
    let mut complaints = Vec::new();
    let mut shown = BTreeSet::new();
    for (path, source) in sources {
        let tagged = match tagged(source) {
            Ok(tagged) => tagged,
            Err(complaint) => {
                complaints.push(format!("{path}: {complaint}"));
                continue;
            }
        };
        for Tagged { function, cases: numbers, is_test } in tagged {
            let is_run =
                is_test || sources.iter().map(|(_, text)| mentions(text, &function)).sum::<usize>() > 1;
            if !is_run {
                complaints
                    .push(format!("{path}: `{function}` is tagged, but is no test and nothing names it"));
            }
            for number in numbers {
                if !cases.contains_key(&number) {
                    complaints
                        .push(format!("{path}: `{function}` names {number}, which docs/protocol.md has not"));
                }
                shown.insert(number);
            }
        }
    }
    for (number, status) in cases {
        if status == Status::Covered && !shown.contains(&number) {
            complaints
                .push(format!("docs/protocol.md: {number} is marked covered, but no test is tagged with it"));
        }
    }
    complaints
}

/// What `docs/guarantees.md` rests on and is not there: cases that are not covered, test files that do not exist.
fn hollow_references(guarantees: &str, page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let cases = cases(page).unwrap_or_default();
    let words = guarantees.split(|c: char| !(c.is_ascii_alphanumeric() || "-_/.".contains(c)));
    words
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| {
            // G-13 and so on are rules, not cases.
            let is_case = is_number(word) && !word.starts_with('G');
            (is_case && cases.get(*word) != Some(&Status::Covered))
                || (word.starts_with("tests/") && !exists(word))
        })
        .map(str::to_owned)
        .collect()
}

/// The Rust sources below `directory`, except what cargo built there.
fn rust_sources(directory: &Path, into: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for entry in entries {
        let path = entry.expect("a directory entry can be read").path();
        if path.is_dir() {
            if !path.ends_with("target") {
                rust_sources(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The directory of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_guarantee_rests_on_tests_that_exist() {
    let guarantees = read(&root().join("docs/guarantees.md"));
    let page = read(&root().join("docs/protocol.md"));

    let hollow = hollow_references(&guarantees, &page, |path| root().join(path).exists());

    assert_eq!(hollow, [""; 0]);
}

#[test]
fn a_guarantee_that_rests_on_nothing_is_reported() {
    let guarantees = "Shown by R-01, R-14, R-99 (rule G-13), `tests/here.rs`, `tests/gone.rs`.";

    let hollow = hollow_references(guarantees, PAGE, |path| path == "tests/here.rs");

    assert_eq!(hollow, ["R-14", "R-99", "tests/gone.rs"]);
}

#[test]
fn every_covered_case_has_a_test() {
    let root = root();
    let mut paths = Vec::new();
    for package in ["tests", "idem-runtime", "idem-macros", "examples"] {
        rust_sources(&root.join(package), &mut paths);
    }
    paths.sort();
    let read =
        |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let sources: Vec<_> = paths
        .iter()
        .map(|path| (path.strip_prefix(root).unwrap_or(path).display().to_string(), read(path)))
        .collect();

    let complaints = complaints(&read(&root.join("docs/protocol.md")), &sources);

    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

/// A page with one covered case and one that comes later.
const PAGE: &str = "\
| ID | Status | Situation |
|---|---|---|
| R-01 | covered | same key, same body |
| R-14 | later | content coding |
";

/// What is wrong with `PAGE` and one source file.
fn complaints_about(source: &str) -> Vec<String> {
    complaints(PAGE, &[("a.rs".to_owned(), source.to_owned())])
}

#[test]
fn a_tag_reaches_its_function_through_attributes_and_comments() {
    let source =
        "    // Cases: R-01, R-14\n    /// Says why.\n    #[tokio::test]\n    async fn it_replays() {}\n";

    let found = tagged(source).expect("the tag is well-formed");

    let cases = vec!["R-01".to_owned(), "R-14".to_owned()];
    assert_eq!(found, [Tagged { function: "it_replays".to_owned(), cases, is_test: true }]);
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
        ("// Cases: R-01 to R-03\n#[test]\nfn f() {}\n", "line 1: not of the form `// Cases: R-01, R-02`"),
        ("// Cases: R-01,R-02\n#[test]\nfn f() {}\n", "line 1: not of the form `// Cases: R-01, R-02`"),
        ("// Cases: R-01\n\n#[test]\nfn f() {}\n", "line 1: no function follows the tag"),
        ("// Cases: R-01\nconst N: u8 = 1;\n", "line 1: no function follows the tag"),
        ("// Cases: R-01\n#[test]\n#[ignore]\nfn f() {}\n", "line 1: a test that is ignored covers nothing"),
    ] {
        assert_eq!(tagged(source), Err(complaint.to_owned()), "{source}");
    }
}

#[test]
fn a_page_that_cannot_be_read_is_reported() {
    for (page, complaint) in [
        ("| R-01 | done | x |", "case R-01 is `done`, neither `covered` nor `later`"),
        ("| R-01 | later | x |\n| R-01 | later | x |", "case R-01 is listed twice"),
    ] {
        assert_eq!(cases(page), Err(complaint.to_owned()));
    }
}
