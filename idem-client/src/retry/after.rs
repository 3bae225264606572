//! `Retry-After` (RFC 9110, section 10.2.3): seconds or a date.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

use crate::problem::Problem;

/// How long the server asks its client to stay away: by the header, or else by the member `retry_after` of its problem.
///
/// A date counts from the answer's own `Date` where it has one, so that it does not matter that two clocks differ;
/// one that has passed is no wait at all. What is neither is no request.
pub(super) fn retry_after(
    headers: &HeaderMap,
    problem: Option<&Problem>,
    now: SystemTime,
) -> Option<Duration> {
    let field = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::trim);
    let by_field = field.and_then(|value| {
        if value.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number that is too large is a long time all the same.
            return (!value.is_empty()).then(|| Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
        }
        let until = httpdate::parse_http_date(value).ok()?;
        Some(until.duration_since(date(headers).unwrap_or(now)).unwrap_or_default())
    });
    by_field.or_else(|| problem?.retry_after_secs().map(Duration::from_secs))
}

fn date(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(header::DATE)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn asked(fields: &[(HeaderName, &'static str)], now: SystemTime) -> Option<Duration> {
        let fields = fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        retry_after(&fields.collect(), None, now)
    }

    #[test]
    fn seconds_are_seconds() {
        let now = SystemTime::UNIX_EPOCH;

        assert_eq!(asked(&[(header::RETRY_AFTER, "7")], now), Some(Duration::from_secs(7)));
        assert_eq!(asked(&[(header::RETRY_AFTER, "0")], now), Some(Duration::ZERO));
        let huge = "99999999999999999999999";
        assert_eq!(asked(&[(header::RETRY_AFTER, huge)], now), Some(Duration::from_secs(u64::MAX)));
        for odd in ["", "-1", "1.5", "soon", "7, 8"] {
            assert_eq!(asked(&[(header::RETRY_AFTER, odd)], now), None, "{odd}");
        }
    }

    #[test]
    fn a_date_counts_from_the_answers_own() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:30 GMT").unwrap();
        let until = (header::RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT");
        let said_at = (header::DATE, "Sun, 06 Nov 1994 08:49:35 GMT");

        assert_eq!(asked(&[until.clone(), said_at], now), Some(Duration::from_secs(2)));
        assert_eq!(asked(std::slice::from_ref(&until), now), Some(Duration::from_secs(7)));
        assert_eq!(asked(&[until], now + Duration::from_mins(1)), Some(Duration::ZERO));
    }

    #[test]
    fn the_header_is_asked_before_the_problem() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        let problem = Problem::read(&headers, &Bytes::from_static(br#"{"retry_after":3}"#));
        let now = SystemTime::UNIX_EPOCH;

        assert_eq!(retry_after(&headers, problem.as_ref(), now), Some(Duration::from_secs(3)));
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        assert_eq!(retry_after(&headers, problem.as_ref(), now), Some(Duration::from_secs(5)));
    }
}
