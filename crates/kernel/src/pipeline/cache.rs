//! The kernels of one device, each built once ([`KernelCache`]).
//!
//! Two kernels are the same if source, entry point, constants and options are equal ([`KernelKey`]). Kernels that differ only
//! in a constant share what the driver's own pipeline cache shares. Those not used for long are dropped: `limit.rs`. A second
//! run of a program finds on disk what the first one built: `cached_build.rs` says what is stored under which hash,
//! `disk_cache` how.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};

use ash::vk;
use rustc_hash::FxHashMap;
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{Device, Owned, Stream, environment};
use vkarray_shader::internal::Sizes;
use vkarray_shader::{Error as ShaderError, Options, Source, SpirvError};

use crate::disk_cache::{CacheCounters, CacheSettings, DiskCache, Hash};
use crate::error::{Error, Result};
use crate::pipeline::cached_build::driver_header;
use crate::pipeline::kernel::Kernel;
use crate::pipeline::limit::{Kept, KernelLimit};

/// The source of [`KernelCache::gate`].
const GATE: &str = include_str!("indirect.wgsl");

/// Everything that a kernel's code depends on. Constants are given by their bits, so that they can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    pub(crate) source: Source,
    pub(crate) entry: Option<String>,
    pub(crate) constants: BTreeMap<String, u64>,
    pub(crate) sizes: Sizes,
    pub(crate) options: Options,
}

/// A kernel that is built, or being built.
#[derive(Debug)]
pub(super) struct KernelSlot {
    kernel: OnceLock<Kernel>,
    /// Held while the kernel is built, so that other threads wait for it instead of building the same.
    building: Mutex<()>,
}

impl KernelSlot {
    fn new() -> Arc<Self> {
        Arc::new(Self { kernel: OnceLock::new(), building: Mutex::new(Rank::KernelBuild, ()) })
    }

    /// The kernel, once it is built, as the choice of those to drop sees it. One handle of it is that of the slot; a thread
    /// with a handle of the slot is about to take another.
    pub(super) fn kept(self: &Arc<Self>) -> Option<Kept> {
        let pipeline = &self.kernel.get()?.pipeline;
        Some(pipeline.last_use.kept(Arc::strong_count(pipeline) > 1 || Arc::strong_count(self) > 1))
    }
}

/// Builds kernels for a device and keeps them, in memory and on disk.
///
/// A context has one (`Context::kernel_cache`), so most programs do not make their own.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{KernelCache, Source};
///
/// let ctx = Context::open_default()?;
/// let cache = KernelCache::new(ctx.device())?;
/// let source = || Source::wgsl("@compute @workgroup_size(1) fn nothing() {}");
/// cache.kernel(source()).build()?;
/// cache.kernel(source()).build()?; // Found.
/// assert_eq!(cache.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct KernelCache {
    /// Where kernels are launched that name no stream. First: dropping it may wait for work, which uses the rest.
    pub(crate) default_stream: Option<Stream>,
    pub(super) kernels: Mutex<FxHashMap<Arc<KernelKey>, Arc<KernelSlot>>>,
    pub(super) builders: OnceLock<rayon_core::ThreadPool>,
    /// Of builds in the background, each disconnected at its end.
    pub(super) builds: Mutex<Vec<Receiver<Infallible>>>,
    gate: OnceLock<Kernel>,
    /// Whether kernels have the sanitizer's checks if their builders do not say.
    sanitizes: AtomicBool,
    /// Why the first kernel was refused that cannot have the checks.
    without_checks: OnceLock<String>,
    pub(crate) disk: DiskCache,
    /// Modules that the validator passed.
    pub(super) validated: Mutex<HashSet<Hash>>,
    /// The most kernels, and the most bytes of their SPIR-V.
    pub(super) limit: [AtomicUsize; 2],
    /// Kernels that were built. A use of a kernel is noted as this number.
    pub(crate) n_built: Arc<AtomicU64>,
    pub(super) n_dropped: AtomicU64,
    /// The header that pipelines on disk must have; `None` while the disk is not used.
    pub(crate) driver_header: Option<Vec<u8>>,
    /// What pipelines share that are built without the disk. Renewed when kernels are dropped, since it only grows.
    pub(super) driver_cache: Mutex<Arc<Owned<vk::PipelineCache>>>,
    device: Arc<Device>,
}

