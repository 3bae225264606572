#[automatically_derived]
impl<T> ::idem_runtime::__private::ScopeValue for TenantId<T>
where
    Arc<T>: ::idem_runtime::__private::ScopeValue,
{
    fn scope_value(&self) -> ::std::borrow::Cow<'_, ::core::primitive::str> {
        <Arc<T> as ::idem_runtime::__private::ScopeValue>::scope_value(&self.id)
    }
}
