//! Draws of [`Rng`] that are made from its bits and uniform numbers: other distributions, choices and permutations.

use std::ops::Neg;

use vkarray_kernel::Element;
use vkarray_layout::{Index, IntoShape};

use super::{Convert, Rng};
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::{Expr, Floating, Operand};
use crate::functions::indexing::{IndexMode, gather_axis};
use crate::functions::operand::{UniformFloat, to_u32};

impl Rng {
    /// Normal floats of mean 0 and variance 1, on the default stream. Returns at once.
    ///
    /// The numbers come from the method of Box and Muller. An `f32` takes one word and the device's logarithm and
    /// cosine: devices differ in the last bits, and by up to 0.003 where a cosine is as inexact as Vulkan allows;
    /// magnitudes are at most 5.77. An `f64` takes four words, on a device that computes with `f64`; magnitudes are at
    /// most 8.58.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = Rng::philox(1).normal::<f32>(&ctx, 10_000)?.to_vec()?;
    /// let mean = x.iter().sum::<f32>() / 1e4;
    /// assert!(mean.abs() < 0.05, "{mean}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for a shape that is too large;
    /// [`Error::Kernel`](crate::Error::Kernel) for `f64` on a device without it; and the errors of
    /// [`Rng::bits`].
    #[doc(alias = "randn")]
    #[doc(alias = "standard_normal")]
    pub fn normal<T: UniformFloat>(&mut self, ctx: &Context, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        let out = ctx.device_array::<T>(shape)?;
        if size_of::<T>() == 4 {
            self.draw(&out, &Convert { text: "normal_floats(words)", ..Convert::default() })?;
            return Ok(out);
        }
        let pairs = self.uniform::<f64>(ctx, [out.size(), 2])?;
        let [radius, angle] = [0, 1].map(|at| pairs.slice_axis(1, Index::At(at)));
        let radius = ((-&radius? + 1.0).log() * -2.0).sqrt();
        (radius * (&angle? * std::f64::consts::TAU).cos()).eval()?.reshape(out.shape())?.view()
    }

    /// Exponential floats of mean 1, on the default stream: the negative logarithms of uniform floats. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = Rng::philox(1).exponential::<f32>(&ctx, 10_000)?;
    /// assert!((x.mean(..)?.item()? - 1.0).abs() < 0.05);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for a shape that is too large;
    /// [`Error::Kernel`](crate::Error::Kernel) for `f64` on a device without it; and the errors of
    /// [`Rng::bits`].
    pub fn exponential<T: UniformFloat + Floating>(
        &mut self,
        ctx: &Context,
        shape: impl IntoShape,
    ) -> Result<DeviceNDArray<T>>
    where
        Expr<T>: Neg<Output = Expr<T>>,
    {
        let uniform = self.uniform::<T>(ctx, shape)?;
        let exponential = -(-uniform.expr()).log1p();
        exponential.assign_to(&uniform)?;
        Ok(uniform)
    }

    /// Elements along the first axis of `x`, each chosen at random and put back: NumPy's `choice`. Runs on the stream of `x`.
    /// Returns at once.
    ///
    /// For elements that are not put back, take the first of a [permutation](Rng::permutation).
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[10, 20, 30])?;
    /// let chosen = Rng::philox(1).choice(&x, [2, 50])?;
    /// assert!(chosen.shape() == [2, 50] && chosen.isin(&x)?.all(..)?.item()?.into());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::EmptyRange`](crate::Error::EmptyRange) if there is nothing to choose from;
    /// [`Error::NoAxis`](crate::Error::NoAxis) for an array without axes; and the errors of [`Rng::bits`].
    pub fn choice<T: Element>(&mut self, x: &DeviceNDArray<T>, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        let length = rows_of(x, "choice")?;
        let places = x.context().device_array(shape)?.on(x.stream());
        self.fill_integers(&places, 0..length)?;
        x.take_with_mode(&places, 0, IndexMode::Clip)
    }

    /// The elements along the first axis of `x` in random order: NumPy's `permutation`. Runs on the stream of `x`. Returns at
    /// once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::Rng;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let shuffled = Rng::philox(1).permutation(&ctx.arange(0, 100, 1)?)?;
    /// assert_eq!(shuffled.sort(0)?.to_vec()?, (0..100).collect::<Vec<_>>());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`](crate::Error::NoAxis) for an array without axes;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated; and the errors of
    /// [`Rng::bits`].
    #[doc(alias = "shuffle")]
    pub fn permutation<T: Element>(&mut self, x: &DeviceNDArray<T>) -> Result<DeviceNDArray<T>> {
        let length = rows_of(x, "permutation")?;
        // Two equal keys of 64 bits are so rare that all orders are equally frequent.
        let keys = x.context().device_array::<u64>(length as usize)?.on(x.stream());
        self.fill_bits(&keys)?;
        gather_axis(x, &keys.argsort(0)?, 0)
    }
}

/// The length of an array's first axis.
fn rows_of<T: Element>(x: &DeviceNDArray<T>, operation: &'static str) -> Result<u32> {
    to_u32(*x.shape().first().ok_or(Error::NoAxis { operation })?)
}
