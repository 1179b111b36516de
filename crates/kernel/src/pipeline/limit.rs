//! How many kernels a cache keeps: [`KernelLimit`], and which ones it drops beyond that.
//!
//! A kernel that a program, recorded work or a graph has a handle of is never dropped: its memory would not be freed, and
//! the next build of the same would make a second one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::pipeline::cache::{KernelCache, KernelSlot, driver_cache};

/// How many built kernels a [`KernelCache`](crate::KernelCache) keeps in memory. Beyond either number, those that were not
/// used for longest are dropped, until an eighth is free. Kernels in use, by a handle of the program, by recorded work or by
/// a graph, are kept beyond the limit.
///
/// A kernel that was dropped is built again when it is needed, from the files of the cache on disk where that is used.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{KernelLimit, Source};
///
/// let ctx = Context::open_default()?;
/// ctx.kernel_cache().set_limit(KernelLimit { kernels: 8, ..KernelLimit::default() });
/// for n in 0..20 {
///     let text = format!("@compute @workgroup_size(1) fn count() {{ var n = {n}; n += 1; }}");
///     ctx.kernel(Source::wgsl(text)).build()?;
/// }
/// let kept = ctx.kernel_cache().statistics();
/// assert!(kept.kernels <= 8 && kept.dropped >= 12, "{kept:?}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelLimit {
    /// The most kernels; 1024 if nothing else is set. Lavapipe keeps some 0.3 MB for each.
    pub kernels: usize,
    /// The most bytes of SPIR-V of all kernels together; 16 MiB if nothing else is set. What a driver keeps for a kernel
    /// grows with it.
    pub spirv_bytes: usize,
}

impl Default for KernelLimit {
    fn default() -> Self {
        Self { kernels: 1024, spirv_bytes: 16 << 20 }
    }
}

/// What a [`KernelCache`](crate::KernelCache) holds in memory, and what it built and dropped since it was made. See
/// [`KernelCache::statistics`](crate::KernelCache::statistics).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelStatistics {
    /// Kernels in memory. Those that are being built do not count.
    pub kernels: usize,
    /// The bytes of their SPIR-V.
    pub spirv_bytes: usize,
    /// Kernels that were built, also from what is on disk.
    pub built: u64,
    /// Kernels that were dropped because of the [`KernelLimit`].
    pub dropped: u64,
}

/// When a kernel was used last, in builds of its cache, and its size.
#[derive(Debug)]
pub(crate) struct LastUse {
    last: AtomicU64,
    /// The number of builds of the cache.
    clock: Arc<AtomicU64>,
    spirv_bytes: usize,
}

impl LastUse {
    pub(crate) fn new(clock: &Arc<AtomicU64>, spirv_bytes: usize) -> Self {
        Self { last: AtomicU64::new(clock.load(Relaxed)), clock: Arc::clone(clock), spirv_bytes }
    }

    /// Notes that the kernel is used. Writes only after another kernel was built: threads that use one kernel share this.
    #[inline]
    pub(crate) fn note(&self) {
        let now = self.clock.load(Relaxed);
        if self.last.load(Relaxed) != now {
            self.last.store(now, Relaxed);
        }
    }

    /// What is known of a kernel in a cache.
    pub(crate) fn kept(&self, is_in_use: bool) -> Kept {
        Kept { last_use: self.last.load(Relaxed), spirv_bytes: self.spirv_bytes, is_in_use }
    }
}

/// A kernel in a cache, as far as the choice depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) last_use: u64,
    pub(crate) spirv_bytes: usize,
    pub(crate) is_in_use: bool,
}

/// The positions of the kernels to drop: none within the limit, and otherwise those not used for longest, until an eighth of
/// the limit is free.
pub(crate) fn surplus(kept: &[Kept], limit: KernelLimit) -> Vec<usize> {
    let (mut kernels, mut bytes) = (kept.len(), kept.iter().map(|kernel| kernel.spirv_bytes).sum::<usize>());
    if kernels <= limit.kernels && bytes <= limit.spirv_bytes {
        return Vec::new();
    }
    let target = |limit: usize| limit - limit / 8;
    let mut unused: Vec<usize> = (0..kept.len()).filter(|&at| !kept[at].is_in_use).collect();
    unused.sort_unstable_by_key(|&at| kept[at].last_use);
    let is_surplus = |&at: &usize| {
        let is_over = kernels > target(limit.kernels) || bytes > target(limit.spirv_bytes);
        (kernels, bytes) = (kernels - 1, bytes - kept[at].spirv_bytes);
        is_over
    };
    unused.into_iter().take_while(is_surplus).collect()
}

