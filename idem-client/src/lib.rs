//! The sending side of idempotent requests: one key for each operation, made once, and the same at every attempt, in this
//! process and in the next.
//!
//! A client that makes a new key for its retry undoes all that the server does. So the key belongs to the
//! [`Operation`], not to the request that happens to be sent: it is made when the button is pressed or the job is queued,
//! is kept with the request until there is an answer, and can be carried on by another process. An
//! [`IdempotentClient`] sends the operation until then.
//!
//! ```
//! use idem_client::{Error, IdempotentClient, Operation};
//!
//! # use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
//! # /// A server that loses the first answer.
//! # async fn serve(listener: tokio::net::TcpListener) {
//! #     for answer in ["", "HTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\n{\"id\":1}"] {
//! #         let (mut stream, _) = listener.accept().await.unwrap();
//! #         let mut request = Vec::new();
//! #         while !request.ends_with(b"}") {
//! #             stream.read_buf(&mut request).await.unwrap();
//! #         }
//! #         stream.write_all(answer.as_bytes()).await.unwrap();
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let url = format!("http://{}/orders", listener.local_addr()?);
//! # tokio::spawn(serve(listener));
//! # let file = std::env::temp_dir().join(format!("order-{}.json", std::process::id()));
//! # let order = serde_json::json!({ "item": "tea", "qty": 1 });
//! let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
//! let client = IdempotentClient::new(http.clone());
//!
//! // Once, when the button is pressed: the request, its key, and a place where both outlive the process.
//! let request = http.post(url).bearer_auth("token").json(&order).build()?;
//! let operation = Operation::new(request)?;
//! std::fs::write(&file, serde_json::to_vec(&operation)?)?;
//!
//! // Now, and after a restart, until there is an answer.
//! match client.send(&operation).await {
//!     Ok(outcome) if matches!(outcome.status().as_u16(), 401 | 403) => {
//!         return Err("kept: an earlier attempt may have done it; renew the token, and send it again".into());
//!     }
//!     Ok(outcome) => println!("{}, after {} attempts", outcome.status(), outcome.attempts()),
//!     Err(Error::GaveUp(gave_up)) => return Err(format!("kept, to be sent again: {gave_up}").into()),
//!     Err(error) => return Err(error.into()),
//! }
//! std::fs::remove_file(&file)?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is sent again
//!
//! | an attempt brings | then |
//! |---|---|
//! | no whole answer: no connection, one that broke, a time-out, half a body | the same again |
//! | 408, 425, 429, any 5xx | the same again, unless it is a replay, or its problem says `new_key`, `never` or `fix_request` in the member `retry`, or `Stripe-Should-Retry` is `false` |
//! | 409 | the same again, if it says that the first request is in progress (`idempotency_in_progress`, `retry` `same_key`, a `Retry-After`, or as Stripe says it) |
//! | anything else, 422 above all | that is the answer |
//!
//! Waits are 0.5 s, then twice as long each time, up to 30 s, with a random part, and begin behind what `Retry-After` asks
//! for. A call ends after a minute ([`total_time`](IdempotentClientBuilder::total_time)), and all calls share a
//! [`RetryBudget`], so that a server in trouble is not asked more than it can bear.
//!
//! # When a call gives up
//!
//! Then nobody knows whether the work was done. [`Error::GaveUp`] holds the operation: keep it, and send it later. As
//! long as the server remembers the key (24 hours mostly), that brings the answer, and does nothing twice. An operation older
//! than [`max_age`](IdempotentClientBuilder::max_age) is not sent.
//!
//! # Logs
//!
//! `tracing` events of the level debug: each operation, with its key, and each attempt. Nothing shows a key above that
//! level, nor a credential or a body at any.
//!
//! # TLS
//!
//! The application builds the client of reqwest, and so picks its TLS: `reqwest = { version = "0.13", features = ["rustls"] }`
//! say. This crate switches on none of its features.

mod answer;
mod attempt;
mod client;
mod clock;
mod error;
mod key;
mod operation;
mod problem;
mod retry;
mod settings;

pub use self::answer::{Answer, Outcome};
pub use self::client::{IdempotentClient, IdempotentClientBuilder};
pub use self::error::{Error, GaveUp, Last, Limit, OperationError};
pub use self::key::{IdempotencyKey, KeyError, KeyForm};
pub use self::operation::{IDEMPOTENCY_KEY, Operation, OperationBuilder};
pub use self::problem::{Advice, Problem};
pub use self::retry::budget::RetryBudget;
