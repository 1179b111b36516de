//! Elements written at indices, in place. No other element of the array is touched, whatever the strides of the array
//! and the size of its elements.
//!
//! A kernel writes at most as many elements as it counts and binds. A longer array is therefore written in regions that
//! follow each other in C order, and each region in windows of its memory.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::Stream;
use vkarray_kernel::{Arg, Element, Kernel};
use vkarray_layout::Index;
use vkarray_shaders::functions;

use super::take::{IndexElement, IndexMode, check_indices, index_text};
use crate::array::DeviceNDArray;
use crate::error::{Error, Result};
use crate::functions::operand::{
    Units, flat, kernel, longest, packed, part, parts, run, to_u32, words, words_of_block,
};
use crate::generate::{Axis, Nest, word};

/// The most loops with which the kernel walks over an array.
const MAX_AXES: usize = 8;

impl<T: Element> DeviceNDArray<T> {
    /// Writes `values` to the elements at flat indices, in C order: NumPy's `put`. Values are repeated if they are
    /// fewer than the indices; of several values for one element the last one stays. Like [`DeviceNDArray::take`], the call
    /// waits until the device has checked the indices.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<i32>([2, 3])?;
    /// x.put(&ctx.slice_to_device(&[4, -1, 4])?, &ctx.slice_to_device(&[7, 8, 9])?)?;
    /// assert_eq!(x.to_vec()?, [0, 0, 0, 0, 9, 8]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange) for an index outside the array, with nothing written;
    /// [`Error::EmptyAxis`](crate::Error::EmptyAxis) if there are indices but no values or no elements;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array;
    /// [`Error::SharedElements`](crate::Error::SharedElements) for an array whose elements share memory;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn put<I: IndexElement>(&self, indices: &DeviceNDArray<I>, values: &DeviceNDArray<T>) -> Result<()> {
        self.put_with_mode(indices, values, IndexMode::Raise)
    }

    /// Writes `values` at flat indices, as [`DeviceNDArray::put`] does, with a rule for indices out of range.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::IndexMode;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<i32>(3)?;
    /// x.put_with_mode(&ctx.slice_to_device(&[4])?, &ctx.slice_to_device(&[5])?, IndexMode::Wrap)?;
    /// assert_eq!(x.to_vec()?, [0, 5, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::EmptyAxis`](crate::Error::EmptyAxis) if there are indices but no values or no elements;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array; and the errors of
    /// [`DeviceNDArray::put`].
    pub fn put_with_mode<I: IndexElement>(
        &self,
        indices: &DeviceNDArray<I>,
        values: &DeviceNDArray<T>,
        mode: IndexMode,
    ) -> Result<()> {
        let (stream, ctx, length) = (self.stream(), self.context(), self.size());
        if indices.size() == 0 {
            return Ok(());
        }
        if length == 0 || values.size() == 0 {
            return Err(Error::EmptyAxis { operation: "put", indices: indices.size() });
        }
        self.check_writable()?;
        to_u32(length)?;
        let indices = apart(self, indices)?;
        if mode == IndexMode::Raise {
            check_indices("put", stream, &indices, length)?;
        }
        // Values beyond the number of indices are not used.
        let values = apart(self, values)?;
        let values = part(&values, &(0..values.size().min(indices.size())))?;
        let text = [&Units::of::<T>().text(), &index_text::<I>(mode), functions::PUT];
        let most = longest(ctx, size_of::<u32>(), 1);
        let put = Put {
            x: self,
            stream,
            owners: ctx.device_array([length.min(most)])?,
            find_owners: kernel(ctx, "put.wgsl", &text, "put_owners")?,
            write: kernel(ctx, "put.wgsl", &text, "put_values")?,
            indices,
            values,
        };
        let mut regions = Vec::new();
        add_regions(self, 0, most, &mut regions)?;
        regions.iter().try_for_each(|region| put.write(region))
    }
}

/// A packed array of one axis that shares no memory with the array that is written: the given array, or a copy of it.
fn apart<T: Element, U: Element>(x: &DeviceNDArray<T>, array: &DeviceNDArray<U>) -> Result<DeviceNDArray<U>> {
    let packed = packed(&array.on(x.stream()))?;
    let is_apart = !Arc::ptr_eq(x.block(), packed.block());
    flat(&if is_apart { packed } else { packed.on(x.stream()).copy()? })
}

/// Elements that follow each other in C order.
struct Region {
    /// The place of the first one in the whole array.
    first: usize,
    nest: Nest,
}

