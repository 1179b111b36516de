//! The kernels of one device, each built once: by what it is built from.
//!
//! Two kernels are the same if source, entry point, constants and options are. The driver's own pipeline cache stands
//! behind it, so that kernels that differ only in a constant share what the driver can share. A second run of a program
//! finds on disk what the first one made: `stored.rs` says what is kept under which hash, `disk.rs` how.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use ash::vk;
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};
use vkarray_driver::{Device, Owned};

use crate::bounds;
use crate::disk::{CacheCounters, CacheSettings, Disk, Hash};
use crate::error::{Error, Result};
use crate::indirect::build_gate;
use crate::kernel::Kernel;
use crate::limits::Limits;
use crate::sanitize::Sanitize;
use crate::sized::Sizes;
use crate::source::Source;
use crate::stored::Origin;
use crate::translate::{Bounds, Loops, Options};

/// Threads that build ahead: more would take the processor from whoever waits.
const MAX_BUILDERS: usize = 8;

/// Everything a kernel's code depends on. Values of constants by their bits, so that they can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) source: Source,
    pub(crate) entry: Option<String>,
    pub(crate) constants: Vec<(String, u64)>,
    pub(crate) sizes: Sizes,
    pub(crate) options: Options,
}

/// A kernel that is built, or being built.
#[derive(Debug)]
struct Slot {
    made: OnceLock<Kernel>,
    /// Held by the one that builds, so that the others wait for it instead of building the same.
    making: Mutex<()>,
}

impl Slot {
    fn new() -> Arc<Self> {
        Arc::new(Self { made: OnceLock::new(), making: Mutex::new(Rank::KernelBuild, ()) })
    }
}

/// Builds kernels for a device and remembers them, here and on disk.
pub struct KernelCache {
    kernels: Mutex<HashMap<Arc<Key>, Arc<Slot>>>,
    builders: OnceLock<rayon_core::ThreadPool>,
    gate: OnceLock<Kernel>,
    pub(crate) disk: Disk,
    /// Modules that a validator passed.
    pub(crate) validated: Mutex<HashSet<Hash>>,
    /// What the driver's pipelines on disk must be from; `None` while nothing is kept there.
    pub(crate) origin: Option<Origin>,
    pub(crate) driver_cache: Owned<vk::PipelineCache>,
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
        device.check_lost()?;
        let disk = Disk::new(settings.checked()?);
        // SAFETY: no bytes are any driver's.
        let driver_cache = unsafe { driver_cache(device, &[]) }?;
        let origin = if disk.is_off() { None } else { Some(Origin::new(&driver_cache)?) };
        let kernels = Mutex::new(Rank::KernelCache, HashMap::new());
        let validated = Mutex::new(Rank::KernelCache, HashSet::new());
        let (builders, gate) = (OnceLock::new(), OnceLock::new());
        Ok(Arc::new(Self { kernels, builders, gate, disk, validated, origin, driver_cache }))
    }

    /// Starts to build a kernel. Nothing is done before [`KernelBuilder::build`] or [`KernelBuilder::prefetch`].
    pub fn kernel(self: &Arc<Self>, source: Source) -> KernelBuilder {
        let (info, features) = (self.device().info(), &self.device().plan().features);
        // What naga could bound as fast, or what only the device bounds without a change to the module.
        let robust_buffers =
            if source.is_text() { bounds::are_the_devices(info, features) } else { bounds::are_exact(info, features) };
        let max_uniform_bytes = Some(self.device().info().limits.max_uniform_buffer_range);
        let builder = KernelBuilder {
            cache: Arc::clone(self),
            source,
            entry: None,
            constants: BTreeMap::new(),
            sizes: Sizes::default(),
            options: Options {
                integer_dot_product: features.integer_dot_product,
                driver_zeroes: bounds::are_zeroes_the_drivers(info, features),
                max_uniform_bytes,
                robust_buffers,
                robust_matrices: features.cooperative_matrix_robust_buffers,
                ..Options::default()
            },
        };
        builder.sanitize(std::env::var_os("VKARRAY_SANITIZE").is_some_and(|value| value == "1"))
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
        self.driver_cache.device()
    }

    /// The kernel that looks at numbers of workgroups before the device reads them.
    pub(crate) fn gate(self: &Arc<Self>) -> Result<Kernel> {
        if let Some(gate) = self.gate.get() {
            return Ok(gate.clone());
        }
        let gate = build_gate(self)?;
        Ok(self.gate.get_or_init(|| gate).clone())
    }

    /// The kernel of that key, built by whoever asks first. No lock is held that others than those who want it wait for.
    pub(crate) fn kernel_of(self: &Arc<Self>, key: Key) -> Result<Kernel> {
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

    fn slot(&self, key: Key) -> (Arc<Key>, Arc<Slot>) {
        let mut kernels = self.lock();
        if let Some((key, slot)) = kernels.get_key_value(&key) {
            return (Arc::clone(key), Arc::clone(slot));
        }
        let (key, slot) = (Arc::new(key), Slot::new());
        kernels.insert(Arc::clone(&key), Arc::clone(&slot));
        (key, slot)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<Key>, Arc<Slot>>> {
        // No caller's code runs under the lock, and an insertion that panics leaves the map whole.
        self.kernels.lock()
    }

    /// The threads that build ahead.
    fn builders(&self, source: &Source) -> Result<&rayon_core::ThreadPool> {
        if let Some(pool) = self.builders.get() {
            return Ok(pool);
        }
        let n_threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_BUILDERS);
        let name = |i| format!("vkarray-build-{i}");
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(n_threads).thread_name(name).build();
        let source_name = || source.name().to_owned();
        let pool = pool.map_err(|error| Error::CompilerThread {
            source_name: source_name(),
            source: std::io::Error::other(error),
        })?;
        Ok(self.builders.get_or_init(|| pool))
    }
}

