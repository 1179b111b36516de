//! The `kernel!` macro: a WGSL kernel as a Rust type, checked when the program is built.
//!
//! **Is:** the text between the braces (`declaration.rs`), and the type that is made from it (`expand.rs`, with the
//! types of arguments in `arguments.rs`, constants in `constants.rs` and the layout of structs in `structs.rs`). **Is
//! not:** a reader of shaders. `vkarray_shader` parses and reflects them, as it does when a kernel is built.
//!
//! The crate also has `#[derive(Element)]` (`element.rs`). Use both as `vkarray::kernel!` and `vkarray::Element`; their
//! documentation is here.
//! **Start here:** `declaration.rs`.

mod arguments;
mod constants;
mod declaration;
mod element;
mod expand;
mod structs;

use proc_macro::TokenStream;

/// Makes a type of a kernel: `build`, `launch`, `dispatch` and `record` with the argument types that the shader
/// declares.
///
/// ```ignore
/// vkarray::kernel! {
///     /// `y ← y + a x`.
///     pub struct Saxpy {
///         file: "shaders/saxpy.wgsl", // From the folder of `Cargo.toml`; or `wgsl: "…"`, the text itself.
///         entry: "saxpy",             // May be left out where the shader has only one.
///     }
/// }
///
/// let saxpy = Saxpy::build(&ctx)?;
/// saxpy.launch(Groups::covering(1000), &x, &y, 2.0)?;
/// ```
///
/// The type has these functions; `Context`, `Kernel`, `KernelBuilder` and `Error` are types of `vkarray`:
///
/// - `build(&Context)` builds the kernel as the shader declares it;
/// - `builder(&Context)` gives a builder with a method for each `override`, in lower case, and `sanitize` and
///   `build`. An `override` without a default is an argument of `build` and `builder`;
/// - `launch(Groups, …)` runs it on the context's default stream, `dispatch(&Stream, Groups, …)` on any stream. A storage
///   buffer takes a `&DeviceNDArray` of the shader's element type, its scalar where that is a vector or matrix; a uniform
///   buffer takes any array or `ConstArray`, an image any array, a sampler a `Sampler`; a push constant takes a number, or
///   an array of them for a vector. Buffers, images and samplers come first, by group and binding, then push constants;
/// - `record(&mut GraphRecorder, Groups, …)` adds it to a graph. The node that it returns has a function for each argument,
///   `set_x(&mut Graph, …)` for an argument `x`;
/// - `kernel()` gives the `Kernel` itself.
///
/// A buffer of structs takes an array of the host's struct, which is named beside the shader's: `structs: { Particle:
/// crate::Particle }`. Push constants whose struct is named there are one argument, a reference to the host's struct,
/// in place of one argument for each field. Offsets of all fields, by their names, and the whole size are compared when
/// the program is built.
///
/// # Errors
///
/// A shader that does not parse or is not valid is a build error with its line, and so are unknown entry points and structs
/// that lie differently. What depends on the device or the arguments (limits, features, lengths) is an error of `build` and
/// `dispatch`.
#[proc_macro]
pub fn kernel(input: TokenStream) -> TokenStream {
    let declaration = syn::parse_macro_input!(input as declaration::Declaration);
    expand::expand(&declaration).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements [`Element`](vkarray_shader::Element) for a struct of plain data, so that arrays can be made of it.
///
/// The struct derives `bytemuck::Pod` too, which checks that it has no padding, and is `#[repr(C)]` or
/// `#[repr(transparent)]`. A `#[repr(C)]` struct is a record of as many bytes as it has, 1 MiB at most; a
/// `#[repr(transparent)]` struct of one field has the field's dtype. Size and alignment are checked where the struct is
/// declared.
///
/// ```ignore
/// use vkarray::prelude::*;
///
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, Element)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     mass: f32,
/// }
/// assert_eq!(Particle::DTYPE, DType::Record(16));
/// ```
#[proc_macro_derive(Element)]
pub fn derive_element(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    element::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
