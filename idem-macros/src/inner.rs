//! `inner = "name"`: the handler as written stays callable under a name of its own.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::LitStr;
use syn::ext::IdentExt;

use crate::errors::{Mistake, Mistakes};

/// The function beside the handler that holds what was written.
#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) name: Ident,
    /// Whether it is an associated function, called as `Self::name`.
    pub(crate) is_associated: bool,
}

impl Inner {
    /// Reads `name` or `Self::name`.
    pub(crate) fn read(literal: &LitStr, mistakes: &mut Mistakes) -> Option<Self> {
        let text = literal.value();
        let (is_associated, name) = match text.strip_prefix("Self::") {
            Some(name) => (true, name),
            None => (false, text.as_str()),
        };
        match syn::parse_str::<Ident>(name) {
            Ok(mut ident) if !name.contains('/') => {
                ident.set_span(literal.span());
                Some(Self { name: ident, is_associated })
            }
            _ => {
                mistakes.add(Mistake::on(literal, format!("`{text}` is not a name for a function")).help(
                    r#"write `inner = "create_order_inner"`, or `"Self::create_order_inner"` in an `impl`"#,
                ));
                None
            }
        }
    }

    /// The mistake of a name that is taken by the handler itself.
    pub(crate) fn is_the_handlers(&self) -> Mistake {
        let name = &self.name;
        let prefix = if self.is_associated { "Self::" } else { "" };
        Mistake::on(name, format!("`{name}` is the name of the handler, which is another function"))
            .help(format!("write `inner = \"{prefix}{}_inner\"`", name.unraw()))
    }

    /// For a handler that says `Self`, which only a function beside it can.
    pub(crate) fn beside(handler: &Ident) -> Self {
        let name = Ident::new(&format!("__{}", handler.unraw()), handler.span());
        Self { name, is_associated: true }
    }

    /// How the handler calls it.
    pub(crate) fn path(&self) -> TokenStream {
        let name = &self.name;
        if self.is_associated {
            let at = name.span();
            quote_spanned!(at=> Self::#name)
        } else {
            name.to_token_stream()
        }
    }
}
