//! Elements written at indices: on a contiguous copy, which then is copied to the array, so that any strides are accepted.

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
    let indices = packed(indices.on(stream))?;
    if mode == IndexMode::Raise {
        check_indices("put", stream, &indices, length)?;
    }
    let values = packed(values.on(stream))?;
    let out = ctx.device_array_with_order::<T>(x.array().shape(), Order::C)?;
    out.on(stream).copy_from_device(x.array())?;
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
    let args = (words(&owners), words(&values), words(&out), numbers.0, numbers.1, numbers.2, numbers.3);
    run(&unit_kernel, stream, (length * units.parts).div_ceil(units.per_word), &args)?;
    x.copy_from_device(&out)
}
