//! What a kernel can be called with: arrays, constant memory, numbers and structs of them, in tuples or by name.
//!
//! A call borrows its arguments and copies nothing: [`Arguments::with`] shows them to the dispatch for its length. The
//! array crate implements [`AsArg`] for its arrays. Whether a call fits is decided in `check.rs`, from [`ArgShape`]s.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use half::{bf16, f16};
use smallvec::SmallVec;
use vkarray_allocator::Block;

use crate::call::constant::ConstArray;
use crate::call::shape::{ArgShape, Argument, ArrayShape, Given};
use crate::signature::ScalarValue;

/// An array, as a kernel binds it: a range of a block, and what lies there.
///
/// A dispatch compares the range with the block before it binds anything. The argument that an array makes of itself can be
/// made read-only ([`ArrayArg::read_only`]) and never writable. The block itself has no such mark: a program that makes an
/// argument of the block with [`ArrayArg::new`] says itself whether kernels may write it.
#[derive(Clone, Copy, Debug)]
pub struct ArrayArg<'a> {
    pub(crate) block: &'a Arc<Block>,
    pub(crate) shape: ArrayShape<'a>,
}

impl<'a> ArrayArg<'a> {
    /// Describes an array in the memory of `block`. A description of bytes outside it is refused by the dispatch.
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

    /// What is said of the array in checks: type, shape, bytes, offset, access.
    #[must_use]
    pub fn shape(&self) -> &ArrayShape<'a> {
        &self.shape
    }

    /// The same array, which no kernel may write.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.shape.is_writable = false;
        self
    }

    /// The same array, which constant memory that is longer may take: what the array lacks reads as zero.
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

/// One argument.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Arg<'a> {
    /// An array on the device.
    Array(ArrayArg<'a>),
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
    pub(crate) fn shape<'s>(&'s self) -> ArgShape<'s>
    where
        'a: 's,
    {
        match self {
            Self::Array(array) => ArgShape::Array(array.shape),
            Self::Constant(constant) => ArgShape::Constant(constant.shape()),
            Self::Scalar(value) => ArgShape::Scalar(*value),
            Self::Scalars(values) => ArgShape::Scalars(values),
            Self::Block(bytes) => ArgShape::Block(bytes),
        }
    }
}

/// An argument and the parameter it is for; without a name, its position decides.
#[derive(Clone, Debug)]
pub struct NamedArg<'a> {
    /// The parameter's name.
    pub name: Option<&'a str>,
    /// The argument.
    pub arg: Arg<'a>,
}

impl Given for NamedArg<'_> {
    fn argument(&self) -> Argument<'_> {
        Argument { name: self.name, shape: self.arg.shape() }
    }
}

/// Something that can be one argument.
pub trait AsArg {
    /// Describes it as an argument. Cheap: called at every dispatch.
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
/// It stands where the first of them would, or goes by the name of the shader's variable. It is as long as the shader's
/// struct and lies as that does, or has its numbers in the same order without any padding (a column of a matrix after
/// the other); its size says which. That the fields are the same ones is the caller's to see to:
/// `vkarray::kernel!` compares them when the program is built.
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

/// The arguments of one call: a tuple or a slice of [`Arg`]s in the order of
/// [`Signature::arguments`](crate::Signature::arguments), a slice of names and arguments in any order, or an [`ArgList`].
pub trait Arguments {
    /// Shows the arguments to `call`.
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R;
}

impl<T: Arguments + ?Sized> Arguments for &T {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        (**self).with(call)
    }
}

impl Arguments for () {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        call(&[])
    }
}

impl<A: AsArg> Arguments for [(&str, A)] {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        let arguments: SmallVec<[NamedArg<'_>; 8]> =
            self.iter().map(|(name, arg)| NamedArg { name: Some(name), arg: arg.as_arg() }).collect();
        call(&arguments)
    }
}

impl<A: AsArg, const N: usize> Arguments for [(&str, A); N] {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        self.as_slice().with(call)
    }
}

impl<A: AsArg> Arguments for Vec<(&str, A)> {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        self.as_slice().with(call)
    }
}

impl Arguments for [Arg<'_>] {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        let arguments: SmallVec<[NamedArg<'_>; 8]> =
            self.iter().map(|arg| NamedArg { name: None, arg: arg.clone() }).collect();
        call(&arguments)
    }
}

impl Arguments for Vec<Arg<'_>> {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        self.as_slice().with(call)
    }
}

impl Arguments for [NamedArg<'_>] {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        call(self)
    }
}

/// Arguments of different types gathered one by one, by position first and then by name, in any order.
///
/// ```
/// use vkarray_kernel::{ArgList, Arguments};
///
/// let (width, scale) = (640_u32, 0.5_f32);
/// let args = ArgList::new().name("scale", &scale).name("width", &width);
/// assert_eq!(args.with(|args| args.len()), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ArgList<'a> {
    args: SmallVec<[NamedArg<'a>; 8]>,
}

impl<'a> ArgList<'a> {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the argument of the next parameter.
    #[must_use]
    pub fn next(mut self, arg: &'a (impl AsArg + ?Sized)) -> Self {
        self.args.push(NamedArg { name: None, arg: arg.as_arg() });
        self
    }

    /// Adds the argument of the parameter `name`.
    #[must_use]
    pub fn name(mut self, name: &'a str, arg: &'a (impl AsArg + ?Sized)) -> Self {
        self.args.push(NamedArg { name: Some(name), arg: arg.as_arg() });
        self
    }
}

impl Arguments for ArgList<'_> {
    fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
        call(&self.args)
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+))*) => {$(
        impl<$($name: AsArg),+> Arguments for ($($name,)+) {
            fn with<R>(&self, call: impl FnOnce(&[NamedArg<'_>]) -> R) -> R {
                call(&[$(NamedArg { name: None, arg: self.$index.as_arg() }),+])
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;

    #[test]
    fn a_tuple_keeps_its_order_and_types() {
        (1_u32, 2.0_f32, [3_i32, 4]).with(|args| {
            let names: Vec<_> = args.iter().map(|arg| arg.name).collect();
            assert_eq!(names, [None, None, None]);
            assert!(matches!(args[0].arg, Arg::Scalar(ScalarValue::U32(1))));
            assert!(matches!(args[1].arg, Arg::Scalar(ScalarValue::F32(2.0))));
            let expected: SmallVec<[ScalarValue; 4]> = smallvec![ScalarValue::I32(3), ScalarValue::I32(4)];
            assert!(matches!(&args[2].arg, Arg::Scalars(values) if *values == expected));
        });
    }

    #[test]
    fn names_go_with_their_arguments() {
        [("width", 5_u32), ("height", 7)].with(|args| {
            let seen: Vec<_> = args.iter().map(|arg| (arg.name, arg.arg.shape())).collect();
            let expected = [
                (Some("width"), ArgShape::Scalar(ScalarValue::U32(5))),
                (Some("height"), ArgShape::Scalar(ScalarValue::U32(7))),
            ];
            assert_eq!(seen, expected);
        });
    }
}
