//! Every way in which a request can end, under one key: for what an operator sees of each.
//!
//! A way sends its requests and says, in the words of `docs/observability.md`, how each of them ended. Each has a tenant
//! of its own, so that the key is a new one to it.

mod broken;
mod refused;
mod run;
mod waiting;

use std::fmt;
use std::sync::Arc;

use axum::Router;

use crate::bench::{Bench, Launch};
use crate::database::TestDatabase;
use crate::http::{Request, r1};

/// How the requests of a way ended.
pub type Outcomes = Vec<&'static str>;

/// What all ways have in common.
pub struct Setting<'b, DB: TestDatabase> {
    bench: &'b Bench<DB>,
    key: &'static str,
    wrap: Arc<dyn Fn(Router) -> Router + Send + Sync>,
}

impl<'b, DB: TestDatabase> Setting<'b, DB> {
    /// Every request has the key `key`, in which there is nothing to be escaped, and every router is given to `wrap`.
    pub fn new(
        bench: &'b Bench<DB>,
        key: &'static str,
        wrap: impl Fn(Router) -> Router + Send + Sync + 'static,
    ) -> Self {
        Self { bench, key, wrap: Arc::new(wrap) }
    }

    fn launch(&self) -> Launch<'b, DB> {
        let wrap = Arc::clone(&self.wrap);
        self.bench.server().wrap(move |router| wrap(router))
    }

    /// R1 of this tenant.
    fn request(&self, tenant: &str) -> Request {
        r1().tenant(tenant).key(format!("\"{}\"", self.key))
    }
}

impl<DB: TestDatabase> fmt::Debug for Setting<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Goes every way, one after the other, and has `check` look at each: its name, and how its requests ended.
///
/// # Panics
/// The future panics if a request is answered otherwise than its way has it.
pub async fn go<DB: TestDatabase>(setting: &Setting<'_, DB>, mut check: impl AsyncFnMut(&str, &Outcomes)) {
    macro_rules! go {
        ($($group:ident { $($way:ident)* })*) => {
            $($({
                let outcomes = Box::pin($group::$way(setting)).await;
                check(concat!(stringify!($group), "::", stringify!($way)), &outcomes).await;
            })*)*
        };
    }
    go! {
        run {
            executed_and_replayed
            by_another_process
            failed_and_stored
            failed_and_not_stored
            panicked
            over_the_run_limit
            too_large
            without_a_key
            with_the_engine_off
            by_a_safe_method
            with_the_key_in_the_body
            panicking_after_commit
        }
        refused {
            without_a_key_or_with_none_that_is_valid
            while_the_first_runs
            while_another_process_runs
            for_want_of_a_connection
            for_want_of_a_database
            for_want_of_a_table
            while_draining
            without_a_scope
            without_a_canonical_form
            under_the_id_of_another
        }
        waiting {
            for_an_answer
            in_vain
            in_vain_for_another_process
            and_leaving
            and_leaving_another_process
        }
        broken {
            by_a_commit_that_is_refused
            by_a_transaction_that_is_ended
            by_a_drain
            by_a_row_without_an_answer
            by_messages_that_quote_the_key
        }
    }
}
