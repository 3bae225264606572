//! Handlers beside a trait that the application implements for every type: compiled, not run.
//!
//! Method look-up takes such a trait's `&self` before a type's own `&mut self`, and its `self` before either.

#![expect(dead_code, reason = "that it compiles is the promise")]

/// Every method name that an expansion calls on something, and those of the types it calls them on.
macro_rules! methods {
    ($receiver:ty) => {
        methods! {
            $receiver: admit answer as_inner call detach endpoint execute finalize fingerprint fingerprinter global into_inner
                key lend lent look parts poll received record reserve run_limit scope skipped tasks ttl
        }
    };
    ($receiver:ty: $($name:ident)*) => {
        $(
            fn $name(self: $receiver) -> Wrong {
                Wrong
            }
        )*
    };
}

/// A module with such a trait, and with a handler for each kind of argument.
macro_rules! beside_methods_that_take {
    ($receiver:ty as $module:ident) => {
        mod $module {
            use axum::Json;
            use axum::extract::{Query, State};
            use idem_runtime::{Execution, Fingerprinter, Policy, idempotent};
            use serde::{Deserialize, Serialize};
            use sqlx::PgConnection;

            /// What no expansion can be meant to get.
            struct Wrong;

            trait Everywhere: Sized {
                methods!($receiver);
            }

            impl<T> Everywhere for T {}

            #[derive(Serialize, Deserialize)]
            struct Order {
                id: String,
            }

            #[derive(Policy)]
            #[policy(scope = "endpoint", in_progress = "wait 5s")]
            struct Api {
                version: Query<Order>,
            }

            fn hash(order: &Query<Order>, into: &mut Fingerprinter) {
                into.bytes("order", order.id.as_bytes());
            }

            #[idempotent(scope = "order.id,endpoint", required = false)]
            async fn compared(_tx: &mut PgConnection, Json(order): Json<Order>) -> Result<String, String> {
                Ok(order.id)
            }

            #[idempotent(scope = "global", key = "order.id")]
            async fn skipped(
                _tx: &mut PgConnection,
                _execution: &Execution,
                #[fingerprint(skip)] State(_limit): State<u64>,
                #[fingerprint(skip)] Query(_debug): Query<Order>,
                Json(order): Json<Order>,
            ) -> String {
                order.id
            }

            #[idempotent(policy = Api, key = "order.id")]
            async fn received(
                _tx: &mut PgConnection,
                api: &Api,
                #[fingerprint(with = hash)] _version: Query<Order>,
                #[fingerprint(body)] Json(order): Json<Order>,
            ) -> String {
                format!("{} {}", api.version.id, order.id)
            }
        }
    };
}

beside_methods_that_take!(Self as a_value);
beside_methods_that_take!(&Self as a_reference);
beside_methods_that_take!(&mut Self as a_mutable_reference);
