#[idempotent(
    policy = api::Shared<Tenant>,
    key = "event.id",
    in_progress = "wait 10s, then 503",
    endpoint = "orders.create",
    required = false
)]
async fn create(
    api: &api::Shared<Tenant>,
    tx: &mut PgConnection,
    #[fingerprint(with = versions::only_major)] version: Version,
    execution: &Execution,
    #[fingerprint(body)] Json(event): Json<Event>,
) -> Result<Json<Order>, AppError> {
    body()
}
