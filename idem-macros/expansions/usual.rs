/// Creates an order.
#[idempotent(scope = "tenant,endpoint", ttl = "48h")]
pub async fn create(
    tx: &mut PgConnection,
    tenant: TenantId,
    Json(req): Json<CreateOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    let order = insert_order(&mut *tx, &tenant, &req).await?;
    Ok((StatusCode::CREATED, Json(order)))
}
