//! [`ReductionKernel`]: reductions whose steps are written in WGSL.

use vkarray_kernel::{DType, Element};

use super::axes::IntoAxes;
use super::launch::reduce_by;
use crate::array::DeviceNDArray;
use crate::elementwise::{Call, ElementwiseKernel, Evaluate};
use crate::error::Result;
use crate::expr::IntoExpr;
use crate::functions::operand::Word;
use crate::generate::Combine;

/// A reduction that a program writes: CuPy's `ReductionKernel`.
///
/// The kernel of the reduction also computes the map, so the values of the map are not stored. The kernels are built at
/// the first use with these types and are kept on disk. The order of operations depends on shape, strides and device
/// alone.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::ReductionKernel;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let distance = ReductionKernel::new("(x - y) * (x - y)", "a + b", "sqrt(a)", "0.0");
/// let (x, y) = (ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([3, 2])?, ctx.slice_to_device(&[3.0_f32, 5.0])?);
/// assert_eq!(distance.arg("x", &x).arg("y", &y).reduce::<f32>(1)?.to_vec()?, [5.0, 5.0_f32.sqrt(), 1.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReductionKernel {
    map: ElementwiseKernel,
    combine: String,
    finish: ElementwiseKernel,
    identity: String,
}

impl ReductionKernel {
    /// A reduction of the values of `map`, a text as [`Context::elementwise`](crate::Context::elementwise)
    /// takes it, with one result. `combine` is an associative and commutative expression of `a` and `b`; `identity` is
    /// an expression without arguments, whose value changes nothing that it is combined with; `finish` is an expression
    /// of the combined value `a`.
    pub fn new(map: &str, combine: &str, finish: &str, identity: &str) -> Self {
        let [map, finish] = [map, finish].map(ElementwiseKernel::new);
        Self { map, combine: combine.to_owned(), finish, identity: identity.to_owned() }
    }

    /// The map, which names the arguments.
    pub fn map(&self) -> &ElementwiseKernel {
        &self.map
    }

    /// A call with the arguments of a call of the map.
    #[doc(hidden)]
    pub fn of<'a>(&'a self, map: Call<'a>) -> ReductionCall<'a> {
        ReductionCall { kernel: self, map }
    }

    /// A call with a first argument of the map; [`ReductionCall::arg`] adds the others.
    #[must_use]
    pub fn arg<T: Element>(&self, name: &str, value: impl IntoExpr<T>) -> ReductionCall<'_> {
        ReductionCall { kernel: self, map: self.map.arg(name, value) }
    }
}

/// A [`ReductionKernel`] with arguments.
#[derive(Debug, Clone)]
pub struct ReductionCall<'a> {
    kernel: &'a ReductionKernel,
    map: Call<'a>,
}

impl ReductionCall<'_> {
    /// Gives an argument of the map its value, as [`Call::arg`] does.
    #[must_use]
    pub fn arg<T: Element>(self, name: &str, value: impl IntoExpr<T>) -> Self {
        Self { map: self.map.arg(name, value), ..self }
    }

    /// Reduces over axes, with values of type `T` in every step. Returns at once. The result for no elements is made
    /// from the identity.
    ///
    /// # Errors
    ///
    /// [`Error::Text`](crate::Error::Text) for a text that is not valid for the types;
    /// [`Error::MissingArgument`](crate::Error::MissingArgument) for an argument without a value;
    /// [`Error::Layout`](crate::Error::Layout) for axes that the arguments do not have; and the errors of
    /// [`Call::result`].
    pub fn reduce<T: Word>(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<T>> {
        let kernel = self.kernel;
        let map = self.map.result::<T>()?;
        let combine = Combine::new(&kernel.combine, &kernel.identity, DType::of::<T>())?;
        let combined = reduce_by(&map, &axes.into_axes(), &combine)?;
        let finish = kernel.finish.arg("a", &combined).result::<T>()?;
        finish.on_stream_of(&map).eval()
    }
}
