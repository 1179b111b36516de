//! Elements written at indices: in place where the array is made of whole words in C order, else on such a copy, which then is
//! copied to the array.

use std::sync::Arc;

use vkarray_kernel::Element;
use vkarray_ndarray::{DeviceNDArray, OnStream, Order, Result};
use vkarray_shaders::functions;

use super::take::{IndexElement, IndexMode, check_indices, index_text};
use crate::error::Error;
use crate::operand::{Units, kernel, packed, run, to_u32, words};

pub(super) fn put<T: Element, I: IndexElement>(
    x: OnStream<'_, T>,
    indices: &DeviceNDArray<I>,
    values: &DeviceNDArray<T>,
    mode: IndexMode,
) -> Result<()> {
    let (stream, ctx, length) = (x.stream(), x.array().context(), x.array().size());
    if indices.size() == 0 {
        return Ok(());
    }
    if length == 0 || values.size() == 0 {
        return Err(Error::EmptyAxis { operation: "put", indices: indices.size() }.into());
    }
    let is_apart = !Arc::ptr_eq(x.array().block(), indices.block()) && !Arc::ptr_eq(x.array().block(), values.block());
    let indices = packed(indices.on(stream))?;
    if mode == IndexMode::Raise {
        check_indices("put", stream, &indices, length)?;
    }
    let values = packed(values.on(stream))?;
    let is_in_place = is_apart && is_words(x.array());
    let copy = if is_in_place { None } else { Some(ctx.device_array_with_order::<T>(x.array().shape(), Order::C)?) };
    if let Some(copy) = &copy {
        copy.on(stream).copy_from_device(x.array())?;
    }
    let out = copy.as_ref().unwrap_or(x.array());
    let owners = ctx.device_array::<u32>([length])?;
    owners.on(stream).fill(0)?;
    let units = Units::of::<T>();
    let text = [&units.text(), &index_text::<I>(mode), functions::PUT];
    let [n_indices, n_elements, n_values, parts] = [indices.size(), length, values.size(), units.parts].map(to_u32);
    let numbers = (n_indices?, n_elements?, n_values?, parts?);
    let owner_kernel = kernel(ctx, "put.wgsl", &text, "put_owners")?;
    let args = (words(&indices), words(&owners), numbers.0, numbers.1, numbers.2, numbers.3);
    run(&owner_kernel, stream, indices.size(), &args)?;
    let unit_kernel = kernel(ctx, "put.wgsl", &text, "put_units")?;
    let args = (words(&owners), words(&values), words(out), numbers.0, numbers.1, numbers.2, numbers.3);
    run(&unit_kernel, stream, (length * units.parts).div_ceil(units.per_word), &args)?;
    copy.map_or(Ok(()), |copy| x.copy_from_device(&copy))
}

/// Whether a kernel can write the array as words, and writes no other elements then.
fn is_words<T: Element>(array: &DeviceNDArray<T>) -> bool {
    let is_whole = (array.offset() * array.itemsize()).is_multiple_of(4) && array.nbytes().is_multiple_of(4);
    is_whole && array.is_c_contiguous() && array.is_writable()
}