impl KernelCache {
    /// Creates an empty cache that does not use the disk. [`KernelCache`] has an example.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver has no memory for one.
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>> {
        Self::with_disk(device, CacheSettings::off())
    }

    /// Creates a cache that loads from disk what an earlier run built, and stores there what it builds.
    ///
    /// Afterwards no call fails because of the disk: files that are damaged or cannot be written are counted, and the kernels
    /// are built anew.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{CacheSettings, KernelCache, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// let ctx = Context::open_default()?;
    /// let source = || Source::wgsl("@compute @workgroup_size(1) fn nothing() {}");
    /// for run in 0..2 {
    ///     let cache = KernelCache::with_disk(ctx.device(), CacheSettings::at(folder))?;
    ///     cache.kernel(source()).build()?;
    ///     assert_eq!(cache.counters().translations.hits, run);
    /// }
    /// # Ok(())
    /// # }
    /// ```
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
        let disk = DiskCache::new(settings.checked()?);
        // SAFETY: the cache starts empty.
        let driver_cache = unsafe { driver_cache(device, &[]) }?;
        let KernelLimit { kernels: most, spirv_bytes } = KernelLimit::default();
        Ok(Arc::new(Self {
            default_stream,
            kernels: Mutex::new(Rank::KernelCache, FxHashMap::default()),
            builders: OnceLock::new(),
            builds: Mutex::new(Rank::KernelCache, Vec::new()),
            gate: OnceLock::new(),
            sanitizes: environment::switch("VKARRAY_SANITIZE")?.unwrap_or(false).into(),
            without_checks: OnceLock::new(),
            driver_header: if disk.is_off() { None } else { Some(driver_header(&driver_cache)?) },
            disk,
            validated: Mutex::new(Rank::KernelCache, HashSet::new()),
            limit: [most, spirv_bytes].map(AtomicUsize::new),
            n_built: Arc::default(),
            n_dropped: AtomicU64::new(0),
            driver_cache: Mutex::new(Rank::KernelCache, Arc::new(driver_cache)),
            device: Arc::clone(device),
        }))
    }

    /// Builds kernels with the sanitizer's checks from now on, or without, unless their builders say otherwise. A new cache
    /// does as `VKARRAY_SANITIZE` says.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// ctx.kernel_cache().set_sanitize(true);
    /// let fill = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///          @compute @workgroup_size(64) fn fill(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = 1u; }",
    ///     ))
    ///     .build()?;
    /// assert!(fill.launch(Groups::covering([100]), (&ctx.zeros::<u32>(100)?,)).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_sanitize(&self, on: bool) {
        self.sanitizes.store(on, Ordering::Relaxed); // A switch alone: no other memory depends on it.
    }

    /// Whether kernels get the sanitizer's checks unless their builder says otherwise.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// ctx.kernel_cache().set_sanitize(true);
    /// assert!(ctx.kernel_cache().sanitizes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn sanitizes(&self) -> bool {
        self.sanitizes.load(Ordering::Relaxed)
    }

    /// Why a kernel was refused because it cannot have the sanitizer's checks: the message of the first one. A harness that
    /// runs every test with checks skips a test that has such a kernel.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// let source = || Source::wgsl("@compute @workgroup_size(1) fn nothing() {}");
    /// let words = ctx.kernel(source()).sanitize(false).build()?.signature().entry.len();
    /// # assert_eq!(words, 7);
    /// assert_eq!(ctx.kernel_cache().refused_checks(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn refused_checks(&self) -> Option<&str> {
        self.without_checks.get().map(String::as_str)
    }

    /// Notes the error of a build, if the kernel cannot have the checks.
    pub(super) fn note_refused_checks(&self, error: &Error) {
        if matches!(error, Error::Shader(ShaderError::Spirv(SpirvError::Sanitize { .. }))) {
            self.without_checks.get_or_init(|| error.to_string());
        }
    }

    /// The number of kernels in memory. Those that are being built do not count.
    pub fn len(&self) -> usize {
        self.statistics().kernels
    }

    /// Whether there is no kernel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hits, misses and writes on disk since the cache was made. [`KernelCache::with_disk`] has an example.
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

    /// The kernel that checks numbers of workgroups in an array before an indirect dispatch reads them.
    pub(crate) fn gate(self: &Arc<Self>) -> Result<Kernel> {
        if let Some(gate) = self.gate.get() {
            return Ok(gate.clone());
        }
        let gate = self.kernel(Source::wgsl(GATE)).sanitize(false).build()?;
        Ok(self.gate.get_or_init(|| gate).clone())
    }

    /// The kernel of that key, built by the first thread that asks for it. Only threads that want the same kernel wait.
    pub(crate) fn kernel_of(self: &Arc<Self>, key: KernelKey) -> Result<Kernel> {
        self.device().check_lost()?;
        let (key, slot) = self.slot(key);
        if let Some(kernel) = slot.kernel.get() {
            return Ok(kernel.used());
        }
        // If a thread panicked while it built the kernel, this one builds it.
        let building = slot.building.lock();
        if let Some(kernel) = slot.kernel.get() {
            return Ok(kernel.used());
        }
        match self.build(&key) {
            Ok(kernel) => {
                let kernel = slot.kernel.get_or_init(|| kernel).clone();
                drop(building);
                self.drop_surplus();
                Ok(kernel)
            }
            Err(error) => {
                drop(building);
                remove_slot(&mut self.kernels.lock(), &key, &slot);
                Err(error)
            }
        }
    }

    /// What pipelines share that are built without the disk.
    pub(crate) fn driver_cache(&self) -> Arc<Owned<vk::PipelineCache>> {
        Arc::clone(&self.driver_cache.lock())
    }

    fn slot(&self, key: KernelKey) -> (Arc<KernelKey>, Arc<KernelSlot>) {
        let mut kernels = self.kernels.lock();
        if let Some((key, slot)) = kernels.get_key_value(&key) {
            return (Arc::clone(key), Arc::clone(slot));
        }
        let (key, slot) = (Arc::new(key), KernelSlot::new());
        kernels.insert(Arc::clone(&key), Arc::clone(&slot));
        (key, slot)
    }
}

