//! [`DeviceNDArray::astype`]: a copy with elements of another type.
//!
//! What a conversion means is decided in `copy/cast.rs`. Views of the same bytes as another type are no conversion.

use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element, Groups};

use super::DeviceNDArray;
use crate::context::words;
use crate::copy::LibraryKernel;
use crate::copy::cast::Cast;
use crate::error::{Error, Result};
use crate::layout::Order;

/// Items of a dispatch are a multiple of this, so that each begins at an aligned byte of the target.
const CUT: u64 = 4096;

impl<T: Element> DeviceNDArray<T> {
    /// Copies the array with its elements converted to another type, on the default stream. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::astype_on`].
    pub fn astype<U: Element>(&self) -> Result<DeviceNDArray<U>> {
        self.astype_on(self.context().default_stream())
    }

    /// Copies the array with its elements converted to another type, in the order of `stream`. Returns at once.
    ///
    /// The copy is packed, with its axes in the order they have here. Values are converted as NumPy does: integers
    /// wrap; to a float they round to the nearest, ties to even; a float loses its fraction; whatever is not zero, NaN
    /// too, is true; a complex number loses its imaginary part where the other type is real. Where NumPy leaves the result to the processor, a float
    /// out of an integer's range, it is the nearest integer there is, and 0 for NaN, as Rust's `as` has it. A NaN
    /// that becomes another type of float keeps its sign and as many leading bits of its payload as fit, and becomes quiet;
    /// one that keeps its type keeps all its bits. Every device converts every type, to the same bits. An array with gaps
    /// is packed on the device first.
    ///
    /// ```
    /// # use vkarray_ndarray::Context;
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[-1.5_f32, 300.0, f32::NAN])?;
    /// assert_eq!(x.astype::<u8>()?.to_vec()?, [0, 255, 0]);
    /// # Ok::<(), vkarray_ndarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoConversion`] from and to records; [`Error::ForeignDevice`]; [`Error::Memory`], [`Error::Kernel`] or
    /// [`Error::Driver`] if there is no room for the copy or it cannot be recorded.
    pub fn astype_on<U: Element>(&self, stream: &Stream) -> Result<DeviceNDArray<U>> {
        let ctx = self.context();
        ctx.check_stream(stream)?;
        let limits = ctx.copies().limits;
        let (from, to) = (DType::of::<T>(), DType::of::<U>());
        let (cast, n_parts) = Cast::new(from, to, limits.group).ok_or(Error::NoConversion { from, to })?;
        let packed = self.to_contiguous_on(stream, Order::K)?;
        let target = ctx.device_array_like::<U, T>(&packed)?;
        let kernel = ctx.library_kernel(LibraryKernel::Cast(cast))?;
        let [from_bytes, to_bytes] = cast.item_bytes();
        // A window of the source begins at an aligned byte, so a little before its first item.
        let at_once = (limits.max_range - limits.alignment) / from_bytes.max(to_bytes).max(4) / CUT * CUT;
        let (n_items, first_byte) = (n_parts * self.size() as u64, packed.byte_offset());
        for first in (0..n_items).step_by(usize::try_from(at_once).expect("a window fits every host")) {
            let count = at_once.min(n_items - first);
            let start = first_byte + first * from_bytes;
            let aligned = start / limits.alignment * limits.alignment;
            let source = aligned..(start + count * from_bytes).next_multiple_of(4);
            let begin = first * to_bytes;
            let args = (
                words(packed.block(), &source),
                words(target.block(), &(begin..(begin + count * to_bytes).next_multiple_of(4))),
                low((start - aligned) / from_bytes),
                low(count),
            );
            let [x, y] = limits.spread(count.div_ceil(cast.items_a_group()));
            kernel.dispatch(stream, Groups::exact([x, y, 1]), args)?;
        }
        Ok(target)
    }
}

/// Counts inside a window, which has at most 2³² bytes.
fn low(items: u64) -> u32 {
    u32::try_from(items).expect("a window has less than 2^32 items")
}
