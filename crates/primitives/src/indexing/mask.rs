//! Elements that a mask selects. The set flags of each block are counted, a scan adds the counts up, and the last sum is
//! read back; then each block writes its elements where those before it end.

use vkarray_driver::Stream;
use vkarray_kernel::{Bool, Element, Groups};
use vkarray_ndarray::{DeviceNDArray, Error as ArrayError, OnStream, Result};
use vkarray_shaders::functions;

use super::take::{IndexMode, gather_axis};
use crate::error::Error;
use crate::operand::{converted, kernel, packed, run, to_u32, words};
use crate::scan::number_flags;

/// The places of set flags, one-dimensional words of 0 and 1, and the inclusive sums of the flags. Waits for the device.
pub(crate) fn places_of_flags(
    flags: &DeviceNDArray<u32>,
    stream: &Stream,
) -> Result<(DeviceNDArray<u32>, DeviceNDArray<u32>)> {
    let (ctx, n) = (flags.context(), flags.size());
    if n == 0 {
        return Ok((ctx.device_array([0])?, ctx.device_array([0])?));
    }
    let sums = number_flags(flags, stream)?;
    let last = n.cast_signed() - 1;
    let n_set = sums.slice_axis(0, last..last + 1)?.on(stream).copy_to_host()?[0] as usize;
    let places = ctx.device_array::<u32>([n_set])?;
    if n_set > 0 {
        let text = ["alias Key = u32;\nconst NAN_DIFFERS = false;\n", functions::KEY_ORDER, functions::SELECT];
        let kernel = kernel(ctx, "select.wgsl", &text, "select_places")?;
        run(&kernel, stream, n, &(words(&sums), words(&places), to_u32(n)?))?;
    }
    Ok((places, sums))
}

/// Flags of one workgroup of `compact.wgsl`.
const BLOCK: usize = 4096;

/// The number of set flags up to the end of each block, and of all. Waits for the device.
fn ends_of_blocks(flags: &DeviceNDArray<Bool>, stream: &Stream) -> Result<(DeviceNDArray<u32>, usize)> {
    let (ctx, n) = (flags.context(), flags.size());
    let counts = ctx.device_array::<u32>([n.div_ceil(BLOCK)])?;
    if n == 0 {
        return Ok((counts, 0));
    }
    let count = kernel(ctx, "compact.wgsl", &["const PARTS = 1u;\n", functions::COMPACT], "count_flags")?;
    count.dispatch(stream, Groups::covering(counts.size() * 256), (words(flags), words(&counts), to_u32(n)?))?;
    let ends = number_flags(&counts, stream)?;
    let last = ends.size().cast_signed() - 1;
    let n_set = ends.slice_axis(0, last..last + 1)?.on(stream).copy_to_host()?[0] as usize;
    Ok((ends, n_set))
}

/// The flat places, in C order, of the elements that are not zero. Waits for the device.
fn positions_of<T: Element>(x: OnStream<'_, T>) -> Result<DeviceNDArray<u32>> {
    let stream = x.stream();
    let flags = x.reshape_copy(x.array().size(), vkarray_ndarray::Order::C)?;
    let flags = packed(converted::<T, Bool>(flags, stream)?.on(stream))?;
    let (ends, n_set) = ends_of_blocks(&flags, stream)?;
    let places = flags.context().device_array::<u32>([n_set])?;
    if n_set > 0 {
        let text = ["const PARTS = 1u;\n", functions::COMPACT];
        let kernel = kernel(flags.context(), "compact.wgsl", &text, "compact_places")?;
        let args = (words(&flags), words(&ends), words(&places), to_u32(flags.size())?);
        kernel.dispatch(stream, Groups::covering(ends.size() * 256), args)?;
    }
    Ok(places)
}

pub(super) fn compact<T: Element>(x: OnStream<'_, T>, mask: &DeviceNDArray<Bool>) -> Result<DeviceNDArray<T>> {
    let (shape, stream) = (x.array().shape(), x.stream());
    let Some(rest) = shape.strip_prefix(mask.shape()) else {
        let (first, second) = (shape.to_vec(), mask.shape().to_vec());
        return Err(Error::Shapes { operation: "compact", first, second }.into());
    };
    let rows = [&[mask.size()], rest].concat();
    let rows = x.reshape_copy(rows.as_slice(), vkarray_ndarray::Order::C)?;
    let parts = size_of::<T>() / 4;
    if !rest.is_empty() || !matches!(size_of::<T>(), 4 | 8 | 16) {
        return gather_axis(rows.on(stream), &positions_of(mask.on(stream))?, 0);
    }
    let flags = mask.on(stream).reshape_copy(mask.size(), vkarray_ndarray::Order::C)?;
    let (flags, rows) = (packed(flags.on(stream))?, packed(rows.on(stream))?);
    let (ends, n_set) = ends_of_blocks(&flags, stream)?;
    let out = rows.context().device_array::<T>([n_set])?;
    if n_set > 0 {
        let text = [&format!("const PARTS = {parts}u;\n"), functions::COMPACT];
        let kernel = kernel(rows.context(), "compact.wgsl", &text, "compact_elements")?;
        let args = (words(&flags), words(&ends), words(&rows), words(&out), to_u32(flags.size())?);
        kernel.dispatch(stream, Groups::covering(ends.size() * 256), args)?;
    }
    Ok(out)
}

pub(super) fn put<T: Element>(x: OnStream<'_, T>, mask: &DeviceNDArray<Bool>, values: &DeviceNDArray<T>) -> Result<()> {
    let shape = x.array().shape();
    if !shape.starts_with(mask.shape()) {
        let (first, second) = (shape.to_vec(), mask.shape().to_vec());
        return Err(Error::Shapes { operation: "put_mask", first, second }.into());
    }
    x.array().check_writable()?;
    // The mask of each element: that of its leading axes.
    let apart = [mask.shape(), &vec![1; shape.len() - mask.ndim()]].concat();
    let mask = mask.reshape_copy(apart.as_slice(), vkarray_ndarray::Order::C)?.broadcast_to(shape)?;
    let places = positions_of(mask.on(x.stream()))?;
    if values.size() != places.size() && values.size() != 1 {
        return Err(Error::MaskValues { values: values.size(), places: places.size() }.into());
    }
    super::put::put(x, &places, values, IndexMode::Clip)
}

pub(super) fn nonzero<T: Element>(x: OnStream<'_, T>) -> Result<Vec<DeviceNDArray<u32>>> {
    let shape = x.array().shape();
    if shape.is_empty() {
        return Err(ArrayError::NoAxis { operation: "nonzero" });
    }
    let (places, stream, ctx) = (positions_of(x)?, x.stream(), x.array().context());
    let text = [functions::UNRAVEL];
    let kernel = kernel(ctx, "unravel.wgsl", &text, "unravel")?;
    let mut below = x.array().size();
    shape
        .iter()
        .map(|&length| {
            let indices = ctx.device_array::<u32>([places.size()])?;
            if places.size() > 0 {
                below /= length;
                let args = (words(&places), words(&indices), to_u32(below)?, to_u32(length)?);
                run(&kernel, stream, places.size(), &args)?;
            }
            Ok(indices)
        })
        .collect()
}
