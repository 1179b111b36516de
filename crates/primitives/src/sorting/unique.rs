//! The different values of an array: runs of equal keys in sorted order.

use vkarray_driver::Stream;
use vkarray_kernel::Element;
use vkarray_ndarray::{DeviceNDArray, OnStream, Order, Result};
use vkarray_shaders::functions;

use super::merge::order_rows;
use crate::indexing::{gather_axis, places_of_flags};
use crate::operand::{Widen, kernel, run, to_u32, words};

/// The different values of an array; see [`Sorting::unique_all`](super::Sorting::unique_all).
#[derive(Debug)]
pub struct Unique<T: Element> {
    /// The values, ascending.
    pub values: DeviceNDArray<T>,
    /// The flat place of the first element with each value.
    pub indices: DeviceNDArray<u32>,
    /// For each element, the place of its value in `values`. Has the shape of the array.
    pub inverse: DeviceNDArray<u32>,
    /// How many elements have each value.
    pub counts: DeviceNDArray<u32>,
}

/// The runs of equal keys.
pub(super) struct KeyRuns<'a, T: Element> {
    /// The elements, as an array of one axis.
    flat: DeviceNDArray<T>,
    shape: Vec<usize>,
    /// The places of the elements in sorted order.
    order: DeviceNDArray<u32>,
    /// For each place in sorted order, the number of runs that begin up to it.
    numbers: DeviceNDArray<u32>,
    /// The places in sorted order at which runs begin.
    starts: DeviceNDArray<u32>,
    stream: &'a Stream,
    text: String,
}

/// Finds the runs. Waits for the number of runs.
pub(super) fn unique<'a, T: Widen>(x: OnStream<'a, T>) -> Result<KeyRuns<'a, T>> {
    let stream = x.stream();
    let flat = x.reshape_copy(x.array().size(), Order::C)?;
    let (order, keys) = order_rows(flat.on(stream), false)?;
    let text = format!("{}const NAN_DIFFERS = {};\n", keys.kind.text(), keys.kind.is_float);
    let text = [&text, functions::SELECT].concat();
    let flags = flat.context().device_array::<u32>([keys.count])?;
    if keys.count > 0 {
        let kernel = kernel(flat.context(), "select.wgsl", &[&text], "flag_changes")?;
        run(&kernel, stream, keys.count, &(words(&keys.words), words(&flags), to_u32(keys.count)?))?;
    }
    let (starts, numbers) = places_of_flags(&flags, stream)?;
    Ok(KeyRuns { flat, shape: x.array().shape().to_vec(), order, numbers, starts, stream, text })
}

impl<T: Element> KeyRuns<'_, T> {
    pub(super) fn values(&self) -> Result<DeviceNDArray<T>> {
        gather_axis(self.flat.on(self.stream), &self.first_places()?, 0)
    }

    pub(super) fn first_places(&self) -> Result<DeviceNDArray<u32>> {
        gather_axis(self.order.on(self.stream), &self.starts, 0)
    }

    pub(super) fn counts(&self) -> Result<DeviceNDArray<u32>> {
        let counts = self.flat.context().device_array::<u32>([self.starts.size()])?;
        let args = (words(&self.starts), words(&counts), to_u32(self.flat.size())?);
        self.run("run_lengths", counts.size(), &args)?;
        Ok(counts)
    }

    pub(super) fn inverse(&self) -> Result<DeviceNDArray<u32>> {
        let inverse = self.flat.context().device_array::<u32>(self.shape.as_slice())?;
        let args = (words(&self.numbers), words(&self.order), words(&inverse), to_u32(inverse.size())?);
        self.run("invert", inverse.size(), &args)?;
        Ok(inverse)
    }

    fn run(&self, entry: &str, count: usize, args: &impl vkarray_kernel::Arguments) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        run(&kernel(self.flat.context(), "select.wgsl", &[&self.text], entry)?, self.stream, count, args)
    }
}
