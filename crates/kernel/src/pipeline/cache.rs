//! The kernels of one device, each built once: by what it is built from.
//!
//! Two kernels are the same if source, entry point, constants and options are. The driver's own pipeline cache stands
//! behind it, so that kernels that differ only in a constant share what the driver can share. A second run of a program
//! finds on disk what the first one made: `stored.rs` says what is kept under which hash, `disk_cache/mod.rs` how.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use ash::vk;
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};
use vkarray_driver::{Device, Owned, Stream};

use crate::disk_cache::{CacheCounters, CacheSettings, Disk, Hash};
use crate::error::{Error, Result};
use crate::pipeline::gate::build_gate;
use crate::pipeline::kernel::Kernel;
use crate::pipeline::stored::Origin;
use crate::shader::{Options, Sizes, Source};

/// Threads that build ahead: more would take the processor from whoever waits.
const MAX_BUILDERS: usize = 8;

/// Everything a kernel's code depends on. Values of constants by their bits, so that they can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    pub(crate) source: Source,
    pub(crate) entry: Option<String>,
    pub(crate) constants: Vec<(String, u64)>,
    pub(crate) sizes: Sizes,
    pub(crate) options: Options,
}

/// A kernel that is built, or being built.
#[derive(Debug)]
struct KernelSlot {
    made: OnceLock<Kernel>,
    /// Held by the one that builds, so that the others wait for it instead of building the same.
    making: Mutex<()>,
}

impl KernelSlot {
    fn new() -> Arc<Self> {
        Arc::new(Self { made: OnceLock::new(), making: Mutex::new(Rank::KernelBuild, ()) })
    }
}

/// Builds kernels for a device and remembers them, here and on disk.
pub struct KernelCache {
    /// Where kernels are launched that name no stream. First: dropping it may wait for work, which uses the rest.
    default_stream: Option<Stream>,
    kernels: Mutex<HashMap<Arc<KernelKey>, Arc<KernelSlot>>>,
    builders: OnceLock<rayon_core::ThreadPool>,
    gate: OnceLock<Kernel>,
    pub(crate) disk: Disk,
    /// Modules that a validator passed.
    pub(crate) validated: Mutex<HashSet<Hash>>,
    /// What the driver's pipelines on disk must be from; `None` while nothing is kept there.
    pub(crate) origin: Option<Origin>,
    pub(crate) driver_cache: Owned<vk::PipelineCache>,
    device: Arc<Device>,
}

impl KernelCache {
    /// Creates an empty cache that keeps nothing on disk.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver has no memory for one.
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>> {
        Self::with_disk(device, CacheSettings::off())
    }

    /// Creates a cache that finds on disk what an earlier run made, and keeps there what it makes.
    ///
    /// Later nothing fails for the disk: what is damaged or cannot be written is counted, and kernels are built as without
    /// it.
    ///
    /// # Errors
    ///
    /// As [`KernelCache::new`]; [`Error::SharedCache`], see [`CacheSettings::at`].
    pub fn with_disk(device: &Arc<Device>, settings: CacheSettings) -> Result<Arc<Self>> {
        Self::create(device, None, settings)
    }

    /// Creates a cache as [`KernelCache::with_disk`] does, whose kernels are launched on `stream` where they name none.
    ///
    /// # Errors
    ///
    /// As [`KernelCache::with_disk`].
    pub fn for_stream(stream: &Stream, settings: CacheSettings) -> Result<Arc<Self>> {
        Self::create(stream.device(), Some(stream.clone()), settings)
    }

    fn create(device: &Arc<Device>, default_stream: Option<Stream>, settings: CacheSettings) -> Result<Arc<Self>> {
        device.check_lost()?;
        let disk = Disk::new(settings.checked()?);
        // SAFETY: the cache starts empty.
        let driver_cache = unsafe { driver_cache(device, &[]) }?;
        let origin = if disk.is_off() { None } else { Some(Origin::new(&driver_cache)?) };
        let kernels = Mutex::new(Rank::KernelCache, HashMap::new());
        let validated = Mutex::new(Rank::KernelCache, HashSet::new());
        let (builders, gate) = (OnceLock::new(), OnceLock::new());
        let device = Arc::clone(device);
        Ok(Arc::new(Self { default_stream, kernels, builders, gate, disk, validated, origin, driver_cache, device }))
    }

