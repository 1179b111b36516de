//! [`Context`]: a device opened for array work, with its memory, its default stream and its kernels.
//!
//! Arrays are created from a context and keep it alive. A program may have several contexts, also of one device. How a
//! context is opened is in `builder.rs`. The methods that create arrays are in `array/create.rs`; this folder has no
//! arrays.
//!
//! Arrays hold reference counts of their context and its allocator. With a single count, eight threads that create and
//! drop arrays took 2.0 µs for an array on the host of an H100, seven times as long as one thread. A context therefore
//! has one shard, with counts of its own, for each group of threads, and an array holds the shard of the thread that
//! created it.

mod bandwidth;
mod builder;
mod constants;
mod copies;
mod memory;
mod streams;

use std::array;
use std::collections::HashMap;
use std::sync::Arc;

use vkarray_allocator::{Allocator, MemoryContext};
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{DefaultStreams, Device, DeviceInfo, N_THREAD_SHARDS, Stream, thread_shard};
use vkarray_kernel::{CacheSettings, Kernel, KernelBuilder, KernelCache, Source};

use crate::copy::{LibraryKernel, LibraryKernels};
use crate::error::{Error, Result};
pub use builder::ContextBuilder;
pub(crate) use constants::check_fills;
pub(crate) use copies::{BlockElements, words};

/// A device opened for array work. Clones are handles to the same context.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// println!("{}", ctx.info().name);
/// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
/// assert_eq!(x.t().to_vec()?, [0, 3, 1, 4, 2, 5]);
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct Context {
    /// In an array, the shard that the array holds; otherwise the first of all shards.
    shard: Arc<ContextShard>,
    /// The shards of all threads; `None` in an array, which uses `shard` on every thread.
    shards: Option<Arc<[Arc<ContextShard>; N_THREAD_SHARDS]>>,
}

/// The part of a context that has reference counts of its own for each group of threads.
#[derive(Debug)]
#[repr(align(128))] // The counts of the `Arc` around it share no cache line with others.
struct ContextShard {
    allocator: Arc<Allocator>,
    shared: Arc<Shared>,
}

/// The part of a context that all its shards share.
#[derive(Debug)]
struct Shared {
    default_stream: Stream, // Dropped first, because its work uses the other fields.
    default_streams: Arc<DefaultStreams>,
    copies: LibraryKernels,
    /// The bandwidth of copies from each source device, by the device's UUID, in GB/s.
    copy_bandwidths: Mutex<HashMap<String, f64>>,
    kernels: Arc<KernelCache>,
    device: Arc<Device>,
}

/// Runs also where arrays keep the device: a process may exit right after the last handle of a context is dropped.
impl Drop for Shared {
    fn drop(&mut self) {
        self.kernels.wait_for_builds();
    }
}

/// Memory objects of a context use its default stream.
impl MemoryContext for Context {
    fn allocator(&self) -> &Arc<Allocator> {
        self.allocator()
    }

    fn stream(&self) -> &Stream {
        &self.shard.shared.default_stream
    }
}

impl Context {
    /// Opens the device that `VKARRAY_DEVICE` names, or the best device of the machine.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<f32>(3)?.to_vec()?, [0.0; 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`ContextBuilder::open`].
    pub fn open_default() -> Result<Self> {
        Self::builder().open()
    }

    /// Options for opening a device. The defaults are what the environment variables select.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::builder().validation(false).open()?;
    /// assert_eq!(ctx.zeros::<f32>(3)?.size(), 3);
    /// # anyhow::Ok(())
    /// ```
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Creates a context on an open device, with the memory manager that is selected for the process; see
    /// [`ManagerFactory::chosen`](vkarray_allocator::ManagerFactory::chosen).
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let first = Context::open_default()?;
    /// let second = Context::on(first.device())?; // Its own memory and default stream.
    /// let x = second.zeros::<f32>(3)?;
    /// assert_eq!(x.context().device().info().uuid, first.info().uuid);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if there is no memory manager of the selected name, or it refuses the device;
    /// [`Error::Driver`] if the driver is out of memory.
    pub fn on(device: &Arc<Device>) -> Result<Self> {
        Self::with_allocator(&Allocator::new(device)?)
    }

    /// Creates a context on an allocator and its device.
    ///
    /// ```
    /// use vkarray::memory::Allocator;
    /// use vkarray::prelude::*;
    ///
    /// let device = Context::open_default()?.device().clone();
    /// let ctx = Context::with_allocator(&Allocator::new(&device)?)?;
    /// assert_eq!(ctx.ones::<f32>(2)?.to_vec()?, [1.0, 1.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver is out of memory; [`Error::Kernel`] if `VKARRAY_CACHE` has an unknown value.
    pub fn with_allocator(allocator: &Arc<Allocator>) -> Result<Self> {
        Self::with_kernel_cache(allocator, CacheSettings::from_environment()?)
    }

