//! Histograms. Their kernel is in `shaders/library/bins.wgsl`; `spacing.rs` decides about the edges.

use std::ops::RangeInclusive;

use vkarray_driver::DeviceInfo;
use vkarray_kernel::Kernel;
use vkarray_layout::Order;
use vkarray_shaders::functions;

use super::keys::{KeyKind, Keys, bits_of};
use super::radix::order_rows;
use super::search::{Side, places_among};
use super::spacing::{Spacing, even_edges, whole_edges};
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::functions::operand::{
    UniformFloat, Widen, converted, kernel, longest, part, parts, quads, run, to_u32, words,
};

/// Words that an invocation reads before it counts the first one.
const WORDS: usize = 16;

/// The most invocations of a workgroup. 2^28 `u32` that are uniform, constant and skewed are counted in 256 bins at 3,745, 3,833
/// and 3,840 GB/s; with 512 invocations and 528 groups at 3,704, 3,782 and 3,633, with 256 and 1,056 at 3,443, 3,466 and 3,331
/// (H200, driver 580.159.04, 2026-11-28).
const THREADS: u32 = 1024;

/// Workgroups that keep a device busy: two for each of the 132 multiprocessors of an H200. With 396 and 1,056 the same numbers
/// are counted at 3,811, 3,825 and 3,638, and at 3,671, 3,618 and 3,450 GB/s.
const GROUPS: usize = 264;

/// The most times that an invocation reads [`WORDS`].
const STEPS: usize = 64;

/// The most counters of a workgroup: one for each of as many bins, or several.
const COUNTERS: usize = 8192;

/// The counts of the bins, and their edges. There is one edge more than bins.
pub type Histogram<T> = (DeviceNDArray<u32>, Vec<<T as Widen>::Edge>);

impl<T: Widen> DeviceNDArray<T> {
    /// How many elements lie in each bin between ascending edges: NumPy's `histogram` with an array of edges. A bin
    /// includes its lower edge and not its upper edge; the last bin includes both. Elements outside all bins, and NaN,
    /// do not count. The call does not wait.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[1, 2, 2, 3, 4, 9])?;
    /// assert_eq!(x.histogram_between(&[1, 3, 4])?.to_vec()?, [3, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Edges`](crate::Error::Edges) if there are fewer than two edges, or they do not ascend;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "digitize")]
    pub fn histogram_between(&self, edges: &[T]) -> Result<DeviceNDArray<u32>>
    where
        T: PartialOrd,
    {
        // NaN is neither smaller than nor equal to any value, so edges with NaN are refused here.
        if edges.len() < 2 || !edges.is_sorted_by(|a, b| a <= b) {
            return Err(Error::Edges { count: edges.len() });
        }
        count(self, edges)
    }

    /// How many elements lie in each of `bins` bins of equal width, with the edges: NumPy's `histogram` with a range.
    /// The edges are computed in `f64` and rounded to [`Widen::Edge`], the type in which elements are compared. A
    /// range of one number is widened by a half on each side. The bins count elements as in
    /// [`DeviceNDArray::histogram_between`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[0.1_f32, 0.2, 0.8, 1.0])?;
    /// let (counts, edges) = x.histogram(2, 0.0..=1.0)?;
    /// assert_eq!((counts.to_vec()?, edges), (vec![2, 2], vec![0.0, 0.5, 1.0]));
    /// let (counts, edges) = ctx.arange(0_u8, 10, 1)?.histogram(4, 0.0..=9.0)?;
    /// assert_eq!((counts.to_vec()?, edges), (vec![3, 2, 2, 3], vec![0.0_f64, 2.25, 4.5, 6.75, 9.0]));
    /// let (counts, edges) = x.histogram(2, 1.0..=1.0)?;
    /// assert_eq!((counts.to_vec()?, edges), (vec![1, 1], vec![0.5, 1.0, 1.5]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Edges`](crate::Error::Edges) if there are no bins, or the range descends or is not finite;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated; and the errors of
    /// [`DeviceNDArray::histogram_between`].
    pub fn histogram(&self, bins: usize, range: RangeInclusive<f64>) -> Result<Histogram<T>> {
        let exact = even_edges(bins, &range)?;
        let edges: Vec<_> = exact.iter().copied().map(UniformFloat::of_f64).collect();
        let counts = match whole_edges::<T>(&exact) {
            Some(whole) => count(self, &whole)?,
            None => count(&converted::<_, T::Edge>(self, self.stream())?.on(self.stream()), &edges)?,
        };
        Ok((counts, edges))
    }
}

/// Counts between ascending edges, at least two.
fn count<T: Widen>(x: &DeviceNDArray<T>, edges: &[T]) -> Result<DeviceNDArray<u32>> {
    let (ctx, stream, n_bins, n_words) = (x.context(), x.stream(), edges.len() - 1, KeyKind::of::<T>().n_words);
    to_u32(x.size())?;
    let on_device = Keys::of_host(ctx, edges, stream)?;
    let counters = Counters::new(ctx.info(), n_bins);
    let Some(counters) = counters.filter(|_| edges.len() <= longest(ctx, 4 * n_words, 1)) else {
        return count_sorted(x, &on_device);
    };
    let counts = ctx.device_array::<u32>([n_bins])?;
    counts.on(stream).fill(0)?;
    if x.size() == 0 {
        return Ok(counts);
    }
    let (bits, kind, spacing) = (bits_of(x)?, on_device.kind, Spacing::new(edges));
    let kernel = counters.kernel(ctx, kind, spacing)?;
    let [origin, scale, limit] = spacing.map_or([0.0; 3], |even| [even.origin, even.scale, even.limit]);
    for range in parts(ctx, x.size(), 4 * n_words, 4) {
        let own = part(&bits, &(range.start * n_words..range.end * n_words))?;
        let (quads, n_quads) = quads(&own)?;
        let args = (
            words(&own),
            words(&quads),
            words(&on_device.words),
            words(&counts),
            to_u32(n_bins)?,
            to_u32(n_quads)?,
            to_u32(range.len())?,
            origin,
            scale,
            limit,
            spacing.map_or(0, |even| even.wrong),
        );
        run(&kernel, stream, counters.n_groups(own.size()) * counters.threads, &args)?;
    }
    Ok(counts)
}

