//! Elements that a mask selects. A kernel counts the set flags of each block, a scan adds the counts up, and the host
//! reads the last sum. Then each block writes its elements behind the elements of the blocks before it.

use std::ops::Range;

use vkarray_driver::Stream;
use vkarray_kernel::{Arg, Bool, Element, Groups, Kernel};
use vkarray_shaders::functions;

use super::scatter::scatter;
use super::take::gather_axis;
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::Operand;
use crate::functions::operand::{converted, flat, packed, part, parts, quads, to_u32, words, words_of_block};
use crate::functions::scan::{number_flags, sums_of_words};
use crate::functions::team::Teams;
use crate::generate::word;

/// Flags that a word of bits holds in `compact.wgsl`.
const FLAGS: usize = 32;

/// The teams of the kernels of `compact.wgsl`. Half of 2^28 `f32` are selected at 3,476 GB/s with four, and at 3,454 and 3,487
/// with two and eight (H200, driver 580.159.04, 2026-11-28).
fn teams(ctx: &Context) -> Teams {
    Teams::new(ctx.info(), [1, 2, 4], |_| false)
}

fn compaction(ctx: &Context, n_parts: usize, entry: &str) -> Result<Kernel> {
    let (teams, parts) = (teams(ctx), format!("const PARTS = {n_parts}u;\n"));
    let scans = [functions::TEAM_WORDS, functions::TEAM_SCAN].concat();
    let text = [&sums_of_words(), &teams.text(), &scans, &parts, functions::COMPACT];
    teams.kernel(ctx, "compact.wgsl", text.concat(), entry)
}

/// A part of the flags that a kernel binds at once.
struct FlagPart {
    /// The flags as bits, with a word for each invocation of a block.
    bits: DeviceNDArray<u32>,
    /// The range of the part among all flags.
    range: Range<usize>,
    /// The number of set flags up to the end of each block of the part.
    ends: DeviceNDArray<u32>,
    /// The numbers of the part's set flags among all set flags.
    numbers: Range<usize>,
}

/// The parts of an array of flags, and the number of set flags. Beside each part a kernel can bind a result of the same
/// number of elements of `itemsize` bytes. Waits for the device.
fn flag_parts(flags: &DeviceNDArray<Bool>, itemsize: usize, stream: &Stream) -> Result<(Vec<FlagPart>, usize)> {
    let flags = flat(&packed(&flags.on(stream))?)?;
    let (ctx, mut found, mut n_set) = (flags.context(), Vec::new(), 0);
    let n_threads = teams(ctx).n_threads();
    let block = FLAGS * n_threads;
    to_u32(flags.size())?;
    for range in parts(ctx, flags.size(), itemsize, block) {
        let own = part(&flags, &range)?;
        let (quads, n_quads) = quads(&own)?;
        let counts = ctx.device_array::<u32>([range.len().div_ceil(block)])?;
        let bits = ctx.device_array::<u32>([counts.size() * n_threads])?;
        let args = (words(&own), words(&quads), words(&bits), words(&counts), to_u32(range.len())?, to_u32(n_quads)?);
        compaction(ctx, 1, "pack_flags")?.dispatch(stream, Groups::covering(bits.size()), args)?;
        let ends = number_flags(&counts, stream)?;
        let first = n_set;
        n_set += part(&ends, &(ends.size() - 1..ends.size()))?.on(stream).copy_to_host()?[0] as usize;
        found.push(FlagPart { bits, range, ends, numbers: first..n_set });
    }
    Ok((found, n_set))
}

impl FlagPart {
    /// Writes the elements of the set flags, or their places if no elements are given, to their numbers in `out`.
    fn compact<T: Element>(
        &self,
        rows: Option<&DeviceNDArray<T>>,
        out: &DeviceNDArray<T>,
        stream: &Stream,
    ) -> Result<()> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        let entry = if rows.is_some() { "compact_elements" } else { "compact_places" };
        let kernel = compaction(out.context(), size_of::<T>() / 4, entry)?;
        let rows = rows.map(|rows| part(rows, &self.range)).transpose()?;
        let [first, end] = [self.numbers.start, self.numbers.end].map(|number| out.offset() + number);
        let (target, skipped) = words_of_block(out, &(first..end));
        let mut args = vec![words(&self.bits), words(&self.ends)];
        args.extend(rows.as_ref().map(words));
        args.push(target);
        args.extend([self.range.len() as u64, skipped / 4, self.range.start as u64].map(|n| Arg::Scalar(word(n))));
        Ok(kernel.dispatch(stream, Groups::covering(self.bits.size()), args.as_slice())?)
    }
}

/// The flat places, in C order, of the elements that are not zero. Waits for the device.
pub(crate) fn positions_of<T: Element>(x: &DeviceNDArray<T>) -> Result<DeviceNDArray<u32>> {
    let stream = x.stream();
    let flags = x.reshape_copy(x.size(), vkarray_layout::Order::C)?;
    let flags = converted::<T, Bool>(&flags, stream)?;
    let (parts, n_set) = flag_parts(&flags, size_of::<u32>(), stream)?;
    let places = flags.context().device_array::<u32>([n_set])?;
    parts.iter().try_for_each(|part| part.compact(None, &places, stream))?;
    Ok(places)
}

