//! [`scatter`]: elements written at places. No other element of the array is touched, whatever the strides of the array
//! and the size of its elements.
//!
//! A kernel writes at most as many elements as it counts and binds. A longer array is therefore written in regions that
//! follow each other in C order, and each region in windows of its memory.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use vkarray_kernel::{Arg, Element, Kernel};
use vkarray_layout::Index;
use vkarray_shaders::functions;

use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::functions::operand::{
    Units, flat, kernel, longest, packed, part, parts, run, to_u32, words, words_of_block,
};
use crate::generate::{Axis, Nest, word};

/// The most loops with which the kernel walks over an array.
const MAX_AXES: usize = 8;

/// Writes values to the elements at places, which count the elements of the array in C order and lie in it. Values are
/// repeated if they are fewer than the places. With an `order`, the places ascend, the value of place `i` is
/// `values[order[i]]`, and of equal places the last one is written. Without one, no places are equal.
pub(crate) fn scatter<T: Element>(
    x: &DeviceNDArray<T>,
    places: &DeviceNDArray<u32>,
    order: Option<&DeviceNDArray<u32>>,
    values: &DeviceNDArray<T>,
) -> Result<()> {
    if places.size() == 0 {
        return Ok(());
    }
    let is_sorted = format!("const IS_SORTED = {};\n", order.is_some());
    let text = [&Units::of::<T>().text(), &is_sorted, functions::SCATTER];
    let values = apart(x, values)?;
    let scatter = Scatter {
        x,
        places: places.clone(),
        order: order.cloned(),
        // Values beyond the number of places are not used.
        values: part(&values, &(0..values.size().min(places.size())))?,
        kernel: kernel(x.context(), "scatter.wgsl", &text, "scatter_units")?,
    };
    let mut regions = Vec::new();
    add_regions(x, 0, longest(x.context(), size_of::<u32>(), 1), &mut regions)?;
    regions.iter().try_for_each(|region| scatter.write(region))
}

/// A packed array of one axis that shares no memory with the array that is written: the given array, or a copy of it.
fn apart<T: Element>(x: &DeviceNDArray<T>, array: &DeviceNDArray<T>) -> Result<DeviceNDArray<T>> {
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

struct Scatter<'a, T: Element> {
    x: &'a DeviceNDArray<T>,
    places: DeviceNDArray<u32>,
    order: Option<DeviceNDArray<u32>>,
    values: DeviceNDArray<T>,
    kernel: Kernel,
}

impl<T: Element> Scatter<'_, T> {
    fn write(&self, region: &Region) -> Result<()> {
        let (ctx, [first, end]) = (self.x.context(), region.nest.span(0).map(in_memory));
        to_u32(end - first)?;
        let itemsize = size_of::<T>().max(size_of::<u32>());
        let ranges: Vec<_> = parts(ctx, self.places.size(), itemsize, 1).collect();
        let length = longest(ctx, size_of::<T>(), 1);
        for start in (first / length * length..end).step_by(length) {
            let window = start.max(first)..end.min(start + length);
            for range in &ranges {
                self.write_window(region, range, &window)?;
            }
        }
        Ok(())
    }

    /// Writes the elements of a window that the places of a range name. A window is a part of the array's memory, counted
    /// from the start of the block. The kernel has one invocation for each part of an element.
    fn write_window(&self, region: &Region, places: &Range<usize>, window: &Range<usize>) -> Result<()> {
        let Region { first, nest } = region;
        let (target, skipped) = words_of_block(self.x, window);
        let (n_places, n_values, n_parts) = (self.places.size(), self.values.size(), Units::of::<T>().parts);
        // Equal places may be in two ranges, so that the first place behind a range is bound too.
        let bound = places.start..n_places.min(places.end + 1);
        let own_places = part(&self.places, &bound)?;
        let order = self.order.as_ref().map(|order| part(order, &bound)).transpose()?;
        let has_all_values = order.is_some() || n_values < n_places;
        let of_axes = |value: fn(&Axis) -> u64, rest: u64| {
            let values = nest.axes.iter().map(value).chain(iter::repeat(rest));
            Arg::Scalars(values.take(MAX_AXES).map(word).collect())
        };
        for values in parts(self.x.context(), n_values, size_of::<T>(), 1) {
            if !has_all_values && (values.end <= places.start || places.end <= values.start) {
                continue;
            }
            let own = part(&self.values, &values)?;
            let order = words(order.as_ref().unwrap_or(&own_places));
            let mut args = vec![words(&own_places), order, words(&own), target.clone()];
            let numbers = [
                places.start as u64,
                places.len() as u64,
                bound.len() as u64,
                *first as u64,
                nest.size(),
                n_values as u64,
                values.start as u64,
                values.len() as u64,
                nest.operands[0].offset.wrapping_sub(window.start as u64),
                window.len() as u64,
                skipped * n_parts as u64 / size_of::<T>() as u64,
                n_parts as u64,
                nest.axes.len() as u64,
            ];
            args.extend(numbers.map(|number| Arg::Scalar(word(number))));
            args.push(of_axes(|axis| axis.len, 1));
            args.push(of_axes(|axis| axis.strides[0].cast_unsigned(), 0));
            run(&self.kernel, self.x.stream(), places.len() * n_parts, &args)?;
        }
        Ok(())
    }
}

/// A number of elements as `usize`. The elements exist in memory, so it fits.
fn in_memory(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
