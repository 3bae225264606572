//! `"1MiB"` to bytes.

use crate::duration::number_and_unit;

/// The units, and the bytes in each.
const UNITS: [(&str, u64); 3] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20)];

/// The largest body that is stored: a value of PostgreSQL ends at 1 GiB, and a replay holds it in memory.
const MOST: (&str, u64) = ("512MiB", 512 << 20);

/// A text that is no size.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Not a whole number and a unit.
    Unreadable,
    /// A whole number without a unit.
    NoUnit,
    /// Zero of any unit.
    Zero,
    /// More than 512 MiB.
    TooLarge,
}

/// Reads a whole number and a unit, and gives bytes: at least 1, at most 512 MiB.
///
/// # Errors
/// See [`Wrong`].
pub(crate) fn read(text: &str) -> Result<u64, Wrong> {
    let (number, unit) = number_and_unit(text).ok_or(Wrong::Unreadable)?;
    if unit.is_empty() {
        return Err(Wrong::NoUnit);
    }
    let (_, unit) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or(Wrong::Unreadable)?;
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)) {
        Some(0) => Err(Wrong::Zero),
        Some(bytes) if bytes <= MOST.1 => Ok(bytes),
        _ => Err(Wrong::TooLarge),
    }
}

impl Wrong {
    /// The fact, in the words of the author.
    pub(crate) fn message(&self, text: &str) -> String {
        match self {
            Self::Unreadable => format!("`{text}` is not a size"),
            Self::NoUnit => format!("a size of `{text}` has no unit"),
            Self::Zero => format!("a size of `{text}` leaves no room for an answer"),
            Self::TooLarge => format!("a size of `{text}` is larger than `{}`", MOST.0),
        }
    }

    /// What to write instead, as the value of the option `name`.
    pub(crate) fn help(&self, text: &str, name: &str) -> String {
        const LIST: &str = "`B`, `KiB`, `MiB`";
        match self {
            Self::Unreadable => {
                format!(r#"write a whole number and a unit, one of {LIST}: `{name} = "1MiB"`"#)
            }
            Self::NoUnit => format!(r#"add a unit, one of {LIST}: `{name} = "{text}B"`"#),
            Self::Zero => format!(r#"write at least `{name} = "1B"`"#),
            Self::TooLarge => format!(r#"write at most `{name} = "{}"`"#, MOST.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_are_bytes() {
        for (text, bytes) in [("1B", 1), ("64KiB", 65_536), ("1MiB", 1_048_576), ("512MiB", 536_870_912)] {
            assert_eq!(read(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, wrong) in [
            ("", Wrong::Unreadable),
            ("1MB", Wrong::Unreadable),
            ("1 MiB", Wrong::Unreadable),
            ("1GiB", Wrong::Unreadable),
            ("-1B", Wrong::Unreadable),
            ("1048576", Wrong::NoUnit),
            ("0KiB", Wrong::Zero),
            ("513MiB", Wrong::TooLarge),
            ("18446744073709551615MiB", Wrong::TooLarge),
            ("99999999999999999999B", Wrong::TooLarge),
        ] {
            assert_eq!(read(text), Err(wrong), "{text}");
        }
    }
}