    /// Creates a context on an allocator and its device, with these settings for the cache of kernels on disk.
    ///
    /// ```
    /// use vkarray::kernel::CacheSettings;
    /// use vkarray::memory::Allocator;
    /// use vkarray::prelude::*;
    ///
    /// let device = Context::open_default()?.device().clone();
    /// let ctx = Context::with_kernel_cache(&Allocator::new(&device)?, CacheSettings::from_environment()?)?;
    /// assert_eq!(ctx.ones::<f32>(2)?.to_vec()?, [1.0, 1.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver is out of memory.
    pub fn with_kernel_cache(allocator: &Arc<Allocator>, settings: CacheSettings) -> Result<Self> {
        let device = allocator.device();
        let default_stream = Stream::new(device)?;
        let shared = Shared {
            kernels: KernelCache::for_stream(&default_stream, settings)?,
            default_stream,
            default_streams: DefaultStreams::of(device),
            copies: LibraryKernels::new(device.info()),
            copy_bandwidths: Mutex::new(Rank::CopyBandwidths, HashMap::new()),
            device: Arc::clone(device),
        };
        let shared = Arc::new(shared);
        let shards =
            array::from_fn(|_| Arc::new(ContextShard { allocator: allocator.another(), shared: Arc::clone(&shared) }));
        Ok(Self { shard: Arc::clone(&shards[0]), shards: Some(Arc::new(shards)) })
    }

    /// The shard of the calling thread.
    #[inline]
    fn of_this_thread(&self) -> &Arc<ContextShard> {
        self.shards.as_ref().map_or(&self.shard, |shards| &shards[thread_shard()])
    }

    /// The context for an array that the calling thread creates.
    #[inline]
    pub(crate) fn for_array(&self) -> Self {
        Self { shard: Arc::clone(self.of_this_thread()), shards: None }
    }

    /// The device.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.device().info().name, ctx.info().name);
    /// # anyhow::Ok(())
    /// ```
    pub fn device(&self) -> &Arc<Device> {
        &self.shard.shared.device
    }

    /// The cache of built kernels, which also counts the kernels that were found on disk.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let _stored = ctx.kernel_cache().counters(); // What was found on disk so far.
    /// # anyhow::Ok(())
    /// ```
    pub fn kernel_cache(&self) -> &Arc<KernelCache> {
        &self.shard.shared.kernels
    }

    /// The description of the device: name, driver, limits, features.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert!(!ctx.info().name.is_empty());
    /// # anyhow::Ok(())
    /// ```
    pub fn info(&self) -> &DeviceInfo {
        self.shard.shared.device.info()
    }

    /// The allocator of the context's memory.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let before = ctx.allocator().usage().in_use;
    /// let x = ctx.zeros::<u8>(1000)?;
    /// assert!(ctx.allocator().usage().in_use > before);
    /// # drop(x);
    /// # anyhow::Ok(())
    /// ```
    #[inline]
    pub fn allocator(&self) -> &Arc<Allocator> {
        &self.of_this_thread().allocator
    }

    /// The stream of work that names no stream.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(4)?; // Recorded on the default stream.
    /// ctx.default_stream().synchronize()?;
    /// # drop(x);
    /// # anyhow::Ok(())
    /// ```
    pub fn default_stream(&self) -> &Stream {
        &self.shard.shared.default_stream
    }

    /// A builder for a kernel of this source; see [`KernelBuilder`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let double = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    ///          @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    ///              if id.x < arrayLength(&x) { x[id.x] *= 2.0; }
    ///          }",
    ///     ))
    ///     .build()?;
    /// let x = ctx.full(100, 1.5_f32)?;
    /// double.dispatch(ctx.default_stream(), Groups::covering([100]), (&x,))?;
    /// assert_eq!(x.to_vec()?, [3.0; 100]);
    /// # anyhow::Ok(())
    /// ```
    pub fn kernel(&self, source: Source) -> KernelBuilder {
        self.shard.shared.kernels.kernel(source)
    }

    /// A generated kernel: found by a short key, or built from the source that `source` writes.
    ///
    /// [`Context::kernel`] finds a kernel that is already built by its whole text, which has to be written first. Where
    /// one key has two texts, the text that is built first is kept, so a key begins with words that no other folder
    /// uses.
    pub(crate) fn generated_kernel(&self, key: &[u32], builder: impl FnOnce() -> KernelBuilder) -> Result<Kernel> {
        let Shared { copies, kernels, .. } = &*self.shard.shared;
        copies.generated.get_or_build(kernels, key, builder)
    }

    pub(crate) fn copies(&self) -> &LibraryKernels {
        &self.shard.shared.copies
    }

    pub(crate) fn library_kernel(&self, kernel: LibraryKernel) -> Result<Kernel> {
        let Shared { copies, kernels, .. } = &*self.shard.shared;
        copies.built.get_or_build(kernels, &kernel, || kernel.builder(kernels))
    }

    pub(crate) fn check_stream(&self, stream: &Stream) -> Result<()> {
        if Arc::ptr_eq(self.device(), stream.device()) {
            return Ok(());
        }
        let (array, stream) = (self.info().name.clone(), stream.device().info().name.clone());
        Err(Error::ForeignDevice { array, stream })
    }
}
