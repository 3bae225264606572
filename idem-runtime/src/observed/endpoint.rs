//! The endpoint as logs and metrics name it.

use std::fmt;

use http::Method;

/// The name of an endpoint: one of as many as the application has, whatever its clients send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Endpoint<'r> {
    /// The one that the attribute gives it.
    Named(&'static str),
    /// Method and matched route.
    Route(&'r Method, &'r str),
    /// That of a fallback, where no route has matched.
    Unmatched,
}

impl Endpoint<'_> {
    /// Where no route has matched.
    pub(crate) const UNMATCHED: &'static str = "unmatched";
}

/// A method as it may stand in the name: clients make up others, which some routers take.
fn known(method: &Method) -> &str {
    match *method {
        Method::GET
        | Method::POST
        | Method::PUT
        | Method::DELETE
        | Method::HEAD
        | Method::OPTIONS
        | Method::CONNECT
        | Method::PATCH
        | Method::TRACE => method.as_str(),
        _ => "OTHER",
    }
}

impl fmt::Display for Endpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Route(method, route) => write!(f, "{} {route}", known(method)),
            Self::Unmatched => f.write_str(Self::UNMATCHED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_its_name_or_its_method_and_route() {
        assert_eq!(Endpoint::Named("orders.create").to_string(), "orders.create");
        assert_eq!(Endpoint::Route(&Method::PUT, "/orders/{id}").to_string(), "PUT /orders/{id}");
        assert_eq!(Endpoint::Unmatched.to_string(), "unmatched");
    }

    // A client could make a new time series with each request.
    #[test]
    fn a_method_that_a_client_makes_up_is_not_named() {
        let made_up = Method::from_bytes(b"X-0001").unwrap();

        assert_eq!(Endpoint::Route(&made_up, "/any").to_string(), "OTHER /any");
    }
}
