//! The inputs that are kept for a target.

use std::fs;
use std::path::{Path, PathBuf};

/// An input, and the file that holds it.
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) data: Vec<u8>,
}

/// Those that were written by hand, in `seeds/`, and those that runs have found, in `corpus/`; some of each.
pub(crate) fn inputs(target: &str) -> Vec<Kept> {
    let of = |kind: &str| {
        let files = files(&format!("{kind}/{target}"));
        assert!(!files.is_empty(), "fuzz/{kind}/{target} holds no input");
        files.into_iter().map(|path| Kept { data: fs::read(&path).expect("a file to read"), path })
    };
    of("seeds").chain(of("corpus")).collect()
}

/// The names in a directory of this package, without extensions.
pub(crate) fn names(directory: &str) -> Vec<String> {
    let name = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    files(directory).iter().map(name).collect()
}

/// What is in a directory of this package, in the order of the names.
fn files(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry to read").path()).collect();
    files.sort();
    files
}
