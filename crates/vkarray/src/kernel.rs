//! Kernels: sources and how they are built, arguments, constants, launch sizes and signatures.
//!
//! [`Context::kernel`](crate::Context::kernel) gives a [`KernelBuilder`], on which constants (`override` in WGSL) and options
//! are set; [`build`](KernelBuilder::build) gives a [`Kernel`]. Arguments are a tuple, in the order of the shader, or pairs
//! of a name and a value. A [`Signature`] says what a kernel takes, also without a device:
//!
//! ```
//! use vkarray::kernel::{Module, Options, Source};
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
//!
//! The macro [`kernel!`](crate::kernel!) makes a Rust type of a shader, whose arguments the compiler checks.

pub use vkarray_kernel::{
    Access, AddressMode, Arg, ArgList, ArgShape, Argument, Arguments, ArrayArg, ArrayArgs, ArrayShape, AsArg, AsArray,
    BadScalar, Bindings, Bounds, BufferBounds, CacheCounters, CacheMode, CacheSettings, Capability, ConstArray,
    Constant, ElementType, Error, Filter, FloatAtomic, FloatAtomicOp, ImageDim, ImageRole, ImageType, Immediate,
    KernelBuilder, KernelCache, KernelLimit, KernelStatistics, Library, Limits, Loops, MatrixUse, MemoryArg, Mismatch,
    Module, NamedArg, Names, Options, Param, ParamKind, Parameter, PushConstants, Reached, Resource, Sampled, Sampler,
    ScalarValue, ShaderError, SharedVar, Signature, SpirvError, Subgroups, TexelFormat, Translated, UnknownSampler,
    check, given_numbers, limits_of,
};

pub use crate::{Groups, Kernel, Source};
