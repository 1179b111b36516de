//! One argument of a kernel: an array, constant memory, a number or a struct of numbers ([`Arg`], [`AsArg`]).
//!
//! The array crate implements [`AsArg`] for its arrays; `arguments.rs` has the lists of arguments. `check.rs` decides from
//! [`ArgShape`]s whether a call fits.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use half::{bf16, f16};
use smallvec::SmallVec;
use vkarray_allocator::Block;
use vkarray_shader::ScalarValue;

use crate::call::constant::ConstArray;
use crate::call::image::Sampler;
use crate::call::list::ArrayArgs;
use crate::call::memory::MemoryArg;
use crate::call::shape::{ArgShape, Argument, ArrayShape};

/// An array, as a kernel binds it: a range of a block, and a description of what it holds.
///
/// A dispatch compares the range with the block before it binds anything. The argument of an array can be made read-only
/// ([`ArrayArg::read_only`]) and never writable. A block has no such mark: a program that makes an argument of a block with
/// [`ArrayArg::new`] decides whether kernels may write it.
#[derive(Clone, Copy, Debug)]
pub struct ArrayArg<'a> {
    pub(crate) block: &'a Arc<Block>,
    pub(crate) shape: ArrayShape<'a>,
}

impl<'a> ArrayArg<'a> {
    /// Describes an array in the memory of `block`. A dispatch refuses bytes outside it.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Arg, ArrayArg, ArrayShape, DType, Groups, Source};
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
    /// // The second half of an array's block.
    /// let x = ctx.zeros::<u32>(128)?;
    /// let shape = ArrayShape { offset: 256, ..ArrayShape::new(DType::U32, &[64], 256) };
    /// add.launch(Groups::covering(64), (Arg::Array(ArrayArg::new(x.block(), shape)), 3_u32))?;
    /// let values = x.to_vec()?;
    /// assert_eq!((values[0], values[127]), (0, 3));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn new(block: &'a Arc<Block>, shape: ArrayShape<'a>) -> Self {
        Self { block, shape }
    }

    /// The memory.
    #[must_use]
    pub fn block(&self) -> &'a Arc<Block> {
        self.block
    }

    /// The description that is checked: type, shape, bytes, offset, access.
    #[must_use]
    pub fn shape(&self) -> &ArrayShape<'a> {
        &self.shape
    }

    /// This array as one that no kernel may write: a dispatch of a kernel that writes it is refused.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Arg, AsArg, Groups, Source};
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
    /// let x = ctx.zeros::<u32>(4)?;
    /// let Arg::Array(x) = x.as_arg() else { unreachable!("an array is an array") };
    /// let error = add.launch(Groups::covering(4), (Arg::Array(x.read_only()), 1_u32)).unwrap_err();
    /// assert!(error.to_string().contains("which is read-only"), "{error}");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.shape.is_writable = false;
        self
    }

    /// This array as one that may be given for longer constant memory: what the array lacks reads as zero.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Arg, AsArg, Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let copy = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<uniform> taps: array<vec4<u32>, 2>;
    ///          @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    ///          @compute @workgroup_size(1) fn copy() { out[0] = taps[0].w; out[1] = taps[1].x; }",
    ///     ))
    ///     .build()?;
    /// let (taps, out) = (ctx.full(4, 5_u32)?, ctx.full(2, 9_u32)?);
    /// let Arg::Array(taps) = taps.as_arg() else { unreachable!("an array is an array") };
    /// copy.launch(Groups::exact([1, 1, 1]), (Arg::Array(taps.padded()), &out))?;
    /// assert_eq!(out.to_vec()?, [5, 0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn padded(mut self) -> Self {
        self.shape.is_padded = true;
        self
    }

    /// The range of the block that it describes; [`Block::binding`] checks it.
    #[inline]
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.shape.offset..self.shape.offset.saturating_add(self.shape.nbytes)
    }
}

