//! Places among sorted elements.

use vkarray_driver::Stream;
use vkarray_kernel::Bool;
use vkarray_layout::Order;
use vkarray_shaders::functions;

use super::keys::Keys;
use super::radix::order_rows;
use crate::array::DeviceNDArray;
use crate::error::{Error, Result};
use crate::functions::operand::{Widen, flat, kernel, part, run, to_u32, words};

/// The side of equal elements on which a value is inserted.
///
/// ```
/// use vkarray::primitives::Side;
///
/// assert_ne!(Side::Left, Side::Right);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before the first equal element.
    Left,
    /// After the last equal element.
    Right,
}

fn text(keys: &Keys, side: Side) -> String {
    let is_right = side == Side::Right;
    let constants = format!("const RIGHT = {is_right};\nconst NAN_DIFFERS = {};\n", keys.kind.is_float());
    [&keys.kind.alias(), functions::KEY_ORDER, &constants, functions::SEARCH].concat()
}

/// Searches every part of the sorted keys for every part of the searched keys. `results` has a number for each searched
/// key.
fn search(
    [sorted, keys]: [&Keys; 2],
    (side, entry): (Side, &str),
    results: &DeviceNDArray<u32>,
    stream: &Stream,
) -> Result<()> {
    let (results, sorted) = (flat(results)?, sorted.parts()?);
    let kernel = kernel(results.context(), "search.wgsl", &[&text(keys, side)], entry)?;
    for (range, own) in keys.parts()? {
        let found = part(&results, &range)?;
        for (among, sorted) in &sorted {
            let (n_sorted, count) = (to_u32(among.len())?, to_u32(range.len())?);
            let args = (words(sorted), words(&own), words(&found), n_sorted, count, u32::from(among.start == 0));
            run(&kernel, stream, range.len(), &args)?;
        }
    }
    Ok(())
}

/// For each key, the number of sorted keys before it.
pub(super) fn places_among(sorted: &Keys, keys: &Keys, side: Side, stream: &Stream) -> Result<DeviceNDArray<u32>> {
    let places = keys.words.context().device_array::<u32>([keys.count])?;
    if sorted.count == 0 {
        places.on(stream).fill(0)?;
    } else if keys.count > 0 {
        search([sorted, keys], (side, "search_places"), &places, stream)?;
    }
    Ok(places)
}

/// Whether each element is among `values`.
pub(super) fn isin<T: Widen>(x: &DeviceNDArray<T>, values: &DeviceNDArray<T>) -> Result<DeviceNDArray<Bool>> {
    let (ctx, stream) = (x.context(), x.stream());
    let flags = ctx.device_array::<u32>(x.shape())?;
    if values.size() == 0 {
        flags.on(stream).fill(0)?;
    } else if flags.size() > 0 {
        let values = values.on(stream).reshape_copy(values.size(), Order::C)?;
        let (sorted, keys) = (order_rows(&values.on(stream), false)?.1, Keys::of(x)?);
        search([&sorted, &keys], (Side::Left, "search_equal"), &flags, stream)?;
    }
    flags.on(stream).astype()
}

pub(super) fn searchsorted<T: Widen>(
    x: &DeviceNDArray<T>,
    values: &DeviceNDArray<T>,
    side: Side,
) -> Result<DeviceNDArray<u32>> {
    if x.ndim() != 1 {
        return Err(Error::RankMismatch { expected: 1, shape: x.shape().to_vec() });
    }
    let stream = x.stream();
    let (sorted, keys) = (Keys::of(x)?, Keys::of(&values.on(stream))?);
    places_among(&sorted, &keys, side, stream)?.reshape(values.shape())
}
