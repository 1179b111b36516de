//! [`DeviceNDArray::astype`]: a copy with elements of another type.
//!
//! What a conversion gives is decided in `copy/cast.rs`. [`DeviceNDArray::view`] interprets the same bytes as another type
//! and converts nothing.

use std::sync::Arc;

use vkarray_allocator::Block;
use vkarray_kernel::{DType, Element, Groups};
use vkarray_layout::Order;

use super::DeviceNDArray;
use crate::context::words;
use crate::copy::LibraryKernel;
use crate::copy::cast::Cast;
use crate::error::{Error, Result};

/// The items of a dispatch are a multiple of this number, so that each dispatch starts at an aligned byte of the target.
const ITEMS_MULTIPLE: u64 = 4096;

impl<T: Element> DeviceNDArray<T> {
    /// Copies the array with its elements converted to another type, on the default stream. Returns at once.
    ///
    /// The copy is contiguous, with its axes in the order that they have in memory. Values are converted as in NumPy:
    ///
    /// - integers wrap around;
    /// - conversions to floats round to the nearest, ties to even;
    /// - floats lose their fraction;
    /// - every value but zero becomes true, also NaN;
    /// - complex numbers lose their imaginary part where the other type is real.
    ///
    /// A float outside the range of an integer, for which NumPy's result depends on the processor, becomes the nearest
    /// integer, and NaN becomes 0, as with Rust's `as`. A NaN that becomes another type of float keeps its sign and the
    /// leading bits of its payload, and becomes quiet; a NaN that keeps its type keeps all its bits. Every device
    /// converts every type with the same result. An array that is not contiguous is copied on the device first.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[-1.5_f32, 300.0, f32::NAN])?;
    /// assert_eq!(x.astype::<u8>()?.to_vec()?, [0, 255, 0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoConversion`] from and to records; [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if there is no
    /// memory for the copy or it cannot be recorded.
    pub fn astype<U: Element>(&self) -> Result<DeviceNDArray<U>> {
        self.check_stream()?;
        let to = DType::of::<U>();
        self.cast_to(to)?; // Refused before anything is copied.
        let source = self.to_contiguous(Order::K)?;
        let target = self.context().device_array_like_as::<U>(&source)?;
        source.convert_to(target.block(), to)?;
        Ok(target)
    }

    /// The conversion to another type, and into how many items of its kernel an element is split.
    fn cast_to(&self, to: DType) -> Result<(Cast, u64)> {
        let from = DType::of::<T>();
        Cast::new(from, to, self.context().copies().limits.group).ok_or(Error::NoConversion { from, to })
    }

    /// Writes the elements of this array, which is contiguous, in another type to the beginning of a block.
    #[doc(hidden)]
    pub fn convert_to(&self, target: &Arc<Block>, to: DType) -> Result<()> {
        let (ctx, (cast, n_parts)) = (self.context(), self.cast_to(to)?);
        let limits = ctx.copies().limits;
        let kernel = ctx.library_kernel(LibraryKernel::Cast(cast))?;
        let [from_bytes, to_bytes] = cast.item_bytes();
        // The bound range of the source starts at an aligned byte, which may lie before the first item.
        let max_bytes = limits.max_range - limits.alignment;
        let max_items = max_bytes / from_bytes.max(to_bytes).max(4) / ITEMS_MULTIPLE * ITEMS_MULTIPLE;
        let (n_items, first_byte) = (n_parts * self.size() as u64, self.byte_offset());
        for first in (0..n_items).step_by(usize::try_from(max_items).expect("a bound range fits every host")) {
            let count = max_items.min(n_items - first);
            let start = first_byte + first * from_bytes;
            let aligned = start / limits.alignment * limits.alignment;
            let target_start = first * to_bytes;
            let args = (
                words(self.block(), &(aligned..(start + count * from_bytes).next_multiple_of(4))),
                words(target, &(target_start..(target_start + count * to_bytes).next_multiple_of(4))),
                to_u32((start - aligned) / from_bytes),
                to_u32(count),
            );
            let [x, y] = limits.spread(count.div_ceil(cast.items_a_group()));
            kernel.dispatch(self.stream(), Groups::exact([x, y, 1]), args)?;
        }
        Ok(())
    }
}

/// A number of items in a bound range, which has at most 2³² bytes.
fn to_u32(items: u64) -> u32 {
    u32::try_from(items).expect("a bound range has less than 2^32 items")
}
