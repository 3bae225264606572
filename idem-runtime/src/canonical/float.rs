//! Floats, as ECMAScript writes them.

use super::Error;

/// The shortest text that reads back as the same float of the same width (RFC 8785, 3.2.2.3; ECMA-262,
/// `Number::toString`).
///
/// Whole numbers below 1e21 have neither point nor exponent, and minus zero is `0`. The widths are kept
/// apart: an `f32` is not widened first, which would give it digits that it does not have.
///
/// # Errors
/// [`Error::NotFinite`] for NaN and the infinities, which `serde_json` would write as `null`.
pub(super) fn canonical<F: ryu_js::Float + Copy + Into<f64>>(value: F) -> Result<String, Error> {
    // Widening keeps finite what is finite, and nothing else.
    if value.into().is_finite() {
        Ok(ryu_js::Buffer::new().format_finite(value).to_owned())
    } else {
        Err(Error::NotFinite)
    }
}