    /// How many kernels are held.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.device().is_forked() {
            return 0; // The lock may be held by a thread that is not here.
        }
        self.lock().values().filter(|slot| slot.made.get().is_some()).count()
    }

    /// Whether no kernel is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was found on disk and left there since the cache was made.
    #[must_use]
    pub fn counters(&self) -> CacheCounters {
        self.disk.counters()
    }

    /// Checks that this is the process that opened the device.
    ///
    /// # Errors
    ///
    /// [`Forked`](vkarray_driver::Error::Forked).
    pub fn check_process(&self) -> Result<()> {
        Ok(self.device().check_process()?)
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The stream that [`Kernel::launch`] uses.
    pub(crate) fn default_stream(&self) -> Option<&Stream> {
        self.default_stream.as_ref()
    }

    /// The kernel that checks numbers of workgroups before the device reads them.
    pub(crate) fn gate(self: &Arc<Self>) -> Result<Kernel> {
        if let Some(gate) = self.gate.get() {
            return Ok(gate.clone());
        }
        let gate = build_gate(self)?;
        Ok(self.gate.get_or_init(|| gate).clone())
    }

    /// The kernel of that key, built by whoever asks first. No lock is held that others than those who want it wait for.
    pub(crate) fn kernel_of(self: &Arc<Self>, key: KernelKey) -> Result<Kernel> {
        self.device().check_lost()?;
        let (key, slot) = self.slot(key);
        if let Some(kernel) = slot.made.get() {
            return Ok(kernel.clone());
        }
        // A builder that panicked has made nothing, so the next one may.
        let making = slot.making.lock();
        if let Some(kernel) = slot.made.get() {
            return Ok(kernel.clone());
        }
        let made = self.make(&key);
        match made {
            Ok(kernel) => Ok(slot.made.get_or_init(|| kernel).clone()),
            Err(error) => {
                drop(making);
                forget(&mut self.lock(), &key, &slot);
                Err(error)
            }
        }
    }

    fn slot(&self, key: KernelKey) -> (Arc<KernelKey>, Arc<KernelSlot>) {
        let mut kernels = self.lock();
        if let Some((key, slot)) = kernels.get_key_value(&key) {
            return (Arc::clone(key), Arc::clone(slot));
        }
        let (key, slot) = (Arc::new(key), KernelSlot::new());
        kernels.insert(Arc::clone(&key), Arc::clone(&slot));
        (key, slot)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<KernelKey>, Arc<KernelSlot>>> {
        // No caller's code runs under the lock, and an insertion that panics leaves the map whole.
        self.kernels.lock()
    }

    /// The threads that build ahead.
    pub(super) fn builders(&self, source: &Source) -> Result<&rayon_core::ThreadPool> {
        if let Some(pool) = self.builders.get() {
            return Ok(pool);
        }
        let n_threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_BUILDERS);
        let name = |i| format!("vkarray-build-{i}");
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(n_threads).thread_name(name).build();
        let source_name = || source.name().to_owned();
        let pool = pool.map_err(|error| Error::CompilerThread {
            source_name: source_name(),
            reason: std::io::Error::other(error),
        })?;
        Ok(self.builders.get_or_init(|| pool))
    }
}

/// Takes a slot that could not be filled out of the map, unless another took its place meanwhile.
fn forget(kernels: &mut HashMap<Arc<KernelKey>, Arc<KernelSlot>>, key: &Arc<KernelKey>, slot: &Arc<KernelSlot>) {
    if kernels.get(key).is_some_and(|held| Arc::ptr_eq(held, slot)) {
        kernels.remove(key);
    }
}

/// In a forked process there are no threads to be ended.
impl Drop for KernelCache {
    fn drop(&mut self) {
        let builders = self.builders.take();
        if self.device().is_forked() {
            std::mem::forget(builders);
        }
    }
}

/// A cache of the driver's, with what an earlier one held.
///
/// # Safety
///
/// `held` is empty, or what a driver gave as the content of a cache on a device with the same header. Drivers trust these
/// bytes.
pub(crate) unsafe fn driver_cache(device: &Arc<Device>, held: &[u8]) -> Result<Owned<vk::PipelineCache>> {
    let info = vk::PipelineCacheCreateInfo::default().initial_data(held);
    // SAFETY: `info` borrows the bytes, which the caller vouches for.
    let raw =
        unsafe { device.raw().create_pipeline_cache(&info, None) }.map_err(device.failed("vkCreatePipelineCache"))?;
    // SAFETY: just created; used only by those who borrow or own it while they create pipelines.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}

impl fmt::Debug for KernelCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelCache").field("kernels", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_build_takes_out_its_own_slot_and_no_newer_one() {
        let (source, options) = (Source::wgsl(""), Options::default());
        let key = KernelKey { source, entry: None, constants: Vec::new(), sizes: Sizes::default(), options };
        let (key, older, newer) = (Arc::new(key), KernelSlot::new(), KernelSlot::new());
        let mut kernels = HashMap::from([(Arc::clone(&key), Arc::clone(&newer))]);
        forget(&mut kernels, &key, &older);
        assert_eq!(kernels.len(), 1);
        forget(&mut kernels, &key, &newer);
        assert_eq!(kernels.len(), 0);
    }
}
