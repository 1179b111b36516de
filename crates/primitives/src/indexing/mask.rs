//! Elements that a mask selects. A scan numbers the flags that are set, and the number of the last one is read back.

use vkarray_driver::Stream;
use vkarray_kernel::{Bool, Element};
use vkarray_ndarray::{DeviceNDArray, Error as ArrayError, OnStream, Result};
use vkarray_shaders::functions;

use super::take::gather_axis;
use crate::error::Error;
use crate::operand::{kernel, run, to_u32, words};
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

/// The flat places, in C order, of the elements that are not zero. Waits for the device.
pub(crate) fn positions_of<T: Element>(x: OnStream<'_, T>) -> Result<DeviceNDArray<u32>> {
    let stream = x.stream();
    let flags = x.reshape_copy(x.array().size(), vkarray_ndarray::Order::C)?.on(stream).astype::<Bool>()?;
    Ok(places_of_flags(&flags.on(stream).astype::<u32>()?, stream)?.0)
}

pub(super) fn compact<T: Element>(x: OnStream<'_, T>, mask: &DeviceNDArray<Bool>) -> Result<DeviceNDArray<T>> {
    let (shape, stream) = (x.array().shape(), x.stream());
    let Some(rest) = shape.strip_prefix(mask.shape()) else {
        let (first, second) = (shape.to_vec(), mask.shape().to_vec());
        return Err(Error::Shapes { operation: "compact", first, second }.into());
    };
    let places = positions_of(mask.on(stream))?;
    let rows = [&[mask.size()], rest].concat();
    let rows = x.reshape_copy(rows.as_slice(), vkarray_ndarray::Order::C)?;
    gather_axis(rows.on(stream), &places, 0)
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
