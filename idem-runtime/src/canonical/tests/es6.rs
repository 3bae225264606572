//! Floats against the published sequence of RFC 8785's author, and decimals against the floats.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::super::decimal;
use super::text_of;

/// The doubles of `es6testfile100m.txt`: a fixed list, 2 000 neighbours of the smallest normal number, then
/// SHA-256 applied to its own output, read as four little-endian doubles a time, without zeros and non-finite
/// ones (`testdata/rfc8785/README.md`).
fn doubles() -> impl Iterator<Item = f64> {
    const FIXED: &str = include_str!("../../../testdata/rfc8785/es6-fixed.txt");
    let fixed =
        FIXED.split_whitespace().map(|bits| u64::from_str_radix(bits, 16).expect("the list is in hex"));
    let neighbours = (0..2000).map(|step| 0x0010_0000_0000_0000 + step);
    let blocks = std::iter::successors(Some(Sha256::digest([0; 32])), |block| Some(Sha256::digest(block)));
    let random = blocks
        .flat_map(|block| -> [u64; 4] {
            std::array::from_fn(|index| {
                u64::from_le_bytes(std::array::from_fn(|byte| block[index * 8 + byte]))
            })
        })
        .filter(|bits| f64::from_bits(*bits).is_finite() && f64::from_bits(*bits) != 0.0);
    fixed.chain(neighbours).chain(random).map(f64::from_bits)
}

fn sha256_of_lines(count: usize) -> (usize, String) {
    let mut lines = String::new();
    for double in doubles().take(count) {
        writeln!(lines, "{:x},{}", double.to_bits(), text_of(&double)).unwrap();
    }
    let digest = Sha256::digest(&lines);
    (lines.len(), digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")))
}

#[test]
fn floats_are_written_as_ecmascript_writes_them() {
    let one_thousand = "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687";
    let ten_thousand = "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892";

    assert_eq!(sha256_of_lines(1_000), (37_967, one_thousand.to_owned()));
    assert_eq!(sha256_of_lines(10_000), (399_022, ten_thousand.to_owned()));
}

#[test]
fn the_turning_points_of_the_notation_are_where_ecmascript_has_them() {
    let samples = [
        (0x4340_0000_0000_0001, "9007199254740994"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    ];

    for (bits, text) in samples {
        assert_eq!(text_of(&f64::from_bits(bits)), text);
    }
}

#[test]
fn a_single_float_has_its_own_shortest_form() {
    assert_eq!(text_of(&0.1_f32), "0.1");
    assert_eq!(text_of(&f64::from(0.1_f32)), "0.10000000149011612");
    assert_eq!(text_of(&f32::MAX), "3.4028235e+38");
    assert_eq!(text_of(&f32::from_bits(1)), "1e-45");
    assert_eq!(text_of(&16_777_216_f32), "16777216");
    assert_eq!(text_of(&-0.0_f32), "0");
}

/// Other spellings of the decimal that `text` spells: all digits before the point, and all behind it.
fn respelled(text: &str) -> [String; 2] {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let exponent = exponent.parse::<i64>().unwrap() - i64::try_from(fraction.len()).unwrap();
    let behind = exponent + i64::try_from(digits.len()).unwrap() + 3;
    [format!("{sign}{digits}E{exponent}"), format!("{sign}0.000{digits}00e{behind:+}")]
}

#[test]
fn a_decimal_that_is_the_shortest_form_of_a_double_has_the_text_of_that_double() {
    for double in doubles().take(10_000).filter(|double| *double != 0.0) {
        let text = text_of(&double);

        assert_eq!(decimal::canonical(&text).unwrap(), text);
        for other in respelled(&text) {
            assert_eq!(decimal::canonical(&other).unwrap(), text, "{other}");
        }
    }
}
