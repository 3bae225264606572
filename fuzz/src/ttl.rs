//! Durations in the attribute, `ttl = "24h"` first of all: any text is the duration that wide arithmetic makes of it,
//! or is refused with a help that can be followed.

use std::time::Duration;

use crate::duration::{Kind, RUN_LIMIT, TTL, WAIT, Wrong};

/// One kind of duration, spelled out once more: lengths are in milliseconds.
struct Grammar {
    kind: &'static Kind,
    units: &'static [(&'static str, u128)],
    least: u128,
    most: u128,
}

const SECOND: u128 = 1_000;
const MINUTE: u128 = 60_000;
const HOUR: u128 = 3_600_000;
const DAY: u128 = 86_400_000;

const GRAMMARS: [Grammar; 3] = [
    Grammar {
        kind: &TTL,
        units: &[("s", SECOND), ("m", MINUTE), ("h", HOUR), ("d", DAY)],
        least: SECOND,
        most: 3_650 * DAY,
    },
    Grammar { kind: &WAIT, units: &[("ms", 1), ("s", SECOND)], least: 10, most: 10 * SECOND },
    Grammar {
        kind: &RUN_LIMIT,
        units: &[("s", SECOND), ("m", MINUTE), ("h", HOUR)],
        least: SECOND,
        most: DAY,
    },
];

/// Checks `data` as a duration of each kind, if it is a text.
///
/// # Panics
/// If a promise of [`Kind::read`] or of its help does not hold.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    for grammar in GRAMMARS {
        let read = grammar.kind.read(text);
        assert_eq!(read, grammar.expected(text), "{text:?} as {}", grammar.kind.name);
        if let Err(wrong) = read {
            the_help_can_be_followed(grammar.kind, &wrong, text);
        }
    }
}

impl Grammar {
    fn expected(&self, text: &str) -> Result<Duration, Wrong> {
        let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let digits = &text[..text.len() - unit.len()];
        let unit = match unit {
            _ if digits.is_empty() => return Err(Wrong::Unreadable),
            "" => return Err(Wrong::NoUnit),
            unit => self.units.iter().find(|(name, _)| *name == unit).ok_or(Wrong::Unreadable)?.1,
        };
        let millis = match digits.trim_start_matches('0') {
            "" => return Err(Wrong::Zero),
            // A day in milliseconds has eight digits, so the product has at most 38 and fits.
            digits if digits.len() <= 30 => digits.parse::<u128>().expect("digits") * unit,
            _ => return Err(Wrong::TooLong),
        };
        match millis {
            millis if millis < self.least => Err(Wrong::TooShort),
            millis if millis > self.most => Err(Wrong::TooLong),
            millis => Ok(Duration::from_millis(u64::try_from(millis).expect("at most ten years"))),
        }
    }
}

/// What the help says to write is a value, and the message names what was written.
fn the_help_can_be_followed(kind: &Kind, wrong: &Wrong, text: &str) {
    assert!(kind.message(wrong, text).contains(text), "the message names {text:?}");

    let offered = std::cell::RefCell::new(Vec::new());
    let help = kind.help(wrong, text, |value| {
        offered.borrow_mut().push(value.to_owned());
        format!("ttl = \"{value}\"")
    });
    let offered = offered.into_inner();
    assert!(!offered.is_empty(), "{help:?} offers nothing");
    for value in offered {
        assert!(kind.read(&value).is_ok(), "{help:?} offers {value:?}, which is not {}", kind.name);
        assert!(help.contains(&format!("\"{value}\"")), "{help:?} shows {value:?}");
    }
}
