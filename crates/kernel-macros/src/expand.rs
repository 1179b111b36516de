//! [`expand`]: makes the type of a declaration.
//!
//! The shader is parsed and reflected here once, in the same way as when the kernel is built.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, LitStr, Result};
use vkarray_shader::{Error as KernelError, Module, Options, Signature};

use crate::arguments::Arguments;
use crate::constants::Constants;
use crate::declaration::{Declaration, Source};
use crate::structs;

/// The type, its builder and their functions.
pub(crate) fn expand(declaration: &Declaration) -> Result<TokenStream> {
    let shader = Shader::read(&declaration.source)?;
    let span = declaration.entry.as_ref().map_or(shader.span, LitStr::span);
    let entry = declaration.entry.as_ref().map(LitStr::value);
    let signature = reflect(&shader, entry.as_deref())
        .map_err(|(error, is_entry)| Error::new(if is_entry { span } else { shader.span }, error))?;
    let checks = structs::checks(declaration, &signature)?;
    let arguments = Arguments::new(declaration, &signature)?;
    let constants = Constants::new(&signature.constants);
    let kernel = kernel(declaration, &arguments, &constants);
    let node = node(declaration, &arguments);
    let builder = builder(declaration, &shader, &signature.entry, &constants);
    Ok(quote! { #kernel #node #builder #checks })
}

/// The shader's text, and how the program reads it.
struct Shader {
    name: String,
    text: String,
    tokens: TokenStream,
    span: Span,
}

impl Shader {
    fn read(source: &Source) -> Result<Self> {
        match source {
            Source::Text(text) => {
                let tokens = quote! { #text };
                Ok(Self { name: "kernel!".to_owned(), text: text.value(), tokens, span: text.span() })
            }
            Source::File(path) => {
                let unreadable =
                    |reason: String| Error::new(path.span(), format!("cannot read {}: {reason}", path.value()));
                let folder = std::env::var_os("CARGO_MANIFEST_DIR")
                    .ok_or_else(|| unreadable("CARGO_MANIFEST_DIR is not set".to_owned()))?;
                let name = path.value();
                let text = std::fs::read_to_string(PathBuf::from(folder).join(&name))
                    .map_err(|error| unreadable(error.to_string()))?;
                // `include_str!` makes the file a dependency of the program, which is then rebuilt when the file
                // changes.
                let tokens =
                    quote! { ::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #path)) };
                Ok(Self { name, text, tokens, span: path.span() })
            }
        }
    }
}

/// The signature of the entry point; otherwise the message of the fault, and whether the name of the entry point is at
/// fault.
///
/// A constant that must be set has no value yet. It changes no type of an argument, so any value does.
fn reflect(shader: &Shader, entry: Option<&str>) -> std::result::Result<Signature, (String, bool)> {
    let source = vkarray_shader::Source::wgsl(shader.text.clone()).named(shader.name.clone());
    let refused = |error: KernelError| {
        let is_entry = matches!(error, KernelError::UnknownEntryPoint { .. } | KernelError::AmbiguousEntryPoint { .. });
        (error.to_string(), is_entry)
    };
    let module = Module::parse(&source).map_err(refused)?;
    let mut constants = BTreeMap::new();
    loop {
        match module.translate(entry, &constants, &Options::default()) {
            Ok(translated) => return Ok(translated.signature),
            Err(KernelError::MissingConstant { constant, .. }) if !constants.contains_key(&constant) => {
                constants.insert(constant, 1.0);
            }
            Err(error) => return Err(refused(error)),
        }
    }
}

fn kernel(declaration: &Declaration, arguments: &Arguments, constants: &Constants) -> TokenStream {
    let Declaration { attributes, visibility, name, .. } = declaration;
    let (parameters, passed) = (arguments.parameters(), arguments.passed());
    let (required, given) = (constants.required(), constants.given());
    let (builder, node) = (builder_name(declaration), node_name(declaration));
    quote! {
        #(#attributes)*
        #[derive(Clone, Debug)]
        #visibility struct #name {
            kernel: ::vkarray::Kernel,
        }

        #[allow(dead_code, non_snake_case, clippy::too_many_arguments, reason = "the shader decides")]
        impl #name {
            /// Builds the kernel as the shader declares it, or returns the one built before.
            ///
            /// # Errors
            ///
            /// The errors of [`vkarray::kernel::KernelBuilder::build`].
            #visibility fn build(ctx: &::vkarray::Context #(, #required)*)
                -> ::core::result::Result<Self, ::vkarray::kernel::Error>
            {
                Self::builder(ctx #(, #given)*).build()
            }

            /// Starts to build the kernel.
            #visibility fn builder(ctx: &::vkarray::Context #(, #required)*) -> #builder {
                #builder::new(ctx #(, #given)*)
            }

            /// Runs the kernel over `groups` on the default stream of its context. Does not wait for it.
            ///
            /// # Errors
            ///
            /// The errors of [`vkarray::Kernel::launch`].
            #visibility fn launch(
                &self,
                groups: ::vkarray::Groups<'_>,
                #(#parameters),*
            ) -> ::core::result::Result<(), ::vkarray::kernel::Error> {
                self.kernel.launch(groups, #passed)
            }

            /// Runs the kernel over `groups`, in the order of `stream`. Does not wait for it.
            ///
            /// # Errors
            ///
            /// The errors of [`vkarray::Kernel::dispatch`].
            #visibility fn dispatch(
                &self,
                stream: &::vkarray::Stream,
                groups: ::vkarray::Groups<'_>,
                #(#parameters),*
            ) -> ::core::result::Result<(), ::vkarray::kernel::Error> {
                self.kernel.dispatch(stream, groups, #passed)
            }

            /// Adds to a graph that the kernel runs over `groups`; the node replaces arguments between replays.
            ///
            /// # Errors
            ///
            /// The errors of [`vkarray::Kernel::record`].
            #visibility fn record(
                &self,
                graph: &mut ::vkarray::stream::GraphRecorder,
                groups: ::vkarray::Groups<'_>,
                #(#parameters),*
            ) -> ::core::result::Result<#node, ::vkarray::kernel::Error> {
                ::core::result::Result::Ok(#node { node: self.kernel.record(graph, groups, #passed)? })
            }

            /// The kernel without the types of its arguments.
            #visibility fn kernel(&self) -> &::vkarray::Kernel {
                &self.kernel
            }
        }
    }
}

