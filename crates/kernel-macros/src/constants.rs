//! The constants of a kernel as methods of its builder, and as arguments where they have no default.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Ident, Visibility};
use vkarray_shader::{Constant, ConstantDefault};

use crate::arguments::{identifier, rust_type};

/// The constants that the entry point depends on.
pub(crate) struct Constants {
    required: Vec<Setting>,
    others: Vec<Setting>,
}

/// One constant.
struct Setting {
    /// The name of the constant in the shader.
    name: String,
    method: Ident,
    ty: TokenStream,
}

impl Constants {
    pub(crate) fn new(constants: &[Constant]) -> Self {
        let (required, others): (Vec<&Constant>, Vec<&Constant>) =
            constants.iter().partition(|constant| constant.default == ConstantDefault::Required);
        let settings = |constants: Vec<&Constant>| constants.into_iter().map(Setting::new).collect();
        Self { required: settings(required), others: settings(others) }
    }

    /// The parameters of a function that takes the constants without a default.
    pub(crate) fn required(&self) -> Vec<TokenStream> {
        self.required.iter().map(|Setting { method, ty, .. }| quote! { #method: #ty }).collect()
    }

    /// The names of these parameters, to pass them on.
    pub(crate) fn given(&self) -> Vec<&Ident> {
        self.required.iter().map(|setting| &setting.method).collect()
    }

    /// Sets the constants without a default on a builder.
    pub(crate) fn set(&self) -> TokenStream {
        let set = self.required.iter().map(|Setting { name, method, .. }| quote! { .constant(#name, #method) });
        quote! { #(#set)* }
    }

    /// A method for each constant with a default.
    pub(crate) fn setters(&self, visibility: &Visibility) -> TokenStream {
        let setters = self.others.iter().map(|Setting { name, method, ty }| {
            let doc = format!("Sets the shader's constant `{name}`.");
            quote! {
                #[doc = #doc]
                #visibility fn #method(mut self, value: #ty) -> Self {
                    self.builder = self.builder.constant(#name, value);
                    self
                }
            }
        });
        quote! { #(#setters)* }
    }
}

impl Setting {
    fn new(constant: &Constant) -> Self {
        let taken = ["build", "new", "sanitize", "ctx"];
        let method = identifier(&constant.name.to_lowercase(), &taken, Span::call_site());
        Self { name: constant.name.clone(), method, ty: rust_type(constant.dtype) }
    }
}