/// Removes a slot whose build failed, unless a newer one has its key by now.
fn remove_slot(kernels: &mut FxHashMap<Arc<KernelKey>, Arc<KernelSlot>>, key: &Arc<KernelKey>, slot: &Arc<KernelSlot>) {
    if kernels.get(key).is_some_and(|found| Arc::ptr_eq(found, slot)) {
        kernels.remove(key);
    }
}

/// A pipeline cache of the driver, filled with the content of an earlier one.
///
/// # Safety
///
/// `content` is empty, or what a driver returned as the content of a cache on a device with the same header. Drivers trust
/// these bytes.
pub(crate) unsafe fn driver_cache(device: &Arc<Device>, content: &[u8]) -> Result<Owned<vk::PipelineCache>> {
    let info = vk::PipelineCacheCreateInfo::default().initial_data(content);
    // SAFETY: `info` borrows the bytes, for which the caller answers.
    let raw =
        unsafe { device.raw().create_pipeline_cache(&info, None) }.map_err(device.failed("vkCreatePipelineCache"))?;
    // SAFETY: just created; used only by those who borrow or own it while they create pipelines.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}

vkarray_driver::debug_fields!(KernelCache, this => kernels: this.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_build_takes_out_its_own_slot_and_no_newer_one() {
        let (source, options) = (Source::wgsl(""), Options::default());
        let key = KernelKey { source, entry: None, constants: BTreeMap::new(), sizes: Sizes::default(), options };
        let (key, older, newer) = (Arc::new(key), KernelSlot::new(), KernelSlot::new());
        let mut kernels = FxHashMap::from_iter([(Arc::clone(&key), Arc::clone(&newer))]);
        remove_slot(&mut kernels, &key, &older);
        assert_eq!(kernels.len(), 1);
        remove_slot(&mut kernels, &key, &newer);
        assert_eq!(kernels.len(), 0);
    }
}
