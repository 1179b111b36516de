//! The kernels of one device, each built once: by what it is built from.
//!
//! Two kernels are the same if source, entry point, constants and options are. The driver's own pipeline cache stands
//! behind it, so that kernels that differ only in a constant share what the driver can share.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use vkarray_driver::{Device, Owned};

use crate::error::Result;
use crate::kernel::{Kernel, Pipeline};
use crate::limits::Limits;
use crate::sanitize::Sanitize;
use crate::source::Source;
use crate::translate::{Bounds, Module, Options};

/// Everything a kernel's code depends on. Values of constants by their bits, so that they can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    source: Source,
    entry: Option<String>,
    constants: Vec<(String, u64)>,
    options: Options,
}

/// Builds kernels for a device and remembers them.
pub struct KernelCache {
    kernels: Mutex<HashMap<Key, Kernel>>,
    driver_cache: Owned<vk::PipelineCache>,
}

impl KernelCache {
    /// Creates an empty cache.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the driver has no memory for one.
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>> {
        device.check_lost()?;
        let info = vk::PipelineCacheCreateInfo::default();
        // SAFETY: `info` is complete.
        let raw = unsafe { device.raw().create_pipeline_cache(&info, None) }
            .map_err(device.failed("vkCreatePipelineCache"))?;
        // SAFETY: just created; used only while pipelines are created, under `&self`.
        let driver_cache = unsafe { Owned::new(raw, device) };
        Ok(Arc::new(Self { kernels: Mutex::default(), driver_cache }))
    }

    /// Starts to build a kernel. Nothing is done before [`KernelBuilder::build`].
    pub fn kernel(self: &Arc<Self>, source: Source) -> KernelBuilder {
        let integer_dot_product = self.driver_cache.device().plan().features.integer_dot_product;
        let builder = KernelBuilder {
            cache: Arc::clone(self),
            source,
            entry: None,
            constants: BTreeMap::new(),
            options: Options { integer_dot_product, ..Options::default() },
        };
        builder.sanitize(std::env::var_os("VKARRAY_SANITIZE").is_some_and(|value| value == "1"))
    }

    /// How many kernels are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether no kernel is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Kernel>> {
        // No caller's code runs under the lock, and an insertion that panics leaves the map whole.
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

    /// Zeroes workgroup memory when a workgroup starts. Off: its contents are undefined, as on the device.
    pub fn zero_shared(mut self, on: bool) -> Self {
        self.options.zero_shared = on;
        self
    }

    /// Builds checks into the kernel that find its faults while it runs, for tests: see
    /// [`Kernel::dispatch`](crate::Kernel::dispatch). `VKARRAY_SANITIZE=1` turns it on for all kernels, which this
    /// overrules.
    ///
    /// They find indices out of range, division of integers by zero, and in shared memory reads of what nobody wrote,
    /// races, and barriers that not all invocations of a workgroup come to.
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

    /// Builds the kernel, or returns the one built before from the same things. Compiles on this thread.
    ///
    /// # Errors
    ///
    /// Those of [`Module::parse`] and [`Module::translate`], [`Error::Capability`](crate::Error::Capability) and the
    /// limits of [`check_workgroup`](crate::check_workgroup); [`Error::Driver`](crate::Error::Driver).
    pub fn build(self) -> Result<Kernel> {
        let Self { cache, source, entry, constants, options } = self;
        cache.driver_cache.device().check_lost()?;
        let bits = constants.iter().map(|(name, value)| (name.clone(), value.to_bits())).collect();
        let key = Key { source, entry, constants: bits, options };
        if let Some(kernel) = cache.lock().get(&key) {
            return Ok(kernel.clone());
        }
        // Built outside the lock: two threads may build the same kernel, and the first to finish is kept.
        let module = Module::parse(&key.source)?;
        let translated = module.translate(key.entry.as_deref(), &constants, &key.options)?;
        let pipeline = Pipeline::new(cache.driver_cache.device(), cache.driver_cache.raw(), translated)?;
        let kernel = Kernel { pipeline: Arc::new(pipeline) };
        Ok(cache.lock().entry(key).or_insert(kernel).clone())
    }
}
