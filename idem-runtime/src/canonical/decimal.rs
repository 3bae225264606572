//! Decimals of any size that arrive as text.

use std::borrow::Cow;

use super::Error;

/// The canonical text of a number that arrived as text, such as `1.0`, `-0`, `1E400` or forty digits.
///
/// It is a function of the number's exact decimal value and of nothing else: the significant digits are laid
/// out as ECMAScript lays out those of a double (ECMA-262, `Number::toString`): whole up to 21 digits, with a
/// point down to 1e-6, with an exponent beyond. So
///
/// - `1`, `1.0`, `10e-1` are `1`; `0.1000` is `0.1`; `-0`, `0.00` and `0e9` are `0`;
/// - no digit is ever lost: `9007199254740993`, `0.10000000000000000000000001`, `1e+400` stand for
///   themselves, and 33 digits are written as `d.ddde+32` with all of them;
/// - every integer of 64 bits, and every number that is the shortest form of some double, has the text that
///   it has without `arbitrary_precision`, where `serde_json` hands over a `u64`, an `i64` or an `f64`. Other
///   numbers have another text there, because there they were rounded by the parser.
///
/// # Errors
/// [`Error::NotANumber`] if `text` is not a JSON number (RFC 8259, 6) or its exponent does not fit 64 bits.
pub(super) fn canonical(text: &str) -> Result<String, Error> {
    let parts = Parts::read(text).ok_or(Error::NotANumber)?;

    let digits: Cow<'_, str> = match parts.fraction {
        "" => Cow::Borrowed(parts.whole),
        fraction => Cow::Owned([parts.whole, fraction].concat()),
    };
    let significant = digits.trim_start_matches('0');
    let leading_zeros = digits.len() - significant.len();
    let significant = significant.trim_end_matches('0');
    if significant.is_empty() {
        return Ok("0".to_owned());
    }

    let exponent: i64 = match parts.exponent {
        "" => 0,
        exponent => exponent.parse().map_err(|_| Error::NotANumber)?,
    };
    // Where the point stands, counted from the first significant digit; lengths fit 64 bits, so 128 cannot
    // overflow.
    let point = i128::from(exponent) + parts.whole.len() as i128 - leading_zeros as i128;

    let mut out = String::with_capacity(significant.len() + 28);
    if parts.negative {
        out.push('-');
    }
    lay_out(significant, point, &mut out);
    Ok(out)
}

/// Lays out `0.digits × 10^point` (ECMA-262, `Number::toString`, steps 6 to 10; `point` is its `n`).
fn lay_out(digits: &str, point: i128, out: &mut String) {
    match usize::try_from(point) {
        Ok(point @ 1..=21) if digits.len() <= point => {
            out.push_str(digits);
            out.extend(std::iter::repeat_n('0', point - digits.len()));
        }
        Ok(point @ 1..=21) => {
            let (whole, fraction) = digits.split_at(point);
            out.push_str(whole);
            out.push('.');
            out.push_str(fraction);
        }
        _ if (-5..=0).contains(&point) => {
            out.push_str("0.");
            out.extend((point..0).map(|_| '0'));
            out.push_str(digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            out.push_str(first);
            if !rest.is_empty() {
                out.push('.');
                out.push_str(rest);
            }
            let exponent = point - 1;
            out.push_str(if exponent < 0 { "e-" } else { "e+" });
            out.push_str(&exponent.unsigned_abs().to_string());
        }
    }
}

/// A JSON number taken apart; the strings hold digits only, but for the exponent's sign.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    exponent: &'t str,
}

impl<'t> Parts<'t> {
    /// `[-] (0 | 1-9 digits) [. digits] [(e | E) [+ | -] digits]`, or nothing.
    fn read(text: &'t str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (rest, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let is_number = is_digits(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && fraction.is_none_or(is_digits)
            && exponent
                .is_none_or(|exponent| is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
        is_number.then(|| Self {
            negative,
            whole,
            fraction: fraction.unwrap_or_default(),
            exponent: exponent.unwrap_or_default(),
        })
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