impl<T: Element> DeviceNDArray<T> {
    /// The elements whose mask is true, in C order: NumPy's `x[mask]`. The mask has the leading axes of the array; one
    /// axis replaces them.
    ///
    /// The call waits for the number of elements, which the device computes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::array::Bool;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 4, 1)?;
    /// let mask = ctx.slice_to_device(&[true, false, false, true].map(Bool::from))?;
    /// assert_eq!(x.compact(&mask)?.to_vec()?, [0, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the mask's shape is not the beginning of the array's;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "compress")]
    #[doc(alias = "extract")]
    pub fn compact(&self, mask: &DeviceNDArray<Bool>) -> Result<DeviceNDArray<T>> {
        let (shape, stream) = (self.shape(), self.stream());
        let Some(rest) = shape.strip_prefix(mask.shape()) else {
            return Err(Error::shapes("compact", shape, mask.shape()));
        };
        let rows = [&[mask.size()], rest].concat();
        let rows = self.reshape_copy(rows.as_slice(), vkarray_layout::Order::C)?;
        if !rest.is_empty() || !matches!(size_of::<T>(), 4 | 8 | 16) {
            return gather_axis(&rows.on(stream), &positions_of(&mask.on(stream))?, 0);
        }
        let flags = mask.on(stream).reshape_copy(mask.size(), vkarray_layout::Order::C)?;
        let rows = packed(&rows.on(stream))?;
        let (parts, n_set) = flag_parts(&flags, size_of::<T>(), stream)?;
        let out = rows.context().device_array::<T>([n_set])?;
        parts.iter().try_for_each(|part| part.compact(Some(&rows), &out, stream))?;
        Ok(out)
    }

    /// Writes `values` to the elements whose mask is true, in C order: NumPy's `x[mask] = values`. The mask has the leading
    /// axes of the array. There is one value for each of these elements, or one for all.
    ///
    /// The call waits for the number of elements, which the device computes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 5, 1)?;
    /// x.put_mask(&x.greater(2).eval()?, &ctx.slice_to_device(&[70, 80])?)?;
    /// assert_eq!(x.to_vec()?, [0, 1, 2, 70, 80]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the mask's shape is not the beginning of the array's;
    /// [`Error::MaskValues`](crate::Error::MaskValues) for another number of values, with nothing written;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array;
    /// [`Error::SharedElements`](crate::Error::SharedElements) for an array whose elements share memory;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "place")]
    #[doc(alias = "putmask")]
    pub fn put_mask(&self, mask: &DeviceNDArray<Bool>, values: &DeviceNDArray<T>) -> Result<()> {
        let shape = self.shape();
        if !shape.starts_with(mask.shape()) {
            return Err(Error::shapes("put_mask", shape, mask.shape()));
        }
        self.check_writable()?;
        // The mask of an element is the mask of its leading axes.
        let apart = [mask.shape(), &vec![1; shape.len() - mask.ndim()]].concat();
        let mask = mask.reshape_copy(apart.as_slice(), vkarray_layout::Order::C)?.broadcast_to(shape)?;
        let places = positions_of(&mask.on(self.stream()))?;
        if values.size() != places.size() && values.size() != 1 {
            return Err(Error::MaskValues { values: values.size(), places: places.size() });
        }
        scatter(self, &places, None, values)
    }

    /// Writes `value` to the elements whose mask is true: NumPy's `x[mask] = value`. The mask has the leading axes of
    /// the array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[1.0_f32, f32::NAN, 3.0])?;
    /// x.fill_where(&x.isnan().eval()?, 0.0)?;
    /// assert_eq!(x.to_vec()?, [1.0, 0.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the mask's shape is not the beginning of the array's;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array; and the errors of
    /// [`DeviceNDArray::put_mask`].
    pub fn fill_where(&self, mask: &DeviceNDArray<Bool>, value: T) -> Result<()> {
        self.put_mask(mask, &mask.context().full([1], value)?)
    }

    /// The indices of the elements that are not zero, one array for each axis, in C order: NumPy's `nonzero`. NaN is not
    /// zero. An array without axes is refused, as in NumPy 2.
    ///
    /// The call waits for the number of elements, which the device computes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[0.0_f32, 2.0, -0.0, 3.0])?.reshape([2, 2])?;
    /// let places = x.nonzero()?;
    /// assert_eq!((places[0].to_vec()?, places[1].to_vec()?), (vec![0, 1], vec![1, 1]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`](crate::Error::NoAxis) for an array without axes;
    /// [`Error::NoConversion`](crate::Error::NoConversion) for records;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "argwhere")]
    pub fn nonzero(&self) -> Result<Vec<DeviceNDArray<u32>>> {
        let shape = self.shape();
        if shape.is_empty() {
            return Err(Error::NoAxis { operation: "nonzero" });
        }
        let places = positions_of(self)?;
        let mut below = self.size();
        shape
            .iter()
            .map(|&length| {
                if places.size() == 0 {
                    return places.copy();
                }
                below /= length;
                places.floor_divide(to_u32(below)?).remainder(to_u32(length)?).on(self.stream()).eval()
            })
            .collect()
    }
}