/// Takes a slot that could not be filled out of the map, unless another took its place meanwhile.
fn forget(kernels: &mut HashMap<Arc<Key>, Arc<Slot>>, key: &Arc<Key>, slot: &Arc<Slot>) {
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
    Ok(unsafe { Owned::new(raw, device) })
}

impl fmt::Debug for KernelCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelCache").field("kernels", &self.len()).finish_non_exhaustive()
    }
}

/// What a kernel is to be built from.
#[derive(Debug, Clone)]
#[must_use = "a kernel is built by `build`"]
pub struct KernelBuilder {
    cache: Arc<KernelCache>,
    source: Source,
    entry: Option<String>,
    constants: BTreeMap<String, f64>,
    sizes: Sizes,
    options: Options,
}

impl KernelBuilder {
    /// Names the entry point. Without a name the shader must have exactly one.
    pub fn entry(mut self, name: impl Into<String>) -> Self {
        self.entry = Some(name.into());
        self
    }

    /// Sets a constant of the shader (WGSL's `override`), by its name or by its `@id` in digits.
    pub fn constant(mut self, name: impl Into<String>, value: impl Into<f64>) -> Self {
        self.constants.insert(name.into(), value.into());
        self
    }

    /// Gives a shared array that many elements: sets the constant that the shader declares it with, as in
    /// `var<workgroup> tile: array<f32, N>`. [`Kernel::shared`] does so at a dispatch.
    pub fn shared(mut self, variable: impl Into<String>, len: u32) -> Self {
        self.sizes.shared.insert(variable.into(), len);
        self
    }

    /// Gives a workgroup that many invocations on x, y and z: sets the constants that the shader declares it with, as in
    /// `@workgroup_size(N)`. Where the shader says a number, this must say the same.
    pub fn workgroup_size(mut self, size: [u32; 3]) -> Self {
        self.sizes.workgroup = Some(size);
        self
    }

    /// Runs the kernel with that many invocations in a subgroup. Otherwise the driver chooses: `subgroup.size` of the
    /// device's [`DeviceInfo`](vkarray_driver::DeviceInfo), or on some drivers another for each kernel.
    pub fn subgroup_size(mut self, size: u32) -> Self {
        self.options.subgroups.size = Some(size);
        self
    }

    /// Asks for subgroups of which no invocation is missing: the workgroup's x is then a multiple of the subgroup's size.
    pub fn full_subgroups(mut self, on: bool) -> Self {
        self.options.subgroups.full = on;
        self
    }

    /// Leaves shared memory as it is when a workgroup starts. Otherwise a WGSL or GLSL kernel finds zeros there, which
    /// `docs/decisions/036` shows the cost of.
    ///
    /// # Safety
    ///
    /// In every dispatch of the kernel, each element of shared memory is written before it is read.
    pub unsafe fn assume_written(mut self) -> Self {
        self.options.assume_written = true;
        self
    }

