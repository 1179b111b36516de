//! The arguments of a kernel as parameters of a Rust function.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, Ident, Path, Result, Visibility};
use vkarray_shader::{DType, ElementType, Param, ParamKind, Parameter, Signature};

use crate::declaration::Declaration;

/// The longest tuple that is taken as arguments.
const TUPLE: usize = 12;

/// The parameters of a dispatch.
pub(crate) struct Arguments {
    arguments: Vec<Argument>,
}

struct Argument {
    /// The name of the argument in the shader.
    name: String,
    identifier: Ident,
    ty: TokenStream,
    /// The expression that is passed on.
    value: TokenStream,
}

impl Arguments {
    pub(crate) fn new(declaration: &Declaration, signature: &Signature) -> Result<Self> {
        let mut taken = ["stream", "groups", "graph"].map(str::to_owned).to_vec();
        let mut arguments = Vec::new();
        let block = signature.push_constants.as_ref();
        let whole = block.and_then(|push| Some((push, host_struct(declaration, &push.ty)?)));
        let mut add = |name: &str, ty, wrap: fn(&Ident) -> TokenStream| {
            let refused: Vec<&str> = taken.iter().map(String::as_str).collect();
            let identifier = identifier(name, &refused, Span::call_site());
            taken.push(identifier.to_string());
            let value = wrap(&identifier);
            arguments.push(Argument { name: name.to_owned(), identifier, ty, value });
        };
        let as_it_is: fn(&Ident) -> TokenStream = |identifier| quote! { #identifier };
        for parameter in signature.arguments() {
            match parameter {
                Parameter::Array(param) if param.bindings.is_list() => {
                    let array = array_type(declaration, param)?;
                    add(&param.name, quote! { &[#array] }, as_it_is);
                }
                Parameter::Array(param) => add(&param.name, array_type(declaration, param)?, as_it_is),
                Parameter::Scalar(_) if whole.is_some() => {}
                Parameter::Scalar(member) => add(&member.name, number_type(&member.ty), as_it_is),
            }
        }
        if let Some((push, host)) = whole {
            add(&push.name, quote! { &#host }, |identifier| quote! { ::vkarray::kernel::Immediate(#identifier) });
        }
        Ok(Self { arguments })
    }

    /// `x: &DeviceNDArray<f32>`, and so on.
    pub(crate) fn parameters(&self) -> Vec<TokenStream> {
        self.arguments.iter().map(|Argument { identifier, ty, .. }| quote! { #identifier: #ty }).collect()
    }

    /// For each argument, a function of a graph's node that replaces it.
    pub(crate) fn setters(&self, visibility: &Visibility) -> TokenStream {
        let setters = self.arguments.iter().map(|Argument { name, identifier, ty, value }| {
            let function = format_ident!("set_{}", identifier);
            let doc = format!("Replaces `{name}` from the next replay on. Returns at once.");
            quote! {
                #[doc = #doc]
                ///
                /// # Errors
                ///
                /// The errors of [`vkarray::stream::DispatchNode::set`].
                #visibility fn #function(self, graph: &mut ::vkarray::Graph, #identifier: #ty)
                    -> ::core::result::Result<(), ::vkarray::kernel::Error>
                {
                    self.node.set(graph, #name, #value)
                }
            }
        });
        quote! { #(#setters)* }
    }

    /// All arguments as `Arguments`: as a tuple if it is short enough, which is checked faster.
    pub(crate) fn passed(&self) -> TokenStream {
        let values = self.arguments.iter().map(|argument| &argument.value);
        if self.arguments.len() <= TUPLE {
            return if self.arguments.is_empty() {
                quote! { () }
            } else {
                quote! { (#(#values,)*) }
            };
        }
        let names = self.arguments.iter().map(|argument| &argument.name);
        quote! { [#((#names, ::vkarray::kernel::AsArg::as_arg(&#values))),*] }
    }
}

/// The Rust type of a push constant.
fn number_type(ty: &ElementType) -> TokenStream {
    let leaves = ty.leaves();
    let (n, scalar) = (leaves.len(), rust_type(leaves.first().map_or(DType::U32, |leaf| leaf.1)));
    if matches!(ty, ElementType::Scalar(_)) {
        scalar
    } else {
        quote! { [#scalar; #n] }
    }
}

/// The Rust type of the argument for a buffer, an image or a sampler.
fn array_type(declaration: &Declaration, param: &Param) -> Result<TokenStream> {
    match param.kind {
        ParamKind::Storage => {}
        ParamKind::Sampler => return Ok(quote! { ::vkarray::kernel::Sampler }),
        // What fits is checked when the kernel runs: the format of an image may follow from the array.
        ParamKind::Uniform if param.bindings.is_list() => return Ok(quote! { &impl ::vkarray::kernel::AsArray }),
        ParamKind::Uniform | ParamKind::Texels | ParamKind::Image | ParamKind::Address => {
            return Ok(quote! { &impl ::vkarray::kernel::AsArg });
        }
    }
    let element = match &param.ty {
        ElementType::Array { element, .. } => element,
        ty => ty,
    };
    let ty = match element {
        // A struct followed by elements of another type: only bytes have this form.
        ElementType::Struct { .. } if element.runtime_array().is_some() => quote! { u8 },
        ElementType::Struct { name, .. } => {
            let host = host_struct(declaration, name).ok_or_else(|| {
                let buffer = &param.name;
                let message = format!(
                    "`{buffer}` holds the shader's struct `{name}`; name the host's: `structs: {{ {name}: … }}`"
                );
                Error::new(declaration.name.span(), message)
            })?;
            quote! { #host }
        }
        ty => rust_type(ty.scalar().unwrap_or(DType::U8)),
    };
    Ok(quote! { &::vkarray::DeviceNDArray<#ty> })
}

/// The host's struct for a struct of the shader.
fn host_struct<'a>(declaration: &'a Declaration, name: &str) -> Option<&'a Path> {
    declaration.structs.iter().find(|pair| pair.shader == name).map(|pair| &pair.host)
}

/// The host's type for a scalar.
pub(crate) fn rust_type(dtype: DType) -> TokenStream {
    match dtype {
        DType::F16 => quote! { ::vkarray::half::f16 },
        DType::BF16 | DType::Complex32 | DType::Complex64 | DType::Record(_) => quote! { u8 },
        primitive => format_ident!("{}", primitive.short_name()).into_token_stream(),
    }
}

/// A shader's name as a Rust identifier: keywords become raw identifiers, and a name that is taken gets an underscore
/// at its end.
pub(crate) fn identifier(name: &str, taken: &[&str], span: Span) -> Ident {
    let mut name = name.to_owned();
    while taken.contains(&name.as_str()) || ["self", "Self", "super", "crate", "_"].contains(&name.as_str()) {
        name.push('_');
    }
    syn::parse_str::<Ident>(&name)
        .map_or_else(|_| Ident::new_raw(&name, span), |plain| Ident::new(&plain.to_string(), span))
}