/// Counts in more bins than a workgroup has counters: the distances of the edges' places among the sorted elements. The
/// last bin has its upper edge.
fn count_sorted<T: Widen>(x: &DeviceNDArray<T>, edges: &Keys) -> Result<DeviceNDArray<u32>> {
    let (stream, n_bins) = (x.stream(), edges.count - 1);
    let elements = x.reshape_copy(x.size(), Order::C)?;
    let sorted = order_rows(&elements, false)?.1;
    let places = places_among(&sorted, edges, Side::Left, stream)?;
    let end = places_among(&sorted, &edges.part(&(n_bins..edges.count))?, Side::Right, stream)?;
    part(&places, &(n_bins..edges.count))?.on(stream).assign(&end)?;
    (&part(&places, &(1..edges.count))? - &part(&places, &(0..n_bins))?).on(stream).eval()
}

/// The invocations and the counters of a workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counters {
    threads: usize,
    /// All counters, a power of two.
    count: usize,
    /// Counters for each bin, a power of two.
    copies: usize,
}

impl Counters {
    /// Counters for a number of bins, unless a workgroup of the device has too few.
    fn new(device: &DeviceInfo, n_bins: usize) -> Option<Self> {
        let limits = &device.limits;
        let threads = limits.max_compute_work_group_invocations.min(limits.max_compute_work_group_size[0]);
        let most = (limits.max_compute_shared_memory_size as usize / 4).min(COUNTERS);
        let copies = most.checked_div(n_bins.checked_next_power_of_two()?).filter(|&copies| copies > 0)?;
        let copies = 1 << copies.ilog2().min(5);
        Some(Self {
            threads: 1 << threads.clamp(1, THREADS).ilog2(),
            count: n_bins.next_power_of_two() * copies,
            copies,
        })
    }

    /// Workgroups for a number of words, at least one: few, since each adds its counts up.
    fn n_groups(self, n_words: usize) -> usize {
        let steps = n_words.div_ceil(WORDS * self.threads);
        steps.min(GROUPS.max(steps.div_ceil(STEPS)))
    }

    /// The kernel that counts numbers of a kind.
    fn kernel(self, ctx: &Context, kind: KeyKind, spacing: Option<Spacing>) -> Result<Kernel> {
        let Self { threads, count, copies } = self;
        let distances = match spacing {
            Some(_) if kind.is_float() => "bitcast<vec4<f32>>(quad) - bins.origin",
            Some(_) => "vec4<f32>(keys_of(quad) - lowest) + 0.5",
            None => "vec4(0.0)",
        };
        let parts = spacing.map_or(1, |spacing| spacing.parts);
        let constants = format!(
            "const THREADS = {threads}u;\nconst COPIES = {copies}u;\nconst COUNTERS = {count}u;\n\
             const IS_EVEN = {};\nconst PARTS = {parts}u;\n\
             fn distances(quad: vec4<u32>) -> vec4<f32> {{\n    return {distances};\n}}\n",
            spacing.is_some()
        );
        let text = [&kind.text(false, false), functions::KEY_ORDER, &constants, functions::BINS];
        kernel(ctx, "bins.wgsl", &text, "count_bins")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::machine;

    fn device(shared: u32, threads: u32) -> DeviceInfo {
        let mut device = machine("h100_580.159");
        device.limits.max_compute_shared_memory_size = shared;
        device.limits.max_compute_work_group_invocations = threads;
        device
    }

    #[test]
    fn a_workgroup_has_as_many_copies_as_its_memory_holds() {
        // Bytes of shared memory, invocations, bins; invocations, counters, copies.
        let cases = [
            ((49_152, 1024, 256), Some((1024, 8192, 32))),
            ((49_152, 1024, 1), Some((1024, 32, 32))),
            ((49_152, 1024, 257), Some((1024, 8192, 16))),
            ((49_152, 1024, 8192), Some((1024, 8192, 1))),
            ((49_152, 1024, 8193), None),
            ((16_384, 128, 256), Some((128, 4096, 16))), // The least that Vulkan asks for.
            ((16_384, 128, 4097), None),
            ((20_000, 384, 256), Some((256, 4096, 16))),
            ((49_152, 1024, usize::MAX), None),
        ];
        for ((shared, threads, n_bins), expected) in cases {
            let found = Counters::new(&device(shared, threads), n_bins);
            assert_eq!(found.map(|found| (found.threads, found.count, found.copies)), expected, "{shared}, {n_bins}");
        }
    }

    #[test]
    fn few_workgroups_share_many_words() {
        let counters = Counters { threads: 1024, count: 8192, copies: 32 };
        for (n_words, expected) in [(1, 1), (16_384, 1), (16_385, 2), (1 << 22, 256), (1 << 28, 264), (1 << 30, 1024)] {
            assert_eq!(counters.n_groups(n_words), expected, "{n_words}");
        }
    }
}
