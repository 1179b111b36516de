//! Several arrays as one argument: [`ArrayArgs`], made of what implements [`AsArray`], for an array of bindings, and
//! [`Reached`], for a kernel that reaches memory by addresses.
//!
//! `check.rs` compares each array with the type of the parameter; a dispatch binds each, and orders each as its own use.

use std::sync::Arc;

use vkarray_allocator::Block;

use crate::call::args::{Arg, ArrayArg, AsArg};
use crate::call::shape::ArrayShape;

/// A list of arrays, as a kernel binds them to an array of bindings.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Arg, ArrayArgs, AsArray};
///
/// let ctx = Context::open_default()?;
/// let (x, y) = (ctx.zeros::<u32>(4)?, ctx.zeros::<u32>(8)?);
/// let list: ArrayArgs<'_> = [&x, &y].into_iter().map(AsArray::as_array).collect();
/// assert_eq!(list.iter().map(|array| array.shape().nbytes).collect::<Vec<_>>(), [16, 32]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ArrayArgs<'a> {
    blocks: Vec<&'a Arc<Block>>,
    shapes: Vec<ArrayShape<'a>>, // Apart from the blocks, for checks that see no memory.
}

impl<'a> ArrayArgs<'a> {
    /// The arrays, in order.
    pub fn iter(&self) -> impl Iterator<Item = ArrayArg<'a>> {
        self.blocks.iter().zip(&self.shapes).map(|(block, shape)| ArrayArg { block, shape: *shape })
    }

    pub(crate) fn shapes(&self) -> &[ArrayShape<'a>] {
        &self.shapes
    }
}

impl<'a> FromIterator<ArrayArg<'a>> for ArrayArgs<'a> {
    fn from_iter<I: IntoIterator<Item = ArrayArg<'a>>>(arrays: I) -> Self {
        let (blocks, shapes) = arrays.into_iter().map(|ArrayArg { block, shape }| (block, shape)).unzip();
        Self { blocks, shapes }
    }
}

/// An array that can stand in a list of arrays. A slice, a `Vec` or an array of them is the argument for an array of bindings.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Arg, AsArg};
///
/// let ctx = Context::open_default()?;
/// let (x, y) = (ctx.zeros::<u32>(4)?, ctx.zeros::<u32>(8)?);
/// assert!(matches!([&x, &y].as_arg(), Arg::Arrays(list) if list.iter().count() == 2));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a list of arrays",
    note = "an array of bindings takes arrays: `&[&x, &y]`"
)]
pub trait AsArray {
    /// Describes it as an array.
    fn as_array(&self) -> ArrayArg<'_>;
}

impl<T: AsArray + ?Sized> AsArray for &T {
    fn as_array(&self) -> ArrayArg<'_> {
        (**self).as_array()
    }
}

impl<T: AsArray + ?Sized> AsArray for Box<T> {
    fn as_array(&self) -> ArrayArg<'_> {
        (**self).as_array()
    }
}

impl AsArray for ArrayArg<'_> {
    fn as_array(&self) -> ArrayArg<'_> {
        *self
    }
}

impl<A: AsArray> AsArg for [A] {
    fn as_arg(&self) -> Arg<'_> {
        Arg::Arrays(self.iter().map(AsArray::as_array).collect())
    }
}

impl<A: AsArray, const N: usize> AsArg for [A; N] {
    fn as_arg(&self) -> Arg<'_> {
        self.as_slice().as_arg()
    }
}

impl<A: AsArray> AsArg for Vec<A> {
    fn as_arg(&self) -> Arg<'_> {
        self.as_slice().as_arg()
    }
}

/// Arrays that a kernel reaches by addresses that it reads from memory or computes, as an argument beside those of its
/// parameters. It is for no parameter, has no name, and may stand anywhere in a call.
///
/// The launch is ordered after earlier work on these arrays, and later work on them after the launch, as if the kernel used
/// all of each in the way that [`Signature::reached`](vkarray_shader::Signature::reached) says. Their memory stays until the
/// kernel is done. [`KernelBuilder::assume_addresses`](crate::KernelBuilder::assume_addresses) has an example.
#[derive(Clone, Copy, Debug)]
pub struct Reached<'a, A>(pub &'a [A]);

impl<A: AsArray> AsArg for Reached<'_, A> {
    fn as_arg(&self) -> Arg<'_> {
        Arg::Reached(self.0.iter().map(AsArray::as_array).collect())
    }
}
