//! Places among sorted elements, and histograms, which are places among edges.

use std::ops::RangeInclusive;

use vkarray_driver::Stream;
use vkarray_kernel::Bool;
use vkarray_layout::Order;
use vkarray_shaders::functions;

use super::keys::Keys;
use super::radix::order_rows;
use crate::array::{DeviceNDArray, collect_values};
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::functions::operand::{Widen, flat, kernel, longest, part, run, to_u32, words};

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

/// Edges of bins of equal width, as NumPy's `linspace` has them. A range of one number is widened by a half on each
/// side.
#[expect(clippy::cast_precision_loss, reason = "there is no memory for 2^53 bins")]
pub(super) fn even_edges(bins: usize, range: &RangeInclusive<f64>) -> Result<Vec<f64>> {
    let (&low, &high) = (range.start(), range.end());
    if bins == 0 || low > high || !(high - low).is_finite() {
        return Err(Error::Edges { count: bins + 1 });
    }
    to_u32(bins)?;
    let half = if low == high { 0.5 } else { 0.0 };
    let (low, high) = (low - half, high + half);
    let step = (high - low) / bins as f64;
    collect_values(bins + 1, (0..bins).map(|i| i as f64 * step + low).chain([high]))
}

pub(super) fn histogram<T: Widen + PartialOrd>(x: &DeviceNDArray<T>, edges: &[T]) -> Result<DeviceNDArray<u32>> {
    // NaN is neither smaller than nor equal to any value, so edges with NaN are refused here.
    if edges.len() < 2 || !edges.is_sorted_by(|a, b| a <= b) {
        return Err(Error::Edges { count: edges.len() });
    }
    let (ctx, stream, n_bins) = (x.context(), x.stream(), edges.len() - 1);
    let on_device = ctx.device_array::<T>([edges.len()])?;
    on_device.on(stream).copy_from_host(&ndarray::aview1(edges))?;
    let edges = Keys::of(&on_device.on(stream))?;
    if edges.count > longest(ctx, 4 * edges.kind.n_words, 1) {
        return histogram_of_sorted(x, &edges);
    }
    let counts = ctx.device_array::<u32>([n_bins])?;
    counts.on(stream).fill(0)?;
    if x.size() > 0 {
        let keys = Keys::of(x)?;
        let kernel = kernel(ctx, "search.wgsl", &[&text(&keys, Side::Right)], "count_bins")?;
        for (range, own) in keys.parts()? {
            let args = (words(&edges.words), words(&own), words(&counts), to_u32(n_bins)?, to_u32(range.len())?, 0_u32);
            run(&kernel, stream, range.len(), &args)?;
        }
    }
    Ok(counts)
}

/// Counts in bins whose edges the device does not bind at once: the distances of the edges' places among the sorted
/// elements. The last bin has its upper edge.
fn histogram_of_sorted<T: Widen>(x: &DeviceNDArray<T>, edges: &Keys) -> Result<DeviceNDArray<u32>> {
    let (stream, n_bins) = (x.stream(), edges.count - 1);
    let elements = x.reshape_copy(x.size(), Order::C)?;
    let sorted = order_rows(&elements, false)?.1;
    let places = places_among(&sorted, edges, Side::Left, stream)?;
    let end = places_among(&sorted, &edges.part(&(n_bins..edges.count))?, Side::Right, stream)?;
    part(&places, &(n_bins..edges.count))?.on(stream).assign(&end)?;
    (&part(&places, &(1..edges.count))? - &part(&places, &(0..n_bins))?).on(stream).eval()
}
