//! The reference application: every kind of handler that the protocol's cases speak of, on either database.
//!
//! | route | the handler | answers |
//! |---|---|---|
//! | `POST /orders` | inserts an order | 201, `Location`, `{"id":1,"item":"tea","qty":1}` |
//! | `GET /orders` | lists the tenant's orders; not annotated | 200 |
//! | `POST /refunds` | inserts a refund | 201 |
//! | `POST /slow` | inserts an order, then waits for the gate | 201 |
//! | `POST /declined` | inserts an audit row and keeps it | 402 |
//! | `POST /err` | inserts an order, returns `Err` | 422 |
//! | `POST /boom` | inserts an order, returns an answer | 500 |
//! | `POST /panic` | inserts an order, panics | – |
//! | `POST /empty` | inserts an order | 204 |
//! | `POST /bytes` | inserts an order | 200, the 256 bytes 00 to FF |
//! | `POST /accounts/{id}/charges?dry=1` | inserts a charge unless it is a dry run | 201 |
//! | `POST /v1/charges` | inserts a charge, as Stripe's clients ask for it | 200, a Stripe charge |
//! | `PUT /counters/{id}` | adds one | 200, `{"n":1}` |
//! | `POST /things`, `PATCH /things` | insert a thing, rename them all | 201, 200 |
//! | `GET /things`, `DELETE /things/{id}` | count, delete | 200, 204 |
//! | `POST /plain` | inserts an order; not annotated | 201 |
//! | `POST /gate`, `GET /gate?waiting=1` | open the gate; wait until so many handlers wait at it | 204 |
//! | `GET /runs` | how many handlers have begun to run | 200, `{"runs":1}` |
//!
//! The tenant comes from `X-Tenant`; without it the answer is 401.
//!
//! `POST /v1/charges` speaks as Stripe does: form fields (`amount`, `currency` and `source` must be there), the
//! account from `Authorization: Bearer sk_test_…` and `Stripe-Account`, errors in Stripe's shape, an optional key
//! that is unique in the account. `source=tok_chargeDeclined` is answered 402, and its row stays;
//! `source=tok_gate` waits for the gate; any other is charged.

mod accounts;
mod app;
mod control;
mod database;
mod error;
mod failures;
mod orders;
mod probe;
mod server;
mod shapes;
mod stripe;
mod tenant;
mod things;

pub use app::{App, routes};
pub use database::{Database, Value, create_tables};
pub use error::AppError;
pub use orders::{NewOrder, Order, insert_order};
pub use probe::{Gate, Probe};
pub use server::{Served, serve};
pub use stripe::{stripe_engine, stripe_routes};
pub use tenant::TenantId;
