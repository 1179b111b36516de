//! Registered memory: a slice of the program that arrays are copied from and to without staging, for a while.
//!
//! Elements here, bytes in `register.rs` of the allocator crate, which says how the device reaches them and why
//! nothing of it outlives the call.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use vkarray_allocator::{self as allocator, RegisteredPath};
use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element};

use super::DeviceNDArray;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::layout::Order;

/// Runs of fewer bytes than this, if there are more than so many of them, are packed on the device.
const SHORT: usize = 256 << 10;
const MAX_SHORT: usize = 4;

/// A slice of the program that is registered for the length of a call; see [`Context::register`].
pub struct Registered<'x, 'r, T: Element> {
    bytes: &'x mut allocator::Registered<'r>,
    context: &'x Context,
    element: PhantomData<T>,
}

impl Context {
    /// Lets the device copy from and to `data`, at any address, while `work` runs. [`Registered::path`] says how: whole
    /// pages directly, what is before and after them through staging memory.
    ///
    /// Registering costs more than it saves for a single copy. Blocks at the end until the device is done with the
    /// slice, however long that takes, also when `work` panics.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if some of the memory is pinned already; [`Error::Driver`] if waiting fails, when `work` has run.
    pub fn register<T: Element, R>(
        &self,
        data: &mut [T],
        work: impl for<'x, 'r> FnOnce(Registered<'x, 'r, T>) -> R,
    ) -> Result<R> {
        let _ = DType::of::<T>(); // The elements are what they say, or this does not compile.
        let work =
            |bytes: &mut allocator::Registered<'_>| work(Registered { bytes, context: self, element: PhantomData });
        Ok(self.allocator().register(bytemuck::cast_slice_mut(data), work)?)
    }
}

impl<T: Element> Registered<'_, '_, T> {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How the device reaches them. Its ranges are bytes.
    #[must_use]
    pub fn path(&self) -> RegisteredPath {
        self.bytes.path()
    }

    /// Copies elements from `start` on to `target`, in its C order, on the default stream. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfSlice`], [`Error::ReadOnly`], [`Error::SharedElements`]; [`Error::Memory`] or
    /// [`Error::Driver`] if recording fails.
    pub fn copy_to(&mut self, start: usize, target: &DeviceNDArray<T>) -> Result<()> {
        self.copy_to_on(self.context.default_stream(), start, target)
    }

    /// As [`Registered::copy_to`], in the order of `stream`.
    ///
    /// # Errors
    ///
    /// As [`Registered::copy_to`], and [`Error::ForeignDevice`].
    pub fn copy_to_on(&mut self, stream: &Stream, start: usize, target: &DeviceNDArray<T>) -> Result<()> {
        self.context.check_stream(stream)?;
        target.check_writable()?;
        let runs = self.runs(start, target)?;
        if are_short(&runs) {
            let packed = self.context.device_array::<T>(target.shape())?;
            self.copy_to_on(stream, start, &packed)?;
            return target.copy_from_device_on(stream, &packed);
        }
        for (bytes, offset) in runs {
            self.bytes.copy_to_block(stream, target.block(), offset, bytes)?;
        }
        Ok(())
    }

    /// Copies `source`, in its C order, to the elements from `start` on, on the default stream.
    ///
    /// Returns at once unless many elements are staged. [`Registered::read`] and the end of the call wait for it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfSlice`]; [`Error::Memory`] or [`Error::Driver`] if recording fails.
    pub fn copy_from(&mut self, start: usize, source: &DeviceNDArray<T>) -> Result<()> {
        self.copy_from_on(self.context.default_stream(), start, source)
    }

    /// As [`Registered::copy_from`], in the order of `stream`.
    ///
    /// # Errors
    ///
    /// As [`Registered::copy_from`], and [`Error::ForeignDevice`].
    pub fn copy_from_on(&mut self, stream: &Stream, start: usize, source: &DeviceNDArray<T>) -> Result<()> {
        self.context.check_stream(stream)?;
        let runs = self.runs(start, source)?;
        if are_short(&runs) {
            return self.copy_from_on(stream, start, &source.to_contiguous_on(stream, Order::C)?);
        }
        for (bytes, offset) in runs {
            let range = offset..offset + bytes.len() as u64;
            self.bytes.copy_from_block(stream, bytes.start, source.block(), range)?;
        }
        Ok(())
    }

    /// The elements. Blocks until no copy writes them.
    ///
    /// # Errors
    ///
    /// Those of waiting.
    pub fn read(&mut self) -> Result<&[T]> {
        Ok(bytemuck::cast_slice(self.bytes.read()?))
    }

    /// The elements, to be written. Blocks until no copy uses them.
    ///
    /// # Errors
    ///
    /// Those of waiting.
    pub fn write(&mut self) -> Result<&mut [T]> {
        Ok(bytemuck::cast_slice_mut(self.bytes.write()?))
    }

    /// Which bytes of the slice go with which bytes of the array's block, run by run.
    fn runs(&self, start: usize, array: &DeviceNDArray<T>) -> Result<Vec<(Range<usize>, u64)>> {
        let (len, itemsize) = (array.size(), size_of::<T>());
        if start.checked_add(len).is_none_or(|end| end > self.len()) {
            return Err(Error::OutOfSlice { start, len, size: self.len() });
        }
        let layout = array.layout();
        let packed = layout.is_c_contiguous().then(|| (layout.offset(), len));
        let gaps = packed.is_none().then(|| layout.runs());
        let mut at = start * itemsize;
        let runs = packed.into_iter().chain(gaps.into_iter().flatten()).filter(|&(_, len)| len > 0);
        Ok(runs
            .map(|(offset, len)| {
                let bytes = at..at + len * itemsize;
                at = bytes.end;
                (bytes, (offset * itemsize) as u64)
            })
            .collect())
    }
}

/// Whether runs are so many and short that they are packed on the device, and cross the bus as one: a copy of its own
/// costs each some microseconds, in which 256 KiB pass the bus.
fn are_short(runs: &[(Range<usize>, u64)]) -> bool {
    let bytes: usize = runs.iter().map(|(bytes, _)| bytes.len()).sum();
    runs.len() > MAX_SHORT && bytes / runs.len() < SHORT
}

impl<T: Element> fmt::Debug for Registered<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("len", &self.len()).field("path", &self.path()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_runs_are_packed_on_the_device() {
        // How many runs of how many bytes, and whether they are.
        let cases =
            [(0, 0, false), (1, 8, false), (4, 8, false), (5, 8, true), (5, SHORT - 1, true), (5, SHORT, false)];
        for (n, bytes, expected) in cases {
            assert_eq!(are_short(&vec![(0..bytes, 0); n]), expected, "{n} runs of {bytes}");
        }
    }
}
