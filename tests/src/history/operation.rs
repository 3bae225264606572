//! What a request of a history asks for, and how its traces in the database are told from all others'.

use std::fmt;
use std::str::FromStr;

use idem_runtime::Scope;

use crate::http::{Request, r1};

/// The endpoints of the reference application that a history uses, by what a run leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// 201 with the number of the order.
    Orders,
    /// 201 with the number of the refund.
    Refunds,
    /// 201; path and body are compared.
    Charges,
    /// 200 with the count: a PUT that adds.
    Counters,
    /// 402, and an audit row that is kept.
    Declined,
    /// 422 as an `Err`; its order is rolled back.
    Err,
    /// 500 as an answer; its order is rolled back.
    Boom,
    /// A panic: no answer, no row, no record.
    Panic,
}

impl Endpoint {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Orders,
        Self::Refunds,
        Self::Charges,
        Self::Counters,
        Self::Declined,
        Self::Err,
        Self::Boom,
        Self::Panic,
    ];

    /// Its name in an operation's text.
    fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Refunds => "refunds",
            Self::Charges => "charges",
            Self::Counters => "counters",
            Self::Declined => "declined",
            Self::Err => "err",
            Self::Boom => "boom",
            Self::Panic => "panic",
        }
    }

    /// Its method and route, as the scope has them.
    fn route(self) -> (&'static str, &'static str) {
        match self {
            Self::Orders => ("POST", "/orders"),
            Self::Refunds => ("POST", "/refunds"),
            Self::Charges => ("POST", "/accounts/{id}/charges"),
            Self::Counters => ("PUT", "/counters/{id}"),
            Self::Declined => ("POST", "/declined"),
            Self::Err => ("POST", "/err"),
            Self::Boom => ("POST", "/boom"),
            Self::Panic => ("POST", "/panic"),
        }
    }

    /// Whether a run that has ended well leaves a business row.
    #[must_use]
    pub fn has_effect(self) -> bool {
        !matches!(self, Self::Err | Self::Boom | Self::Panic)
    }

    /// Whether a run's answer is stored after its rollback, so that a run may still be told of another's row.
    #[must_use]
    pub fn is_stored_after_rollback(self) -> bool {
        matches!(self, Self::Err | Self::Boom)
    }
}

/// A scope and a key: what at most one effect may belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScopedKey {
    /// The number in the tenant's name.
    pub tenant: u8,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The number in the key.
    pub key: u32,
}

impl ScopedKey {
    /// The texts of its key row: the scope and the key.
    ///
    /// # Panics
    /// Never: these parts are valid.
    #[must_use]
    pub fn row(self) -> (String, String) {
        let (method, route) = self.endpoint.route();
        let scope = Scope::new().with("tenant", &self.tenant_name());
        let scope = scope.and_then(|scope| scope.endpoint(method, route)).expect("a valid scope");
        (scope.text(), self.key_text())
    }

    /// The tenant's name.
    #[must_use]
    pub fn tenant_name(self) -> String {
        format!("t{}", self.tenant)
    }

    fn key_text(self) -> String {
        format!("k-{}", self.key)
    }
}

impl fmt::Display for ScopedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}/{}/k-{}", self.tenant, self.endpoint.name(), self.key)
    }
}

/// A request, up to the bytes that are compared: two of them with one [`ScopedKey`] and different variants are a
/// mismatch.
///
/// Its text, `t1/orders/k-7/v2`, is what the application is asked to write into its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// Its scope and key.
    pub at: ScopedKey,
    /// Which of several payloads, 1 to 9.
    pub variant: u8,
}

impl Operation {
    /// The number of the counter that it adds to: one of its own.
    #[must_use]
    pub fn counter(&self) -> i64 {
        i64::from(self.at.key) * 10 + i64::from(self.variant)
    }

    /// The request that asks for it.
    #[must_use]
    pub fn request(&self) -> Request {
        let request = r1().tenant(&self.at.tenant_name()).key(format!("\"{}\"", self.at.key_text()));
        let (_, route) = self.at.endpoint.route();
        match self.at.endpoint {
            Endpoint::Charges => {
                let path = format!("/accounts/{}/charges", self.at.key);
                request.path(&path).body(format!(r#"{{"amount":{}}}"#, self.variant))
            }
            Endpoint::Counters => {
                request.method("PUT").path(&format!("/counters/{}", self.counter())).body("")
            }
            _ => request.path(route).body(format!(r#"{{"item":"{self}","qty":{}}}"#, self.variant)),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/v{}", self.at, self.variant)
    }
}

/// A text that is no operation's.
#[derive(Debug, PartialEq, Eq)]
pub struct NoOperation;

impl FromStr for Operation {
    type Err = NoOperation;

    fn from_str(text: &str) -> Result<Self, NoOperation> {
        let parts: Vec<_> = text.split('/').collect();
        let [tenant, endpoint, key, variant] = parts[..] else { return Err(NoOperation) };
        let read = || {
            let endpoint = Endpoint::ALL.into_iter().find(|candidate| candidate.name() == endpoint)?;
            let tenant = tenant.strip_prefix('t')?.parse().ok()?;
            let key = key.strip_prefix("k-")?.parse().ok()?;
            let variant = variant.strip_prefix('v')?.parse().ok()?;
            Some(Self { at: ScopedKey { tenant, endpoint, key }, variant })
        };
        read().ok_or(NoOperation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_told_by_its_text() {
        for endpoint in Endpoint::ALL {
            let operation = Operation { at: ScopedKey { tenant: 2, endpoint, key: 17 }, variant: 3 };
            assert_eq!(operation.to_string().parse(), Ok(operation));
        }
        for text in ["", "tea", "t1/orders/k-7", "t1/orders/k-7/v2/", "x1/orders/k-7/v2", "t1/tea/k-7/v2"] {
            assert_eq!(text.parse::<Operation>(), Err(NoOperation), "{text}");
        }
    }

    #[test]
    fn a_scoped_key_has_the_texts_of_its_row() {
        let at = ScopedKey { tenant: 1, endpoint: Endpoint::Orders, key: 7 };

        assert_eq!(at.row(), ("tenant=t1&endpoint=POST%20/orders".to_owned(), "k-7".to_owned()));
    }
}
