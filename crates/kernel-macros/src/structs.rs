//! [`checks`]: compares the structs of a shader with the host's, in the program that is built.
//!
//! Only the compiler knows the offsets of the host's fields. The checks are therefore constants that do not evaluate
//! where two offsets differ.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result};
use vkarray_shader::{ElementType, PushConstants, Signature};

use crate::arguments::identifier;
use crate::declaration::{Declaration, StructPair};

/// A check for each struct that the declaration names.
pub(crate) fn checks(declaration: &Declaration, signature: &Signature) -> Result<TokenStream> {
    let mut found = Vec::new();
    // Push constants that are not a struct have one member without a name.
    let is_struct = |push: &&PushConstants| push.members.iter().all(|member| member.ty.to_string() != push.ty);
    if let Some(push) = signature.push_constants.as_ref().filter(is_struct) {
        let fields = push.members.iter().map(|member| (member.name.as_str(), member.offset)).collect();
        found.push(ShaderStruct { name: &push.ty, fields, bytes: push.bytes });
    }
    for parameter in signature.arguments() {
        collect(parameter.ty(), &mut found);
    }
    let check = |pair: &StructPair| {
        let known = found.iter().find(|known| pair.shader == *known.name);
        known.map(|known| known.check(pair)).ok_or_else(|| {
            let names: Vec<_> = found.iter().map(|known| format!("`{}`", known.name)).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Error::new(
                pair.shader.span(),
                format!("no argument of the kernel holds a struct `{}`; there is {there}", pair.shader),
            )
        })
    };
    declaration.structs.iter().map(check).collect()
}

/// A struct of the shader.
struct ShaderStruct<'a> {
    name: &'a str,
    /// The names and offsets of the fields.
    fields: Vec<(&'a str, u32)>,
    bytes: u32,
}

fn collect<'a>(ty: &'a ElementType, found: &mut Vec<ShaderStruct<'a>>) {
    match ty {
        ElementType::Array { element, .. } => collect(element, found),
        ElementType::Struct { name, fields, bytes } if found.iter().all(|known| known.name != name) => {
            let offsets = fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
            found.push(ShaderStruct { name, fields: offsets, bytes: *bytes });
            fields.iter().for_each(|field| collect(&field.ty, found));
        }
        _ => {}
    }
}

impl ShaderStruct<'_> {
    fn check(&self, pair: &StructPair) -> TokenStream {
        let (host, name) = (&pair.host, self.name);
        let fields = self.fields.iter().map(|&(text, offset)| {
            let offset = offset as usize;
            let field = identifier(text, &[], pair.shader.span());
            quote! { ::vkarray::private::assert_field(#name, #text, #offset, ::core::mem::offset_of!(#host, #field)); }
        });
        let bytes = self.bytes as usize;
        quote! {
            const _: () = {
                #(#fields)*
                ::vkarray::private::assert_size(#name, #bytes, ::core::mem::size_of::<#host>());
            };
        }
    }
}
