//! What a kernel takes, read from its shader without a device: parameters, constants, types, what the device needs to have.
//!
//! ```
//! use vkarray::Source;
//! use vkarray::kernel::signature::{Module, Options};
//!
//! # fn main() -> vkarray::Result<()> {
//! let source = Source::wgsl(
//!     "@group(0) @binding(0) var<storage, read_write> image: array<f32>;
//!      var<immediate> gain: f32;
//!      @compute @workgroup_size(8, 8) fn brighten() { image[0] *= gain; }",
//! );
//! let translated = Module::parse(&source)?.translate(None, &Default::default(), &Options::default())?;
//! let names: Vec<_> = translated.signature.arguments().map(|argument| argument.name().to_owned()).collect();
//! assert_eq!(names, ["image", "gain"]);
//! # Ok(())
//! # }
//! ```

pub use vkarray_kernel::{
    Access, ArgShape, Argument, Bindings, Capability, Constant, ElementType, FloatAtomic, FloatAtomicOp, ImageDim,
    ImageRole, ImageType, Limits, Loops, Module, Names, Options, Param, ParamKind, Parameter, PushConstants, Signature,
    Subgroups, TexelFormat, Translated, check, given_numbers, limits_of,
};