    /// Says what is done about loops that may never end: [`Loops::Bounded`], for a kernel of a builder that had
    /// [`KernelBuilder::assume_loops_end`], or where that is not [`Loops::DEFAULT`].
    pub fn bound_loops(mut self) -> Self {
        self.options.loops = Loops::Bounded;
        self
    }

    /// Leaves loops as they are written, which the driver's compiler may translate to faster code:
    /// `docs/decisions/035` has figures.
    ///
    /// # Safety
    ///
    /// In every dispatch of the kernel, each loop ends.
    pub unsafe fn assume_loops_end(mut self) -> Self {
        self.options.loops = Loops::AssumeFinite;
        self
    }

    /// Builds checks into the kernel that find its faults while it runs, for tests: see
    /// [`Kernel::dispatch`](crate::Kernel::dispatch). `VKARRAY_SANITIZE=1` turns it on for all kernels, which this
    /// overrules.
    ///
    /// They find indices out of range, division of integers by zero, races between the invocations of a workgroup on shared
    /// memory and buffers, reads of shared memory that nobody wrote, and barriers that not all invocations come to.
    pub fn sanitize(mut self, on: bool) -> Self {
        let limits = Limits::from(self.cache.driver_cache.device().info());
        self.options.sanitize = on.then_some(Sanitize { max_shared_bytes: limits.max_shared_bytes });
        self
    }

    /// Leaves out the checks of indices.
    ///
    /// # Safety
    ///
    /// No invocation of any dispatch of the kernel uses an index out of range.
    pub unsafe fn unchecked(mut self) -> Self {
        self.options.bounds = Bounds::Unchecked;
        self
    }

    /// Builds the kernel, or returns the one built before from the same things. Compiles on this thread, or waits for the
    /// thread that is compiling the same.
    ///
    /// # Errors
    ///
    /// Those of [`Module::parse`] and [`Module::translate`]; of [`Source::spirv`], [`Error::Validator`],
    /// [`Error::Extension`] and [`Error::NotRobust`]; [`Error::Capability`] and the limits of
    /// [`check_workgroup`](crate::check_workgroup) and [`check_subgroups`](crate::check_subgroups); [`Error::Driver`].
    ///
    /// [`Module::parse`]: crate::Module::parse
    /// [`Module::translate`]: crate::Module::translate
    pub fn build(self) -> Result<Kernel> {
        let (cache, key) = self.into_key();
        cache.kernel_of(key)
    }

    /// Starts to build the kernel on another thread. Returns at once; a [`build`](KernelBuilder::build) of the same kernel
    /// finds it, or waits for it, and says what is wrong with it.
    ///
    /// # Errors
    ///
    /// [`Error::CompilerThread`] if there can be no thread; [`Forked`](vkarray_driver::Error::Forked).
    pub fn prefetch(self) -> Result<()> {
        let (cache, key) = self.into_key();
        cache.device().check_process()?;
        let for_thread = Arc::clone(&cache);
        cache.builders(&key.source)?.spawn(move || {
            // An error is for whoever wants the kernel: nothing is remembered of it, so it will come again.
            let _: Result<Kernel> = for_thread.kernel_of(key);
        });
        Ok(())
    }

    fn into_key(self) -> (Arc<KernelCache>, Key) {
        let Self { cache, source, entry, constants, sizes, options } = self;
        let constants = constants.into_iter().map(|(name, value)| (name, value.to_bits())).collect();
        (cache, Key { source, entry, constants, sizes, options })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_build_takes_out_its_own_slot_and_no_newer_one() {
        let (source, options) = (Source::wgsl(""), Options::default());
        let key = Key { source, entry: None, constants: Vec::new(), sizes: Sizes::default(), options };
        let (key, older, newer) = (Arc::new(key), Slot::new(), Slot::new());
        let mut kernels = HashMap::from([(Arc::clone(&key), Arc::clone(&newer))]);
        forget(&mut kernels, &key, &older);
        assert_eq!(kernels.len(), 1);
        forget(&mut kernels, &key, &newer);
        assert_eq!(kernels.len(), 0);
    }
}
