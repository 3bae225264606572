//! `"24h"` to seconds.

/// One day: the default, and the least without `allow(short_ttl)`.
pub(crate) const DAY: u64 = 24 * 60 * 60;

/// The longest time to live: ten years of 365 days.
const LONGEST: u64 = 3650 * DAY;

/// The units, and the seconds in each.
const UNITS: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 60 * 60), ("d", DAY)];

/// A text that is no time to live.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TtlError {
    /// Not a whole number and a unit.
    Unreadable,
    /// A whole number without a unit.
    NoUnit,
    /// Zero of any unit.
    Zero,
    /// More than ten years.
    TooLong,
}

/// Reads a whole number and a unit, and gives seconds: at least 1, at most ten years of 365 days.
///
/// # Errors
/// See [`TtlError`]. Whether the time is long enough for the attribute is the attribute's to judge.
pub(crate) fn parse(text: &str) -> Result<u64, TtlError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(TtlError::Unreadable);
    }
    if unit.is_empty() {
        return Err(TtlError::NoUnit);
    }
    let Some((_, seconds)) = UNITS.into_iter().find(|(name, _)| *name == unit) else {
        return Err(TtlError::Unreadable);
    };
    // Only digits are left, so a number that does not fit is a number that is too large.
    let ttl = number.parse::<u64>().ok().and_then(|number| number.checked_mul(seconds));
    match ttl {
        Some(0) => Err(TtlError::Zero),
        Some(ttl) if ttl <= LONGEST => Ok(ttl),
        _ => Err(TtlError::TooLong),
    }
}

impl TtlError {
    /// The fact, in the words of the author.
    pub(crate) fn message(&self, text: &str) -> String {
        match self {
            Self::Unreadable => format!("`{text}` is not a time to live"),
            Self::NoUnit => format!("the time to live `{text}` has no unit"),
            Self::Zero => format!("a time to live of `{text}` ends before it begins"),
            Self::TooLong => format!("a time to live of `{text}` is longer than ten years"),
        }
    }

    /// What to write instead.
    pub(crate) fn help(&self, text: &str) -> String {
        match self {
            Self::Unreadable => {
                r#"write a whole number and a unit, one of `s`, `m`, `h`, `d`: `ttl = "24h"`"#.into()
            }
            Self::NoUnit => format!(r#"add a unit, one of `s`, `m`, `h`, `d`: `ttl = "{text}h"`"#),
            Self::Zero => r#"write at least one day: `ttl = "24h"`"#.into(),
            Self::TooLong => format!(r#"write at most `ttl = "{}d"`"#, LONGEST / DAY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_are_seconds() {
        for (text, seconds) in
            [("1s", 1), ("90m", 5_400), ("24h", 86_400), ("7d", 604_800), ("3650d", 315_360_000)]
        {
            assert_eq!(parse(text), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn anything_else_is_unreadable() {
        for text in [
            "", "h", "24 h", "24 hours", "24H", " 24h", "24h ", "-1h", "+1h", "1.5h", "1_000s", "2w", "1h30m",
        ] {
            assert_eq!(parse(text), Err(TtlError::Unreadable), "{text}");
        }
    }

    #[test]
    fn a_bare_number_lacks_its_unit() {
        assert_eq!(parse("24"), Err(TtlError::NoUnit));
        assert_eq!(parse("0"), Err(TtlError::NoUnit));
    }

    #[test]
    fn zero_of_any_unit_is_refused() {
        for text in ["0s", "0m", "0h", "00d"] {
            assert_eq!(parse(text), Err(TtlError::Zero), "{text}");
        }
    }

    #[test]
    fn more_than_ten_years_is_refused_and_nothing_overflows() {
        for text in ["3651d", "315360001s", "18446744073709551615d", "99999999999999999999s"] {
            assert_eq!(parse(text), Err(TtlError::TooLong), "{text}");
        }
    }
}
