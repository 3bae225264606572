#[idempotent(scope = "endpoint")]
async fn create(
    /// Not for the outer function.
    tx: &mut PgTransaction<'_>,
    #[fingerprint(skip)] Query(trace): Query<Trace>,
    #[context] State(app): State<App>,
    #[cfg(feature = "audit")]
    #[expect(unused)]
    Extension(audit): Extension<Audit>,
    _: HeaderMap,
    _session: Session,
    create: Create,
    Json(Order { item, qty }): Json<Order>,
) {
    body()
}
