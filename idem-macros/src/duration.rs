//! `"24h"` to a duration.

use std::time::Duration;

use crate::names::listed;

/// One day: the default TTL, and the least without `allow(short_ttl)`.
pub(crate) const DAY: Duration = Duration::from_hours(24);

/// What a text is to be: how it is called, and what it may be.
#[derive(Debug)]
pub(crate) struct Kind {
    /// With its article.
    pub(crate) name: &'static str,
    /// From the smallest to the largest.
    units: &'static [(&'static str, Duration)],
    least: (&'static str, Duration),
    /// The least that needs no opt-out.
    advised: (&'static str, Duration),
    most: (&'static str, Duration),
    /// An example.
    pub(crate) usual: &'static str,
}

const MILLISECOND: (&str, Duration) = ("ms", Duration::from_millis(1));
const SECOND: (&str, Duration) = ("s", Duration::from_secs(1));
const MINUTE: (&str, Duration) = ("m", Duration::from_mins(1));
const HOUR: (&str, Duration) = ("h", Duration::from_hours(1));

/// How long a key is remembered: at most ten years of 365 days.
pub(crate) const TTL: Kind = Kind {
    name: "a time to live",
    units: &[SECOND, MINUTE, HOUR, ("d", DAY)],
    least: ("1s", Duration::from_secs(1)),
    advised: ("24h", DAY),
    most: ("3650d", Duration::from_hours(24 * 3650)),
    usual: "24h",
};

/// How long a duplicate waits: ten seconds are well below the thirty after which load balancers give up.
pub(crate) const WAIT: Kind = Kind {
    name: "a wait",
    units: &[MILLISECOND, SECOND],
    least: ("10ms", Duration::from_millis(10)),
    advised: ("10ms", Duration::from_millis(10)),
    most: ("10s", Duration::from_secs(10)),
    usual: "5s",
};

/// How long a handler may run. PostgreSQL's own time-outs end at 24.8 days.
pub(crate) const RUN_LIMIT: Kind = Kind {
    name: "a run limit",
    units: &[SECOND, MINUTE, HOUR],
    least: ("1s", Duration::from_secs(1)),
    advised: ("1s", Duration::from_secs(1)),
    most: ("24h", DAY),
    usual: "60s",
};

/// What is wrong with a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Not a whole number and a unit.
    Unreadable,
    /// A whole number without a unit.
    NoUnit,
    /// Zero of any unit.
    Zero,
    /// Less than the kind allows, but not zero.
    TooShort,
    /// More than the kind allows.
    TooLong,
}

impl Kind {
    /// Reads a whole number and a unit.
    ///
    /// # Errors
    /// See [`Wrong`].
    pub(crate) fn read(&self, text: &str) -> Result<Duration, Wrong> {
        let (number, unit) = number_and_unit(text).ok_or(Wrong::Unreadable)?;
        if unit.is_empty() {
            return Err(Wrong::NoUnit);
        }
        let (_, unit) = self.units.iter().find(|(name, _)| *name == unit).ok_or(Wrong::Unreadable)?;
        // Only digits are left, so a number that does not fit is one that is too large.
        let duration =
            number.parse::<u32>().ok().and_then(|number| unit.checked_mul(number)).ok_or(Wrong::TooLong)?;
        match duration {
            Duration::ZERO => Err(Wrong::Zero),
            _ if duration < self.least.1 => Err(Wrong::TooShort),
            _ if duration > self.most.1 => Err(Wrong::TooLong),
            _ => Ok(duration),
        }
    }

    /// The fact, in the words of the author.
    pub(crate) fn message(&self, wrong: &Wrong, text: &str) -> String {
        let name = self.name;
        match wrong {
            Wrong::Unreadable => format!("`{text}` is not {name}"),
            Wrong::NoUnit => format!("{name} of `{text}` has no unit"),
            Wrong::Zero => format!("{name} of `{text}` ends before it begins"),
            Wrong::TooShort => format!("{name} of `{text}` is shorter than `{}`", self.least.0),
            Wrong::TooLong => format!("{name} of `{text}` is longer than `{}`", self.most.0),
        }
    }

    /// What to write instead; `spelled` puts a value into its option.
    pub(crate) fn help(&self, wrong: &Wrong, text: &str, spelled: impl Fn(&str) -> String) -> String {
        let units = listed(self.units.iter().map(|(name, _)| *name));
        let usual = self.usual;
        match wrong {
            Wrong::Unreadable => {
                format!("write a whole number and a unit, one of {units}: `{}`", spelled(usual))
            }
            Wrong::NoUnit => format!("add a unit, one of {units}: `{}`", spelled(&self.with_unit(text))),
            Wrong::Zero | Wrong::TooShort => format!("write at least `{}`", spelled(self.advised.0)),
            Wrong::TooLong => format!("write at most `{}`", spelled(self.most.0)),
        }
    }
}

impl Kind {
    /// The number with the first unit that makes it a value: the usual unit, or else any.
    fn with_unit(&self, number: &str) -> String {
        let usual = self.usual.trim_start_matches(|letter: char| letter.is_ascii_digit());
        std::iter::once(usual)
            .chain(self.units.iter().map(|(name, _)| *name))
            .map(|unit| format!("{number}{unit}"))
            .find(|text| self.read(text).is_ok_and(|duration| duration >= self.advised.1))
            .unwrap_or_else(|| self.usual.to_owned())
    }
}

/// The digits at the beginning, and what is behind them; nothing if there are no digits.
pub(crate) fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| text.split_at(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_are_a_duration() {
        for (text, seconds) in
            [("1s", 1), ("90m", 5_400), ("24h", 86_400), ("7d", 604_800), ("3650d", 315_360_000)]
        {
            assert_eq!(TTL.read(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(WAIT.read("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(WAIT.read("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(RUN_LIMIT.read("24h"), Ok(DAY));
    }

    #[test]
    fn anything_else_is_unreadable() {
        for text in [
            "", "h", "24 h", "24 hours", "24H", " 24h", "24h ", "-1h", "+1h", "1.5h", "1_000s", "2w",
            "1h30m", "10ms",
        ] {
            assert_eq!(TTL.read(text), Err(Wrong::Unreadable), "{text}");
        }
        assert_eq!(WAIT.read("1m"), Err(Wrong::Unreadable));
        assert_eq!(RUN_LIMIT.read("1d"), Err(Wrong::Unreadable));
    }

    #[test]
    fn a_bare_number_lacks_its_unit() {
        assert_eq!(TTL.read("24"), Err(Wrong::NoUnit));
        assert_eq!(TTL.read("0"), Err(Wrong::NoUnit));
    }

    #[test]
    fn the_unit_that_is_offered_makes_a_value() {
        for (kind, number, offered) in [
            (&TTL, "24", "24h"),
            (&TTL, "5", "5d"),
            (&TTL, "86400", "86400h"),
            (&TTL, "604800", "604800s"),
            (&TTL, "0", "24h"),
            (&WAIT, "5", "5s"),
            (&WAIT, "500", "500ms"),
            (&RUN_LIMIT, "60", "60s"),
            (&RUN_LIMIT, "100000", "60s"),
        ] {
            assert_eq!(kind.with_unit(number), offered);
        }
    }

    #[test]
    fn zero_of_any_unit_is_refused() {
        for text in ["0s", "0m", "0h", "00d"] {
            assert_eq!(TTL.read(text), Err(Wrong::Zero), "{text}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_and_nothing_overflows() {
        for text in ["3651d", "315360001s", "18446744073709551615d", "99999999999999999999s"] {
            assert_eq!(TTL.read(text), Err(Wrong::TooLong), "{text}");
        }
        assert_eq!(WAIT.read("9ms"), Err(Wrong::TooShort));
        assert_eq!(WAIT.read("10001ms"), Err(Wrong::TooLong));
        assert_eq!(RUN_LIMIT.read("86401s"), Err(Wrong::TooLong));
    }
}
