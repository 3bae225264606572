#[derive(Policy)]
#[policy(scope = "tenant = caller.tenant_id(),shop,endpoint", ttl = "72h", engine = "extension")]
#[policy(mismatch = 409, replay_headers = "x-total", max_response = "64KiB")]
pub struct Shared<C: Caller> {
    #[context]
    pub caller: C,
    pub shop: ShopId<C>,
    version: Version,
    #[fingerprint(skip)]
    trace: Extension<Trace>,
}