impl KernelCache {
    /// Sets how many kernels are kept in memory, from the next build on. [`KernelLimit`] has an example.
    pub fn set_limit(&self, limit: KernelLimit) {
        for (own, new) in self.limit.iter().zip([limit.kernels, limit.spirv_bytes]) {
            own.store(new, Relaxed); // Numbers alone: no other memory depends on them.
        }
    }

    /// How many kernels are kept in memory at most.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::KernelLimit;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.kernel_cache().limit(), KernelLimit::default());
    /// # Ok(())
    /// # }
    /// ```
    pub fn limit(&self) -> KernelLimit {
        let [kernels, spirv_bytes] = [0, 1].map(|at: usize| self.limit[at].load(Relaxed));
        KernelLimit { kernels, spirv_bytes }
    }

    /// The kernels in memory, and how many were built and dropped. [`KernelLimit`] has an example.
    pub fn statistics(&self) -> KernelStatistics {
        let [built, dropped] = [&*self.n_built, &self.n_dropped].map(|count| count.load(Relaxed));
        let mut statistics = KernelStatistics { built, dropped, ..KernelStatistics::default() };
        if self.device().is_forked() {
            return statistics; // A thread that does not exist here may hold the lock.
        }
        for kept in self.kernels.lock().values().filter_map(KernelSlot::kept) {
            statistics.kernels += 1;
            statistics.spirv_bytes += kept.spirv_bytes;
        }
        statistics
    }

    /// Drops kernels beyond the limit. Their pipelines are destroyed here, with no lock held.
    pub(super) fn drop_surplus(&self) {
        let mut kernels = self.kernels.lock();
        let built = kernels.iter().filter_map(|(key, slot)| Some((Arc::clone(key), slot.kept()?)));
        let (keys, kept): (Vec<_>, Vec<_>) = built.unzip();
        let dropped = surplus(&kept, self.limit());
        let dropped: Vec<_> = dropped.into_iter().filter_map(|at| kernels.remove(&keys[at])).collect();
        drop(kernels);
        self.n_dropped.fetch_add(dropped.len() as u64, Relaxed);
        if dropped.is_empty() || self.driver_header.is_some() {
            return;
        }
        // SAFETY: the cache starts empty.
        if let Ok(new) = unsafe { driver_cache(self.device(), &[]) } {
            let old = std::mem::replace(&mut *self.driver_cache.lock(), Arc::new(new));
            drop(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(last_use: u64, spirv_bytes: usize) -> Kept {
        Kept { last_use, spirv_bytes, is_in_use: false }
    }

    #[test]
    fn the_kernels_not_used_for_longest_are_dropped_until_an_eighth_is_free() {
        let limit = KernelLimit { kernels: 8, spirv_bytes: 1000 };
        let kernels: Vec<Kept> = (0..9).map(|at| kept(100 - at, 10)).collect();
        assert!(surplus(&kernels[..8], limit).is_empty());
        assert_eq!(surplus(&kernels, limit), [8, 7]);
        assert_eq!(surplus(&[kept(1, 400), kept(0, 500), kept(2, 200)], limit), [1]);
        assert_eq!(surplus(&[kept(1, 4000)], limit), [0]);
        assert_eq!(surplus(&kernels, KernelLimit { kernels: 0, spirv_bytes: 0 }).len(), 9);
    }

    #[test]
    fn kernels_in_use_stay() {
        let limit = KernelLimit { kernels: 2, spirv_bytes: 1000 };
        let mut kernels = [kept(0, 10), kept(1, 10), kept(2, 10), kept(3, 10)];
        kernels[0].is_in_use = true;
        kernels[2].is_in_use = true;
        assert_eq!(surplus(&kernels, limit), [1, 3]);
        kernels.iter_mut().for_each(|kernel| kernel.is_in_use = true);
        assert!(surplus(&kernels, limit).is_empty());
    }

    #[test]
    fn a_use_is_noted_by_the_number_of_builds() {
        let clock = Arc::new(AtomicU64::new(3));
        let own = LastUse::new(&clock, 20);
        clock.store(7, Relaxed);
        assert_eq!(own.kept(false).last_use, 3);
        own.note();
        assert_eq!(own.kept(true), Kept { last_use: 7, spirv_bytes: 20, is_in_use: true });
    }
}
