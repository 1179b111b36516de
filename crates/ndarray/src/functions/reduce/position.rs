//! [`position`]: the position of the least or the largest element among more elements than one launch reads.
//!
//! A launch of a kernel counts positions from the first element that it reads, and it reads at most what the device
//! binds at once. A longer axis is therefore halved. Of the two positions, the one with the lesser or larger value
//! counts; if the values are equal, the first one counts.

use vkarray_driver::Stream;
use vkarray_kernel::Element;
use vkarray_layout::Index;

use super::axes::Axes;
use super::launch::reduce;
use crate::array::DeviceNDArray;
use crate::elementwise::{ElementwiseKernel, Evaluate};
use crate::error::{Error, Result};
use crate::expr::{Expr, IntoExpr};
use crate::functions::operand::{Reducible, packed, to_u32};
use crate::generate::Reduction;

/// The positions of the least or the largest elements. Returns at once.
pub(super) fn position<T: Reducible>(expr: &Expr<T>, axes: &Axes, reduction: Reduction) -> Result<DeviceNDArray<i64>> {
    match reduce(expr, axes, reduction) {
        Err(error) if is_too_long(&error) && u32::try_from(axes.split(expr.shape())?.count).is_ok() => {
            let x = expr.eval()?;
            let stream = expr.stream().cloned().unwrap_or_else(|| x.context().default_stream().clone());
            // The half of an axis has half of the bytes only where its elements follow each other.
            LongAxes { stream: &stream, axes, reduction }.position(&packed(&x.on(&stream))?)
        }
        result => result,
    }
}

/// Whether an error says that a reduction reads more than one launch takes.
pub(super) fn is_too_long(error: &Error) -> bool {
    matches!(error, Error::LongOperand { .. } | Error::ManyElements { .. })
}

struct LongAxes<'a> {
    stream: &'a Stream,
    axes: &'a Axes,
    reduction: Reduction,
}

impl LongAxes<'_> {
    fn on<T: Element>(&self, x: &DeviceNDArray<T>) -> Expr<T> {
        x.into_expr().on(self.stream)
    }

    fn position<T: Reducible>(&self, x: &DeviceNDArray<T>) -> Result<DeviceNDArray<i64>> {
        let split = self.axes.split(x.shape())?;
        let axis = split.reduced.iter().position(|&axis| x.shape()[axis] > 1);
        match (reduce(&self.on(x), self.axes, self.reduction), axis) {
            (Err(error), Some(axis)) if is_too_long(&error) => {
                // Positions count slowest along the first of the axes.
                let inner: usize = split.reduced[axis + 1..].iter().map(|&axis| x.shape()[axis]).product();
                self.of_halves(x, split.reduced[axis], inner)
            }
            (result, _) => result,
        }
    }

    /// Finds the positions in both halves along an axis, and takes one of the two for each result.
    fn of_halves<T: Reducible>(&self, x: &DeviceNDArray<T>, axis: usize, inner: usize) -> Result<DeviceNDArray<i64>> {
        let half = x.shape()[axis] / 2;
        let part = |range: Index| x.slice_axis(axis.cast_signed(), range);
        let parts = [part(Index::from(..half))?, part(Index::from(half..))?];
        let (value, wins) = match self.reduction {
            Reduction::Argmin => (Reduction::Min, "<"),
            _ => (Reduction::Max, ">"),
        };
        let [p, q] = [self.position(&parts[0])?, self.position(&parts[1])?];
        let values = |x| reduce::<T, T::Wide>(&self.on(x), self.axes, value)?.reshape([p.size()]);
        let [a, b] = [values(&parts[0])?, values(&parts[1])?];
        let text = format!("let wins = (b {wins} a) | ((b != b) & (a == a)); z = select(p, q + offset, wins)");
        let results = p.context().device_array::<i64>(p.shape())?;
        results.on(self.stream).fill(0)?;
        // The lower words of positions; not every device computes with 64 bits.
        let low = |array: &DeviceNDArray<i64>| {
            array.reshape([array.size()])?.view::<u32>()?.slice_axis(0, Index::stepped(.., 2))
        };
        let kernel = ElementwiseKernel::new(&text);
        let call = kernel.arg("a", self.on(&a)).arg("b", self.on(&b)).arg("p", low(&p)?).arg("q", low(&q)?);
        call.arg("offset", to_u32(half * inner)?).result::<u32>()?.assign_to(&low(&results)?)?;
        Ok(results)
    }
}