/// The regions of an array, or of a part that begins at place `first` of the whole array. A region has at most `most`
/// elements and few loops.
fn add_regions<T: Element>(x: &DeviceNDArray<T>, first: usize, most: usize, found: &mut Vec<Region>) -> Result<()> {
    let mut nest = Nest::new(x.shape(), iter::once((x.layout(), to_u32(size_of::<T>())?)));
    nest.merge();
    let axis = x.shape().iter().position(|&len| len > 1);
    let Some(axis) = axis.filter(|_| nest.axes.len() > MAX_AXES || x.size() > most) else {
        found.push(Region { first, nest });
        return Ok(());
    };
    let half = x.shape()[axis] / 2;
    let behind = first + x.size() / x.shape()[axis] * half;
    for (first, range) in [(first, Index::from(..half)), (behind, Index::from(half..))] {
        add_regions(&x.slice_axis(axis.cast_signed(), range)?, first, most, found)?;
    }
    Ok(())
}

struct Put<'a, T: Element, I: Element> {
    x: &'a DeviceNDArray<T>,
    stream: &'a Stream,
    indices: DeviceNDArray<I>,
    values: DeviceNDArray<T>,
    /// For each place of a region, one more than the number of the last index that names it; 0 if no index does.
    owners: DeviceNDArray<u32>,
    find_owners: Kernel,
    write: Kernel,
}

/// What one launch binds: a range of the indices, one of the values, and a window of the array's memory, counted from
/// the start of the block; and the unit of the window's first element.
#[derive(Default)]
struct PutRanges {
    indices: Range<usize>,
    values: Range<usize>,
    window: Range<usize>,
    unit: u64,
}

impl<T: Element, I: Element> Put<'_, T, I> {
    fn write(&self, region: &Region) -> Result<()> {
        let (ctx, [first, end]) = (self.x.context(), region.nest.span(0).map(in_memory));
        to_u32(end - first)?;
        let owners = part(&self.owners, &(0..in_memory(region.nest.size())))?;
        owners.on(self.stream).fill(0)?;
        let itemsize = size_of::<T>().max(size_of::<I>());
        let ranges: Vec<_> = parts(ctx, self.indices.size(), itemsize, 1).collect();
        for range in &ranges {
            let bound = PutRanges { indices: range.clone(), ..PutRanges::default() };
            let indices = part(&self.indices, range)?;
            self.launch(&self.find_owners, vec![words(&indices), words(&owners)], region, &bound)?;
        }
        let length = longest(ctx, size_of::<T>(), 1);
        for start in (first / length * length..end).step_by(length) {
            let window = start.max(first)..end.min(start + length);
            for range in &ranges {
                self.write_window(region, &owners, range, &window)?;
            }
        }
        Ok(())
    }

    /// Writes the elements of a window that the indices of a range name.
    fn write_window(
        &self,
        region: &Region,
        owners: &DeviceNDArray<u32>,
        range: &Range<usize>,
        window: &Range<usize>,
    ) -> Result<()> {
        let (target, skipped) = words_of_block(self.x, window);
        let units = Units::of::<T>();
        let (unit, n_values) = (skipped * units.parts as u64 / size_of::<T>() as u64, self.values.size());
        let indices = part(&self.indices, range)?;
        for values in parts(self.x.context(), n_values, size_of::<T>(), 1) {
            let is_repeated = n_values < self.indices.size();
            if !is_repeated && (values.end <= range.start || range.end <= values.start) {
                continue;
            }
            let own = part(&self.values, &values)?;
            let arrays = vec![words(&indices), words(owners), words(&own), target.clone()];
            let bound = PutRanges { indices: range.clone(), values, window: window.clone(), unit };
            self.launch(&self.write, arrays, region, &bound)?;
        }
        Ok(())
    }

    /// Runs a kernel with one invocation for each part of an element that an index of the range names.
    fn launch(&self, kernel: &Kernel, mut args: Vec<Arg<'_>>, region: &Region, bound: &PutRanges) -> Result<()> {
        let Region { first, nest } = region;
        let PutRanges { indices, values, window, unit } = bound;
        let parts = Units::of::<T>().parts;
        let numbers = [
            indices.start as u64,
            indices.len() as u64,
            self.x.size() as u64,
            *first as u64,
            nest.size(),
            self.values.size() as u64,
            values.start as u64,
            values.len() as u64,
            nest.operands[0].offset.wrapping_sub(window.start as u64),
            window.len() as u64,
            *unit,
            parts as u64,
            nest.axes.len() as u64,
        ];
        args.extend(numbers.map(|number| Arg::Scalar(word(number))));
        let of_axes = |value: fn(&Axis) -> u64, rest: u64| {
            let values = nest.axes.iter().map(value).chain(iter::repeat(rest));
            Arg::Scalars(values.take(MAX_AXES).map(word).collect())
        };
        args.push(of_axes(|axis| axis.len, 1));
        args.push(of_axes(|axis| axis.strides[0].cast_unsigned(), 0));
        run(kernel, self.stream, indices.len() * parts, &args)
    }
}

/// A number of elements as `usize`. The elements exist in memory, so it fits.
fn in_memory(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
