#[automatically_derived]
impl<T> ::idem_runtime::ScopeValue for TenantId<T>
where
    Arc<T>: ::idem_runtime::ScopeValue,
{
    fn scope_value(&self) -> ::std::borrow::Cow<'_, ::core::primitive::str> {
        <Arc<T> as ::idem_runtime::ScopeValue>::scope_value(&self.id)
    }
}
