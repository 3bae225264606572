//! Trait objects and function pointers as extensions; the lifetimes in their own signatures are theirs.

use std::sync::Arc;

use axum::routing::post;
use axum::{Extension, Router};
use idem_examples::reference::AppError;
use idem_runtime::{Inert, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

trait Prices: Send + Sync {
    fn price(&self, item: &str) -> u64;
}

impl Inert for dyn Prices {}

struct Flat(u64);

impl Prices for Flat {
    fn price(&self, _: &str) -> u64 {
        self.0
    }
}

type Shorten = fn(&str) -> &str;
type Count = Arc<dyn Fn(&str) -> usize + Send + Sync>;

#[expect(clippy::type_complexity, reason = "an alias would hide what this shows")]
#[idempotent(scope = "endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    Extension(prices): Extension<Arc<dyn Prices>>,
    #[context] Extension(shorten): Extension<Shorten>,
    #[context] Extension(length): Extension<fn(&str) -> usize>,
    #[context] Extension(count): Extension<Arc<dyn Fn(&str) -> usize + Send + Sync>>,
    item: String,
) -> Result<String, AppError> {
    order(tx, &item).await?;
    Ok(format!("{} {} {} {}", prices.price(&item), shorten(&item), length(&item), count(&item)))
}

#[tokio::test]
async fn an_extension_may_be_a_trait_object_or_a_function() {
    let prices: Arc<dyn Prices> = Arc::new(Flat(5));
    let shorten: Shorten = |item| item.trim();
    let length: fn(&str) -> usize = str::len;
    let count: Count = Arc::new(|item| item.matches('a').count());
    let routes = Router::new().route("/orders", post(create)).layer((
        Extension(prices),
        Extension(shorten),
        Extension(length),
        Extension(count),
    ));
    serve(routes, async |bench, server| {
        let answer = twice(server, &r1().body("tea ")).await;

        assert_eq!(answer.text(), "5 tea 4 1");
        bench.assert_holds(1, 1).await;
    })
    .await;
}
