//! Why one argument does not fit its parameter: [`Mismatch`], what [`Error::Argument`](crate::Error::Argument) carries.
//!
//! Each message continues ``kernel `scale`: `x` ``. Lengths, offsets and strides are in bytes.

use vkarray_allocator::ImageProblem;
use vkarray_shader::TexelFormat;

/// Why an argument does not fit. `ty` is the parameter's type in the shader, `given` describes the argument. Sizes are in
/// bytes.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Error, Groups, Mismatch, Source};
///
/// let ctx = Context::open_default()?;
/// let add = ctx
///     .kernel(Source::wgsl(
///         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
///          var<immediate> n: u32;
///          @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
///              if id.x < arrayLength(&x) { x[id.x] += n; }
///          }",
///     ))
///     .build()?;
/// let x = ctx.zeros::<f32>(4)?;
/// let Err(Error::Argument { param, problem, .. }) = add.launch(Groups::covering(4), (&x, 1_u32)) else {
///     unreachable!("an array of f32 does not fit an array of u32")
/// };
/// assert_eq!(param, "x");
/// assert!(matches!(*problem, Mismatch::DType { .. }), "{problem}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the messages, and the enum's text says what they hold")]
pub enum Mismatch {
    /// Something else where a sampler is wanted.
    #[error("is a sampler, got {given}")]
    WantsSampler { given: String },
    /// A sampler that Vulkan does not have, or that the kernel or one of its images does not take.
    #[error("takes no such sampler: {problem}")]
    Sampler { problem: &'static str },
    /// An array whose axes are not those of the image.
    #[error("is {ty}, an array of shape {axes}, got {given}")]
    ImageShape { ty: String, axes: String, given: String },
    /// Texels of a number of channels that no device has, or that few have.
    #[error("is {ty}, got {given}, {channels} numbers a texel; images have 1, 2 or 4: pad the last axis")]
    Channels { ty: String, given: String, channels: usize },
    /// An image that the device does not have.
    #[error("is {ty}, got {given}; the device has no such image of {format}: {problem}")]
    NoSuchImage { ty: String, given: String, format: TexelFormat, problem: Box<ImageProblem> },
    /// A scalar where an array is wanted.
    #[error("is an array, {ty}, got {given}")]
    WantsArray { ty: String, given: String },
    /// Something else where a list of arrays is wanted.
    #[error("is an array of bindings, {ty}, got {given}; give a list of arrays, as in `&[&x, &y]`")]
    WantsList { ty: String, given: String },
    /// A list of arrays that is not as long as the array of bindings.
    #[error("is an array of bindings, {ty}, which takes {expected} arrays, got {given}")]
    ListLength { ty: String, expected: usize, given: usize },
    /// An array where a scalar is wanted.
    #[error("is a scalar, {ty}, got {given}")]
    WantsScalar { ty: String, given: String },
    /// A number of another type. Numbers are never converted silently.
    #[error("is {ty}, got {given}")]
    ScalarType { ty: String, given: String },
    /// Too few or too many numbers for a vector.
    #[error("is {ty}, {expected} numbers, got {given}")]
    ScalarCount { ty: String, expected: usize, given: usize },
    /// Something else where all push constants are wanted as one struct.
    #[error("is {ty}, the push constants as a whole, got {given}")]
    WantsBlock { ty: String, given: String },
    /// A struct that has the size of the push constants neither with padding nor without.
    #[error("is {ty}, {expected} bytes of push constants, {packed} without padding, got a struct of {given} bytes")]
    BlockSize { ty: String, expected: u32, packed: u32, given: usize },
    /// An array of another element type; `advice` says what to do.
    #[error("is {ty}, got {given}{advice}")]
    DType { ty: String, given: String, advice: String },
    /// An array with gaps or in another order.
    #[error("needs a contiguous array, got {given}, which is not; copy it first, with `to_contiguous`")]
    NotContiguous { given: String },
    /// An array with strides for a shader that does not ask for its strides.
    #[error(
        "got {given}, and the shader asks for no strides; declare the push constants `{name}_first` and `{name}_strides`, \
         or a struct `{name}_layout` with the fields `first` and `strides`"
    )]
    NoStrides { name: String, given: String },
    /// A push constant that is named as the layout of an array, and asks for something else.
    #[error("is {ty}, and an array with strides fills only `first`, `shape` and `strides`")]
    NoLayout { ty: String },
    /// An array with strides for a parameter that is not an array without a length, of elements of its size.
    #[error("is {ty}, got {given}; only an array without a length, of elements of the same size, takes strides")]
    StridedElements { ty: String, given: String },
    /// Strides that reach beyond the array's bytes.
    #[error("got {given}, which reaches beyond its {nbytes} bytes")]
    StridesReach { given: String, nbytes: u64 },
    /// An array of which several elements share memory, for a parameter that the kernel writes.
    #[error("is written by the kernel, got {given}, elements of which may share memory")]
    SharedElements { given: String },
    /// A read-only array for a parameter the kernel writes.
    #[error("is written by the kernel, got {given}, which is read-only")]
    ReadOnly { given: String },
    /// Not the size the shader declares.
    #[error("is {ty}, exactly {expected} bytes, got {given} bytes")]
    FixedLength { ty: String, expected: u64, given: u64 },
    /// Shorter than what precedes the runtime array, or without an element of it where the kernel clamps indices to the last.
    #[error("is {ty}, of {needed} bytes or more, got {given} bytes")]
    TooShort { ty: String, needed: u64, given: u64 },
    /// Constant memory longer than the shader declares.
    #[error("is {ty} in constant memory, at most {limit} bytes, got {given} bytes")]
    TooLong { ty: String, limit: u64, given: u64 },
    /// Constant memory shorter than the shader declares.
    #[error(
        "is {ty} in constant memory, {needed} bytes, got {given} bytes; \
         give the rest, or use `padded`, which reads it as zeros"
    )]
    TooFew { ty: String, needed: u64, given: u64 },
    /// A range outside its block of memory.
    #[error("lies at bytes {offset}..{} of its memory, which has {size} bytes", u128::from(*.offset) + u128::from(*.given))]
    OutsideMemory { offset: u64, given: u64, size: u64 },
    /// An array that does not begin where the shader reaches memory by its address.
    #[error(
        "is an address that is a multiple of {alignment}, got {given}, {offset} bytes into its memory; copy it first"
    )]
    Misaligned { alignment: u64, given: String, offset: u64 },
    /// An array that has no address.
    #[error("is an address, got {given}: {reason}")]
    NoAddress { given: String, reason: String },
    /// A length that ends inside an element: `given` bytes of array, `rest` of them past the last whole element.
    #[error("is {ty}, {stride} bytes an element, got {given} bytes{after}, {rest} too many")]
    PartialElement { ty: String, stride: u32, given: u64, rest: u64, after: String },
    /// Elements with padding, for which rows without it were given.
    #[error(
        "is {ty}, {stride} bytes an element of which {used} hold data, got rows of {given} bytes; \
         pad the last axis to {stride} bytes"
    )]
    Padding { ty: String, stride: u32, used: u64, given: u64 },
    /// More than one binding of the device can reach.
    #[error("has {given} bytes, the device binds at most {limit} bytes of {kind}")]
    RangeLimit { given: u64, limit: u64, kind: &'static str },
}
