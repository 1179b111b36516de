//! Constant memory: host values that kernels read through `var<uniform>`.

use vkarray_kernel::{ConstArray, DType, Element};

use super::Context;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};

impl Context {
    /// Copies a host array to constant memory, for kernels that read it through `var<uniform>`.
    ///
    /// C and F order are kept; an array with gaps or reversed axes is packed in C order.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`].
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

    /// Copies `values` to constant memory of this shape, for kernels that read it through `var<uniform>`. It can be updated,
    /// and its clones share it: see [`ConstArray`].
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`], [`Error::Layout`].
    pub fn const_array<T: Element>(&self, values: &[T], shape: &[usize]) -> Result<ConstArray> {
        check_fills(&Layout::contiguous(shape, Order::C)?, values)?;
        Ok(ConstArray::new(self.allocator(), values, shape))
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
