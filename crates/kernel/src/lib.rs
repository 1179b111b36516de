//! Compute kernels: from a checked shader to a pipeline, whether a device can run it, and whether a call fits it.
//!
//! **Is:** argument checks ([`check()`]), the number of workgroups ([`Groups`]); pipelines built once ([`KernelCache`]),
//! constant memory ([`ConstArray`]) and dispatch ([`Kernel`]).
//! **Is not:** shaders, which `vkarray-shader` translates and whose public names are here too; shapes: kernels take
//! whatever the array layer describes as an [`Arg`].
//!
//! Each folder is a subsystem, and its `mod.rs` says which file to read first. A folder uses those above it in this table
//! and none below:
//!
//! | folder | is | opens a device |
//! |---|---|---|
//! | `error` | what can be wrong with a kernel on a device, and with a call | no |
//! | `fits` | a signature compared with a device: capabilities, extensions, matrices, subgroups | no |
//! | `disk_cache` | files that outlive the program, in a folder that others cannot change | no |
//! | `call` | arguments and number of workgroups of one call, checked and packed; constant memory | constant memory only |
//! | `pipeline` | a kernel as Vulkan objects, its builder, its variants, the cache of all of them | yes |
//! | `dispatch` | a checked call recorded into a stream or a graph | yes |
//!
//! **Start here:** [`KernelBuilder`], then [`Kernel::dispatch`]. The examples have a `Context` and arrays, as `vkarray` has
//! them; `examples/include/context.rs` is what they use.

mod call;
mod disk_cache;
mod dispatch;
mod error;
mod fits;
mod pipeline;

pub use call::{
    AddressMode, Arg, ArgList, ArgShape, Argument, Arguments, ArrayArg, ArrayArgs, ArrayShape, AsArg, AsArray,
    ConstArray, Filter, Groups, Immediate, Items, MemoryArg, NamedArg, Packed, Reached, Sampled, Sampler,
    UnknownSampler, check, given_numbers, tuple_text,
};
pub use disk_cache::{CacheCounters, CacheFile, CacheMode, CacheSettings, StoreCounters};
pub use dispatch::DispatchNode;
pub use error::{Error, Mismatch, Result};
pub use fits::limits_of;
pub use pipeline::{Kernel, KernelBuilder, KernelCache, KernelLimit, KernelStatistics, WeakKernel};
pub use vkarray_shader::{
    Access, Alias, BadScalar, Bindings, Bool, Bounds, BufferBounds, ByteOrder, Capability, Complex32, Complex64,
    Constant, ConstantDefault, DType, Element, ElementType, Error as ShaderError, Fault, Field, Finding, FloatAtomic,
    FloatAtomicOp, Fold, Hint, ImageDim, ImageRole, ImageType, Leaf, Library, Limits, Loops, Malformed, MatrixProduct,
    MatrixRole, MatrixUse, MemorySpan, Module, Names, Options, OtherAccess, Param, ParamKind, Parameter, PushConstants,
    PushMember, Resource, Sanitize, Sanitized, ScalarValue, SharedVar, Signature, Site, SitePlace, Source, SpirvError,
    Subgroups, Subject, TexelFormat, Translated, Uncompiled, UnknownDType, Unvalidated, WordMatrices, assert_field,
    assert_size, check_bindings, check_workgroup,
};