fn node_name(declaration: &Declaration) -> syn::Ident {
    format_ident!("{}Node", declaration.name)
}

/// A node of a graph that runs the kernel.
fn node(declaration: &Declaration, arguments: &Arguments) -> TokenStream {
    let Declaration { visibility, name, .. } = declaration;
    let (node, setters) = (node_name(declaration), arguments.setters(visibility));
    let doc = format!("A dispatch of [`{name}`] in a graph.");
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #node {
            node: ::vkarray::stream::DispatchNode,
        }

        #[allow(dead_code, non_snake_case, reason = "the shader decides")]
        impl #node {
            #setters

            /// The node without the types of the kernel's arguments.
            #visibility fn node(self) -> ::vkarray::stream::DispatchNode {
                self.node
            }
        }
    }
}

fn builder_name(declaration: &Declaration) -> syn::Ident {
    format_ident!("{}Builder", declaration.name)
}

fn builder(declaration: &Declaration, shader: &Shader, entry: &str, constants: &Constants) -> TokenStream {
    let Declaration { visibility, name, .. } = declaration;
    let builder = builder_name(declaration);
    let (setters, required, set) = (constants.setters(visibility), constants.required(), constants.set());
    let Shader { name: source_name, tokens: text, .. } = shader;
    let doc = format!("How [`{name}`] is to be built.");
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug)]
        #[must_use = "a kernel is built by `build`"]
        #visibility struct #builder {
            builder: ::vkarray::kernel::KernelBuilder,
        }

        #[allow(dead_code, non_snake_case, clippy::too_many_arguments, reason = "the shader decides")]
        impl #builder {
            fn new(ctx: &::vkarray::Context #(, #required)*) -> Self {
                let source = ::vkarray::Source::wgsl(#text).named(#source_name);
                let builder = ctx.kernel(source).entry(#entry) #set;
                Self { builder }
            }

            #setters

            /// Builds checks into the kernel; see [`vkarray::kernel::KernelBuilder::sanitize`].
            #visibility fn sanitize(mut self, on: bool) -> Self {
                self.builder = self.builder.sanitize(on);
                self
            }

            /// Builds the kernel, or returns the one built before from the same things.
            ///
            /// # Errors
            ///
            /// The errors of [`vkarray::kernel::KernelBuilder::build`].
            #visibility fn build(self) -> ::core::result::Result<#name, ::vkarray::kernel::Error> {
                ::core::result::Result::Ok(#name { kernel: self.builder.build()? })
            }
        }
    }
}

#[cfg(test)]
mod tests;
