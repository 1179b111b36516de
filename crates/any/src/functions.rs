//! Views, reductions, sorting, indexing, joining and products of arrays whose element type is known at run time. Each method
//! does what the method of that name of [`DeviceNDArray`] does, and has its errors.

use vkarray_kernel::{Complex32, Complex64, DType};
use vkarray_layout::{Index, Order};
use vkarray_ndarray::{
    Axes, DeviceNDArray, Error, ExprError, FftNorm, IntoAxes, Reduce, Result, Side, Statistics, keepdims,
};

use super::{AnyArray, AnyElement, Category, with_any, with_type};

/// A reduction over axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnyReduction {
    /// The sum; integers in 64 bits, of which a device without them gives the lower 32.
    Sum,
    /// The product; integers as in the sum.
    Prod,
    /// The least element.
    Min,
    /// The largest element.
    Max,
    /// Whether an element is true.
    Any,
    /// Whether all elements are true.
    All,
    /// The position of the least element.
    Argmin,
    /// The position of the largest element.
    Argmax,
    /// The number of elements that are not zero.
    CountNonzero,
    /// The mean of floats.
    Mean,
    /// The variance of floats, with a correction of the number of elements.
    Var(f64),
    /// The square root of the variance.
    Std(f64),
}

/// Some axes, or all; `keeps` leaves them with length one.
pub(super) fn axes_of(axes: Option<&[isize]>, keeps: bool) -> Axes {
    let axes = axes.map_or_else(|| (..).into_axes(), IntoAxes::into_axes);
    if keeps { keepdims(axes) } else { axes }
}

#[expect(clippy::missing_errors_doc, reason = "each has the errors of the method of its name of `DeviceNDArray`")]
impl AnyArray {
    /// The typed array of a place where the type was compared.
    pub(super) fn expect_type<T: AnyElement>(&self) -> &DeviceNDArray<T> {
        T::typed(self).expect("the types were compared")
    }

    /// Another array in this one's type.
    fn same_type(&self, other: &Self, operation: &'static str) -> Result<()> {
        if self.dtype() == other.dtype() {
            return Ok(());
        }
        Err(ExprError::NoCommonType { operation, dtypes: [self.dtype(), other.dtype()] }.into())
    }

    /// The view that an index of integers, ranges, ellipsis and new axes selects.
    pub fn slice(&self, index: &[Index]) -> Result<Self> {
        with_any!(self, array => Ok(array.slice(index)?.into()))
    }

    /// The elements in another shape: a view where there is one, otherwise a copy. One length may be -1.
    pub fn reshape(&self, shape: &[isize]) -> Result<Self> {
        with_any!(self, array => match array.reshape(shape) {
            Ok(view) => Ok(view.into()),
            Err(_) => Ok(array.reshape_copy(shape, Order::C)?.into()),
        })
    }

    /// The view with its axes in another order; `None` reverses them.
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<Self> {
        with_any!(self, array => Ok(array.transpose(axes)?.into()))
    }

    /// The view without axes of length one.
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Self> {
        with_any!(self, array => Ok(array.squeeze(axes)?.into()))
    }

    /// The view with new axes of length one at these places.
    pub fn expand_dims(&self, axes: &[isize]) -> Result<Self> {
        with_any!(self, array => Ok(array.expand_dims(axes)?.into()))
    }