/// One argument of a kernel, borrowed for a call.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Arg, AsArg};
///
/// let n = 7_u32;
/// assert!(matches!(n.as_arg(), Arg::Scalar(_)));
/// assert!(matches!([1.0_f32, 2.0].as_arg(), Arg::Scalars(numbers) if numbers.len() == 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Arg<'a> {
    /// An array on the device.
    Array(ArrayArg<'a>),
    /// Several arrays, for an array of bindings.
    Arrays(ArrayArgs<'a>),
    /// Arrays that the kernel reaches by addresses in memory.
    Reached(ArrayArgs<'a>),
    /// A memory object or registered memory.
    Memory(MemoryArg<'a>),
    /// An array on the device as an image, with the sampler of the same parameter.
    Sampled(ArrayArg<'a>, Sampler),
    /// A sampler.
    Sampler(Sampler),
    /// Constant memory.
    Constant(&'a ConstArray),
    /// One number.
    Scalar(ScalarValue),
    /// The numbers of a vector, matrix or array, without padding.
    Scalars(SmallVec<[ScalarValue; 4]>),
    /// All push constants, as the bytes of a struct.
    Block(&'a [u8]),
}

impl<'a> Arg<'a> {
    /// The array, if it is one.
    pub(crate) fn array(&self) -> Option<&ArrayArg<'a>> {
        if let Self::Array(array) | Self::Sampled(array, _) = self { Some(array) } else { None }
    }

    pub(crate) fn shape<'s>(&'s self) -> ArgShape<'s>
    where
        'a: 's,
    {
        match self {
            Self::Array(array) | Self::Sampled(array, _) => ArgShape::Array(array.shape),
            Self::Arrays(list) => ArgShape::Arrays(list.shapes()),
            Self::Reached(list) => ArgShape::Reached(list.shapes()),
            Self::Sampler(sampler) => ArgShape::Sampler(*sampler),
            Self::Memory(memory) => ArgShape::Array(memory.shape()),
            Self::Constant(constant) => ArgShape::Constant(constant.shape()),
            Self::Scalar(value) => ArgShape::Scalar(*value),
            Self::Scalars(values) => ArgShape::Scalars(values),
            Self::Block(bytes) => ArgShape::Block(bytes),
        }
    }
}

/// An argument and the name of its parameter; without a name, its position decides.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Arguments, AsArg, NamedArg};
///
/// let args = [NamedArg { name: Some("n"), arg: 7_u32.as_arg() }];
/// assert_eq!(args.as_slice().with(|args| args.len()), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NamedArg<'a> {
    /// The parameter's name.
    pub name: Option<&'a str>,
    /// The argument.
    pub arg: Arg<'a>,
}

/// What is checked of the arguments.
pub(crate) fn arguments<'a>(args: &'a [NamedArg<'_>]) -> SmallVec<[Argument<'a>; 8]> {
    args.iter().map(|given| Argument { name: given.name, shape: given.arg.shape() }).collect()
}

/// Something that can be one argument: arrays, lists of arrays ([`AsArray`]), memory objects, [`ConstArray`], numbers, arrays of numbers, [`Immediate`].
///
/// [`AsArray`]: crate::AsArray
///
/// For a type of the program's own, return the argument of a field.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Arg, AsArg};
///
/// struct Image {
///     pixels: DeviceArray<f32>,
/// }
///
/// impl AsArg for Image {
///     fn as_arg(&self) -> Arg<'_> {
///         self.pixels.as_arg()
///     }
/// }
///
/// let ctx = Context::open_default()?;
/// let image = Image { pixels: ctx.zeros(256)? };
/// assert!(matches!(image.as_arg(), Arg::Array(array) if array.shape().shape == [256]));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a kernel",
    label = "not an array, a block or a number that shaders know",
    note = "an expression is computed first: `(&x + &y).eval()?`",
    note = "numbers have the type that the shader declares: `n as u32` for a `usize`"
)]
pub trait AsArg {
    /// Describes it as an argument. Called once at every dispatch.
    fn as_arg(&self) -> Arg<'_>;
}

impl<T: AsArg + ?Sized> AsArg for &T {
    fn as_arg(&self) -> Arg<'_> {
        (**self).as_arg()
    }
}

impl AsArg for ScalarValue {
    fn as_arg(&self) -> Arg<'_> {
        Arg::Scalar(*self)
    }
}

impl AsArg for ConstArray {
    fn as_arg(&self) -> Arg<'_> {
        Arg::Constant(self)
    }
}

impl AsArg for Arg<'_> {
    fn as_arg(&self) -> Arg<'_> {
        self.clone()
    }
}

/// A struct of the host as all push constants of a kernel, in place of one argument for each.
///
/// It is given by position or by the name of the shader's variable. Either it has the size and the layout of the shader's
/// struct, or it has the same numbers in the same order without padding (a matrix column by column); its size decides which.
/// The fields are not compared: that is the caller's duty. `vkarray::kernel!` compares them when the program is built.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use vkarray_kernel::{Arguments, Immediate};
///
/// // For `struct Params { n: u32, scale: f32, shift: vec2<f32> } var<immediate> params: Params;`
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(C)]
/// struct Params { n: u32, scale: f32, shift: [f32; 2] }
///
/// let params = Params { n: 1000, scale: 0.5, shift: [1.0, 2.0] };
/// assert_eq!((Immediate(&params),).with(|args| args.len()), 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Immediate<'a, T>(pub &'a T);

impl<T: Pod> AsArg for Immediate<'_, T> {
    fn as_arg(&self) -> Arg<'_> {
        Arg::Block(bytemuck::bytes_of(self.0))
    }
}

macro_rules! scalars {
    ($($ty:ty),*) => {$(
        impl AsArg for $ty {
            fn as_arg(&self) -> Arg<'_> {
                Arg::Scalar(ScalarValue::from(*self))
            }
        }

        impl<const N: usize> AsArg for [$ty; N] {
            fn as_arg(&self) -> Arg<'_> {
                Arg::Scalars(self.iter().map(|&value| ScalarValue::from(value)).collect())
            }
        }
    )*};
}

scalars!(i8, u8, i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64);
