//! Which name was probably meant.

/// The one of `known` that `written` is probably a misspelling of.
///
/// Near means one edit in a name of up to five letters and two in a longer one; an edit inserts, drops or
/// replaces a letter, or swaps two neighbours. rustc draws the line at the same third of the length. Case does not count.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (written.chars().count().max(3) / 3).min(2);
    let lower = written.to_lowercase();
    known
        .into_iter()
        .filter(|name| *name != written)
        .map(|name| (distance(&lower, &name.to_lowercase()), name))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// The names in backticks, separated by commas: `` `a`, `b` ``.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Edits between two names (optimal string alignment), computed row by row.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut previous = None;

    for (row, letter) in left.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in right.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX - 1);
            let replaced = at(&above, column) + usize::from(letter != *other);
            let mut least = replaced.min(at(&above, column + 1) + 1).min(at(&current, column) + 1);
            let neighbour = column.checked_sub(1).and_then(|column| right.get(column));
            if neighbour == Some(&letter) && previous == Some(*other) {
                least = least.min(at(&before, column.saturating_sub(1)) + 1);
            }
            current.push(least);
        }
        previous = Some(letter);
        before = std::mem::replace(&mut above, current);
    }

    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_inserts_drops_replaces_or_swaps() {
        for (left, right, edits) in [
            ("tenant", "tenant", 0),
            ("tennant", "tenant", 1),
            ("tenat", "tenant", 1),
            ("tenent", "tenant", 1),
            ("tneant", "tenant", 1),
            ("", "abc", 3),
            ("abc", "", 3),
            ("ca", "abc", 3),
            ("kitten", "sitting", 3),
            ("größe", "grösse", 2),
        ] {
            assert_eq!(distance(left, right), edits, "{left} to {right}");
        }
    }

    #[test]
    fn a_near_name_is_offered_and_a_far_one_is_not() {
        assert_eq!(nearest("tennant", ["user", "tenant"]), Some("tenant"));
        assert_eq!(nearest("tennnant", ["user", "tenant"]), Some("tenant"));
        assert_eq!(nearest("SCOPE", ["scope", "ttl"]), Some("scope"));
        assert_eq!(nearest("id", ["tx", "db"]), None);
        assert_eq!(nearest("expires", ["scope", "ttl"]), None);
    }

    #[test]
    fn the_nearest_of_several_is_offered() {
        assert_eq!(nearest("tenant_i", ["tenant", "tenant_id"]), Some("tenant_id"));
    }

    #[test]
    fn the_name_itself_is_not_offered() {
        assert_eq!(nearest("tenant", ["tenant"]), None);
    }
}