    /// The view that repeats axes of length one up to a shape.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        with_any!(self, array => Ok(array.broadcast_to(shape)?.into()))
    }

    /// The view with the order of elements reversed along axes; `None` is all axes.
    pub fn flip(&self, axes: Option<&[isize]>) -> Result<Self> {
        with_any!(self, array => Ok(array.flip(axes)?.into()))
    }

    /// The memory as elements of another type, by the rules of [`DeviceNDArray::view`].
    pub fn view(&self, dtype: DType) -> Result<Self> {
        with_any!(self, array => with_type!(
            dtype,
            T => Ok(array.view::<T>()?.into()),
            else Err(Error::NoConversion { from: self.dtype(), to: dtype })
        ))
    }

    /// A copy in C order, also of an array that is contiguous.
    pub fn copy(&self) -> Result<Self> {
        with_any!(self, array => Ok(array.copy()?.into()))
    }

    /// A reduction over axes, or over all axes; `keeps` leaves them with length one. Means and variances of integers are
    /// those of `f32`.
    pub fn reduce(&self, reduction: AnyReduction, axes: Option<&[isize]>, keeps: bool) -> Result<Self> {
        use AnyReduction::{All, Any, Argmax, Argmin, Max, Mean, Min, Prod, Std, Sum, Var};
        let over = axes_of(axes, keeps);
        let statistic = match reduction {
            Mean => "mean",
            Var(_) => "var",
            Std(_) => "std",
            _ => {
                let result: Self = with_any!(self, array => match reduction {
                    Sum => array.sum(over)?.into(),
                    Prod => array.prod(over)?.into(),
                    Min => array.min(over)?.into(),
                    Max => array.max(over)?.into(),
                    Any => array.any(over)?.into(),
                    All => array.all(over)?.into(),
                    Argmin => array.argmin(over)?.into(),
                    Argmax => array.argmax(over)?.into(),
                    _ => array.count_nonzero(over)?.into(),
                });
                let keeps_type = matches!(reduction, Min | Max);
                return if keeps_type { Ok(result) } else { result.into_default() };
            }
        };
        let is_integer = Category::of(self.dtype()) == Some(Category::Integer);
        let floats = if is_integer { self.astype(DType::F32)? } else { self.clone() };
        with_any!(&floats, floats array => Ok(match reduction {
            Var(correction) => array.var_with_correction(over, correction)?.into(),
            Std(correction) => array.std_with_correction(over, correction)?.into(),
            _ => array.mean(over)?.into(),
        }), else self.not_defined(statistic))
    }

    /// Running sums along an axis, or running products; integers as in [`AnyReduction::Sum`].
    pub fn cumulate(&self, product: bool, axis: isize) -> Result<Self> {
        let result: Self = with_any!(self, numbers array => match product {
            false => array.cumulative_sum(axis)?.into(),
            true => array.cumulative_prod(axis)?.into(),
        }, else return self.not_defined("cumulative_sum"));
        result.into_default()
    }

    /// The elements along an axis in order. The order of equal elements is kept.
    pub fn sort(&self, axis: isize, descending: bool) -> Result<Self> {
        with_any!(self, numbers array => Ok(match descending {
            false => array.sort(axis)?.into(),
            true => array.sort_descending(axis)?.into(),
        }), else self.not_defined("sort"))
    }

    /// The places of the elements along an axis in order.
    pub fn argsort(&self, axis: isize, descending: bool) -> Result<Self> {
        with_any!(self, numbers array => Ok(match descending {
            false => array.argsort(axis)?.into(),
            true => array.argsort_descending(axis)?.into(),
        }), else self.not_defined("argsort"))
    }

    /// Where values of the same type are to be put into the sorted array; `right` is behind equal elements.
    pub fn searchsorted(&self, values: &Self, right: bool) -> Result<Self> {
        self.same_type(values, "searchsorted")?;
        let side = if right { Side::Right } else { Side::Left };
        with_any!(self, numbers array => Ok(array.searchsorted(values.expect_type(), side)?.into()),
            else self.not_defined("searchsorted"))
    }

    /// The different values, ascending; the place of the first element of each; for each element the place of its value;
    /// and how many elements have each value.
    pub fn unique_all(&self) -> Result<[Self; 4]> {
        with_any!(self, numbers array => {
            let unique = array.unique_all()?;
            Ok([unique.values.into(), unique.indices.into(), unique.inverse.into(), unique.counts.into()])
        }, else self.not_defined("unique_all"))
    }

    /// The elements at places along an axis. Places are integers of 32 or 64 bits; negative ones count from the end.
    pub fn take(&self, indices: &Self, axis: isize) -> Result<Self> {
        with_any!(indices, indices places => {
            with_any!(self, array => Ok(array.take(places, axis)?.into()))
        }, else indices.not_defined("take"))
    }

    /// The elements at places along an axis, one list of places for each row, as NumPy's function of that name.
    pub fn take_along_axis(&self, indices: &Self, axis: isize) -> Result<Self> {
        with_any!(indices, indices places => {
            with_any!(self, array => Ok(array.take_along_axis(places, axis)?.into()))
        }, else indices.not_defined("take_along_axis"))
    }

    /// The elements whose mask is true, in C order. Waits for their number.
    pub fn compact(&self, mask: &Self) -> Result<Self> {
        let Self::Bool(mask) = mask else { return mask.not_defined("compact") };
        with_any!(self, array => Ok(array.compact(mask)?.into()))
    }

    /// Writes values to the elements whose mask is true: one for each, or one for all. Waits for their number.
    pub fn put_mask(&self, mask: &Self, values: &Self) -> Result<()> {
        let Self::Bool(mask) = mask else { return mask.not_defined("put_mask") };
        self.same_type(values, "put_mask")?;
        with_any!(self, array => array.put_mask(mask, values.expect_type()))
    }

    /// Writes values to the elements at flat places, in C order. Of several values for one element the last stays. Waits
    /// until the places are checked.
    pub fn put(&self, places: &Self, values: &Self) -> Result<()> {
        self.same_type(values, "put")?;
        with_any!(places, indices places => {
            with_any!(self, array => array.put(places, values.expect_type()))
        }, else places.not_defined("put"))
    }

    /// The places of the elements that are not zero, one array for each axis. Waits for their number.
    pub fn nonzero(&self) -> Result<Vec<Self>> {
        with_any!(self, array => Ok(array.nonzero()?.into_iter().map(Self::from).collect()))
    }

    /// The arrays one behind the other along an axis, or with `stack` along a new axis. All have one type.
    pub fn join(arrays: &[&Self], axis: isize, stack: bool) -> Result<Self> {
        let operation = if stack { "stack" } else { "concat" };
        let Some((first, others)) = arrays.split_first() else { return Err(Error::NoArrays { operation }) };
        others.iter().try_for_each(|array| first.same_type(array, operation))?;
        with_any!(first, array => {
            let mut arrays = vec![array];
            arrays.extend(others.iter().map(|array| array.expect_type()));
            Ok(match stack {
                false => vkarray_ndarray::concat(&arrays, axis)?.into(),
                true => vkarray_ndarray::stack(&arrays, axis)?.into(),
            })
        })
    }

    /// The complex numbers of real and imaginary parts, both `f32` or both `f64` and of one shape.
    pub fn complex(re: &Self, im: &Self) -> Result<Self> {
        let parts = Self::join(&[re, im], -1, true)?;
        let numbers: Self = match &parts {
            Self::F32(parts) => parts.view::<Complex32>()?.into(),
            Self::F64(parts) => parts.view::<Complex64>()?.into(),
            _ => return parts.not_defined("complex"),
        };
        numbers.reshape(&re.shape().iter().map(|len| len.cast_signed()).collect::<Vec<_>>())
    }

    /// The elements shifted along an axis, where the last come round to the front.
    pub fn roll(&self, shift: isize, axis: isize) -> Result<Self> {
        with_any!(self, array => Ok(array.roll(shift, axis)?.into()))
    }

    /// Each element repeated `n` times along an axis.
    pub fn repeat(&self, n: usize, axis: isize) -> Result<Self> {
        with_any!(self, array => Ok(array.repeat(n, axis)?.into()))
    }

    /// The product of matrices, or of stacks of them, of one type.
    pub fn matmul(&self, other: &Self) -> Result<Self> {
        self.same_type(other, "matmul")?;
        with_any!(self, numbers array => Ok(array.matmul(other.expect_type())?.into()), else self.not_defined("matmul"))
    }

    /// The discrete Fourier transform along an axis, or its inverse. Complex numbers of `f32` have one.
    pub fn fft(&self, inverse: bool, axis: isize, norm: FftNorm) -> Result<Self> {
        let Self::Complex32(array) = self else { return self.not_defined("fft") };
        Ok(if inverse { array.ifft_with_norm(axis, norm)? } else { array.fft_with_norm(axis, norm)? }.into())
    }

    /// The sum of products along pairs of axes.
    pub fn tensordot(&self, other: &Self, axes: &[isize], other_axes: &[isize]) -> Result<Self> {
        self.same_type(other, "tensordot")?;
        with_any!(self, numbers array => Ok(array.tensordot(other.expect_type(), axes, other_axes)?.into()),
            else self.not_defined("tensordot"))
    }
}
