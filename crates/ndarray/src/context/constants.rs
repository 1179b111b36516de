//! Constant memory: host values that kernels read through `var<uniform>`.

use vkarray_kernel::{ConstArray, DType, Element};

use super::Context;
use crate::error::{Error, Result};
use vkarray_layout::{IntoShape, Layout, Order};

impl Context {
    /// Copies a host array to constant memory, for kernels that read it through `var<uniform>`.
    ///
    /// C and F order are kept; an array with gaps or reversed axes is packed in C order.
    ///
    /// ```
    /// use vkarray::ndarray::arr1;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let weights = ctx.const_array_like(&arr1(&[0.25_f32, 0.5, 0.25]))?;
    /// # let _ = weights;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`].
    #[doc(alias = "array_like")]
    pub fn const_array_like<T, S, D>(&self, host: &ndarray::ArrayBase<S, D>) -> Result<ConstArray>
    where
        T: Element,
        S: ndarray::Data<Elem = T>,
        D: ndarray::Dimension,
    {
        Layout::contiguous(host.shape(), Order::C)?;
        let is_f_order = host.ndim() > 1 && !host.is_standard_layout() && host.t().is_standard_layout();
        if is_f_order && let Some(values) = host.t().as_slice() {
            return Ok(ConstArray::column_major(self.allocator(), values, host.shape()));
        }
        let packed = host.as_standard_layout();
        let values = packed.as_slice().expect("an array in standard layout is one slice");
        Ok(ConstArray::new(self.allocator(), values, host.shape()))
    }

    /// Copies `values` to constant memory of this shape, for kernels that read it through `var<uniform>`. The constant
    /// memory can be updated, and its clones share it: see [`ConstArray`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let weights = ctx.const_array(&[1.0_f32, 2.0, 3.0, 4.0], 4)?;
    /// let scale = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<uniform> weights: vec4<f32>;
    ///          @group(0) @binding(1) var<storage, read_write> y: array<f32, 4>;
    ///          @compute @workgroup_size(4) fn scale(@builtin(local_invocation_index) i: u32) { y[i] *= weights[i]; }",
    ///     ))
    ///     .build()?;
    /// let y = ctx.full(4, 10.0_f32)?;
    /// scale.dispatch(ctx.default_stream(), Groups::exact([1, 1, 1]), (&weights, &y))?;
    /// assert_eq!(y.to_vec()?, [10.0, 20.0, 30.0, 40.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`], [`Error::Layout`].
    pub fn const_array<T: Element>(&self, values: &[T], shape: impl IntoShape) -> Result<ConstArray> {
        let shape = shape.into_shape();
        check_fills(&Layout::contiguous(shape.as_ref(), Order::C)?, values)?;
        Ok(ConstArray::new(self.allocator(), values, shape.as_ref()))
    }
}

/// Checks that there is one value for each element of the layout.
pub(crate) fn check_fills<T: Element>(layout: &Layout, values: &[T]) -> Result<()> {
    if layout.size() == values.len() {
        return Ok(());
    }
    let (given, expected, shape) = (values.len(), layout.size(), layout.shape().to_vec());
    Err(Error::LengthMismatch { given, expected, shape, dtype: DType::of::<T>() })
}
