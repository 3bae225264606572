#[automatically_derived]
impl<
    C: ::core::marker::Send + ::core::marker::Sync + 'static + Caller,
> ::idem_runtime::__private::Sealed for Shared<C>
where
    ShopId<C>: ::idem_runtime::__private::ScopeValue,
{}
#[automatically_derived]
impl<
    C: ::core::marker::Send + ::core::marker::Sync + 'static + Caller,
> ::idem_runtime::__private::Policy for Shared<C>
where
    ShopId<C>: ::idem_runtime::__private::ScopeValue,
{
    const OPTIONS: ::idem_runtime::__private::Options = ::idem_runtime::__private::Options::NONE
        .ttl(259200u64)
        .mismatch(409u16)
        .replay_headers(&["x-total"])
        .max_response(65536);
    type Engine = ::idem_runtime::__private::FromExtension;
    fn describe<__DB: ::idem_runtime::__private::Store>(
        &self,
        call: &mut ::idem_runtime::__private::Call<__DB>,
    ) {
        let _ = &self.caller;
        {
            call.fingerprint::<Version>(&self.version);
        }
        {
            ::idem_runtime::__private::Door::of(&self.trace).lets_through();
        }
        {
            let caller = &self.caller;
            call.scope("tenant", &caller.tenant_id());
        }
        {
            let shop = &self.shop;
            call.scope("shop", shop);
        }
        call.endpoint();
    }
}
#[automatically_derived]
impl<
    C: ::core::marker::Send + ::core::marker::Sync + 'static + Caller,
    __S: ::core::marker::Send + ::core::marker::Sync,
> ::idem_runtime::__private::FromPolicyParts<__S> for Shared<C>
where
    ShopId<C>: ::idem_runtime::__private::ScopeValue,
    C: ::idem_runtime::__private::PolicyField<__S>,
    ShopId<C>: ::idem_runtime::__private::PolicyField<__S>,
    Version: ::idem_runtime::__private::PolicyField<__S>,
    Extension<Trace>: ::idem_runtime::__private::PolicyField<__S>,
{
    fn from_policy_parts<'__parts>(
        parts: &'__parts mut ::idem_runtime::__private::Parts,
        state: &'__parts __S,
    ) -> ::core::pin::Pin<
        ::std::boxed::Box<
            dyn ::core::future::Future<
                Output = ::core::result::Result<
                    Self,
                    ::idem_runtime::__private::Response,
                >,
            > + ::core::marker::Send + '__parts,
        >,
    > {
        ::std::boxed::Box::pin(async move {
            let _ = (&parts, state);
            ::core::result::Result::Ok(Self {
                caller: ::idem_runtime::__private::extract::<C, __S>(parts, state)
                    .await?,
                shop: ::idem_runtime::__private::extract::<ShopId<C>, __S>(parts, state)
                    .await?,
                version: ::idem_runtime::__private::extract::<Version, __S>(parts, state)
                    .await?,
                trace: ::idem_runtime::__private::extract::<
                    Extension<Trace>,
                    __S,
                >(parts, state)
                    .await?,
            })
        })
    }
}
