//! A service that takes orders and has a payment provider charge cards for them, in three ways.
//!
//! | route | the handler | answers |
//! |---|---|---|
//! | `POST /orders` | inserts the order, has the card charged within the transaction, has a receipt sent after COMMIT | 201, the order, `paid`; 402 if the card is declined |
//! | `POST /orders/queued` | inserts the order, and a row in the outbox for the call that it needs | 202, the order, `charging` |
//! | `GET /orders/{id}` | reads one | 200 |
//! | `GET /pause`, `POST /pause` | wait until the service stands still; have it go on | 204 |
//!
//! Both annotated handlers take `{"item":"tea","cents":500,"card":"card_visa"}`; the tenant comes from `X-Tenant`.
//! A dispatcher beside them makes the calls of the outbox. [`Provider`], [`Mail`] and [`Balancer`] are what stands around such a
//! service, each a router of its own, to be served on ports of their own. [`tell`] plays the whole of it.

mod app;
mod balancer;
mod books;
mod calls;
mod child;
mod dispatcher;
mod error;
mod mail;
mod orders;
mod pause;
mod provider;
mod queued;
mod server;
mod stage;
mod story;

pub use balancer::Balancer;
pub use mail::{Mail, Receipt};
pub use orders::{NewOrder, Order};
pub use pause::Moment;
pub use provider::{Charge, DECLINED_CARD, Payment, Provider, Treatment};
pub use server::{Served, Settings, serve};
pub use story::tell;
