//! `#[derive(Element)]`: the struct's `DTYPE`, and a check of its size and alignment where the struct is declared.
//!
//! `bytemuck::Pod`, which `Element` requires, checks that the bytes are plain data.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Error, Fields, Result};

/// How the compiler lays out the fields.
#[derive(Clone, Copy, PartialEq)]
enum Representation {
    C,
    Transparent,
}

/// The implementation of `vkarray::Element`.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "`Element` can be derived for structs, whose every value is valid"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "`Element` cannot be derived for a struct with parameters"));
    }
    let (name, span) = (&input.ident, input.ident.span());
    let dtype = match (representation(input)?, one_field(&data.fields)) {
        (Representation::Transparent, Some(field)) => quote! { <#field as ::vkarray::Element>::DTYPE },
        (Representation::Transparent, None) => return Err(Error::new(span, "a transparent element has one field")),
        (Representation::C, _) => quote! { ::vkarray::DType::record::<Self>() },
    };
    let check = quote_spanned! { span => const _: ::vkarray::DType = ::vkarray::DType::of::<#name>(); };
    Ok(quote! {
        impl ::vkarray::Element for #name {
            const DTYPE: ::vkarray::DType = #dtype;
        }
        #check
    })
}

fn one_field(fields: &Fields) -> Option<&syn::Type> {
    let mut fields = fields.iter();
    let first = fields.next()?;
    fields.next().is_none().then_some(&first.ty)
}

/// Reads `#[repr(C)]` or `#[repr(transparent)]`, which may stand among other representations.
fn representation(input: &DeriveInput) -> Result<Representation> {
    let mut found = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("C") {
                found = Some(Representation::C);
            } else if meta.path.is_ident("transparent") {
                found = Some(Representation::Transparent);
            } else if meta.input.peek(syn::token::Paren) {
                meta.input.parse::<proc_macro2::Group>()?; // Such as `align(16)`.
            }
            Ok(())
        })?;
    }
    let missing = || {
        let message = "`#[repr(C)]` or `#[repr(transparent)]` is needed: without one the compiler may order the fields in any way";
        Error::new(Span::call_site(), message)
    };
    found.ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String> {
        let tokens = expand(&syn::parse_str(text)?)?.to_string();
        Ok(tokens.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_struct_is_a_record_and_a_transparent_one_is_its_field() {
        let record = expanded("#[derive(Clone)] #[repr(C, align(16))] struct P { x: f32, id: u32 }").unwrap();
        assert!(
            record.contains("DTYPE : :: vkarray :: DType = :: vkarray :: DType :: record :: < Self > ()"),
            "{record}"
        );
        assert!(
            record.ends_with("const _ : :: vkarray :: DType = :: vkarray :: DType :: of :: < P > () ;"),
            "{record}"
        );
        let number = expanded("#[repr(transparent)] struct Meters(f64);").unwrap();
        assert!(number.contains("= < f64 as :: vkarray :: Element > :: DTYPE"), "{number}");
    }

    #[test]
    fn what_has_no_fixed_layout_is_refused() {
        for (text, message) in [
            ("struct P { x: f32 }", "`#[repr(C)]` or `#[repr(transparent)]` is needed"),
            ("#[repr(packed)] struct P { x: f32 }", "`#[repr(C)]` or `#[repr(transparent)]` is needed"),
            ("#[repr(C)] struct P<T> { x: T }", "a struct with parameters"),
            ("#[repr(C)] enum E { A }", "can be derived for structs"),
            ("#[repr(C)] union U { a: u8 }", "can be derived for structs"),
            ("#[repr(transparent)] struct P { x: f32, y: () }", "a transparent element has one field"),
        ] {
            let error = expanded(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
