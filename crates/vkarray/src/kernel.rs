//! Kernels: sources and how they are built, signatures, arguments and launch sizes.

pub use vkarray_kernel::{
    Access, Arg, ArgList, ArgShape, Argument, Arguments, ArrayArg, ArrayShape, AsArg, Bounds, BufferBounds,
    CacheCounters, CacheMode, CacheSettings, Capability, ConstArray, Constant, ConstantDefault, ElementType, Error,
    Field, Fold, Hint, Immediate, KernelBuilder, KernelCache, Leaf, Library, Limits, Loops, Malformed, MatrixRole,
    MatrixUse, Mismatch, Module, NamedArg, Names, Options, Packed, Param, ParamKind, Parameter, PushConstants,
    PushMember, ScalarValue, SharedVar, Signature, StoreCounters, Subgroups, Translated, Unvalidated, check,
};

pub use crate::{Groups, Kernel, Source};
