//! [`Context`]: a device opened for array work, with its memory, its default stream and its kernels.
//!
//! Arrays are created from a context and keep it alive. A program may have several contexts, also of one device. How a
//! context is opened is in `builder.rs`. What creates arrays is not here but in `array/create.rs`; this room has no arrays.
//!
//! Threads that make and drop arrays at the same time would contend for the count of those that hold the context, and
//! the allocator behind it. So a context has several fronts, each with counts of its own, and an array holds the front of
//! the thread that made it. An array's context has that front alone.

mod builder;
mod constants;
mod copies;
mod memory;

use std::array;
use std::sync::Arc;

use vkarray_allocator::{Allocator, MemoryContext};
use vkarray_driver::{DefaultStreams, Device, DeviceInfo, Event, Graph, GraphRecorder, N_STRIPES, Stream, stripe};
use vkarray_kernel::{CacheSettings, Kernel, KernelBuilder, KernelCache, Source};

use crate::copy::{LibraryKernel, LibraryKernels};
use crate::error::{Error, Result};
pub use builder::ContextBuilder;
pub(crate) use constants::check_fills;
pub(crate) use copies::{BlockElements, words};

/// A device opened for array work. Clones are handles to the same context.
#[derive(Debug, Clone)]
pub struct Context {
    front: Arc<Front>,
    /// Those of all stripes of threads; without them `front` is for every thread.
    fronts: Option<Arc<[Arc<Front>; N_STRIPES]>>,
}

/// What is counted apart.
#[derive(Debug)]
#[repr(align(128))] // Behind an `Arc`, its counts are alone on their cache lines.
struct Front {
    allocator: Arc<Allocator>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    default_stream: Stream, // First: waits for its work, which uses the rest.
    default_streams: Arc<DefaultStreams>,
    copies: LibraryKernels,
    kernels: Arc<KernelCache>,
    device: Arc<Device>,
}

/// Memory objects of a context use its default stream.
impl MemoryContext for Context {
    fn allocator(&self) -> &Arc<Allocator> {
        self.allocator()
    }

    fn stream(&self) -> &Stream {
        &self.front.shared.default_stream
    }
}

impl Context {
    /// Opens the device that `VKARRAY_DEVICE` names, or the best device of the machine.
    ///
    /// # Errors
    ///
    /// As [`ContextBuilder::open`].
    pub fn open_default() -> Result<Self> {
        Self::builder().open()
    }

    /// Options for opening a device. The defaults are what the environment variables select.
    #[must_use]
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Creates a context on an open device, with the memory manager that is selected for the process; see
    /// [`ManagerFactory::chosen`](vkarray_allocator::ManagerFactory::chosen).
    ///
    /// # Errors
    ///
    /// [`Error::Memory`]: no such memory manager, or one that refuses the device. [`Error::Driver`] if the driver is
    /// out of memory.
    pub fn on(device: &Arc<Device>) -> Result<Self> {
        Self::with_allocator(&Allocator::new(device)?)
    }

    /// Creates a context on an allocator and its device.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver is out of memory; [`Error::Kernel`] if `VKARRAY_CACHE` has an unknown value.
    pub fn with_allocator(allocator: &Arc<Allocator>) -> Result<Self> {
        Self::with_kernel_cache(allocator, CacheSettings::from_environment()?)
    }

    /// Creates a context on an allocator and its device, with these settings for the cache of kernels on disk.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver is out of memory.
    pub fn with_kernel_cache(allocator: &Arc<Allocator>, settings: CacheSettings) -> Result<Self> {
        let device = allocator.device();
        let shared = Shared {
            default_stream: Stream::new(device)?,
            default_streams: DefaultStreams::of(device),
            copies: LibraryKernels::new(device.info()),
            kernels: KernelCache::with_disk(device, settings)?,
            device: Arc::clone(device),
        };
        let shared = Arc::new(shared);
        let fronts =
            array::from_fn(|_| Arc::new(Front { allocator: allocator.another(), shared: Arc::clone(&shared) }));
        Ok(Self { front: Arc::clone(&fronts[0]), fronts: Some(Arc::new(fronts)) })
    }

    /// The front for the calling thread.
    #[inline]
    fn own(&self) -> &Arc<Front> {
        self.fronts.as_ref().map_or(&self.front, |fronts| &fronts[stripe()])
    }

    /// The context as an array of the calling thread holds it.
    #[inline]
    pub(crate) fn held(&self) -> Self {
        Self { front: Arc::clone(self.own()), fronts: None }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.front.shared.device
    }

    /// The kernels that are built, and how many of them were found on disk.
    #[must_use]
    pub fn kernel_cache(&self) -> &Arc<KernelCache> {
        &self.front.shared.kernels
    }

    /// The description of the device: name, driver, limits, features.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.front.shared.device.info()
    }

    /// The allocator of the context's memory.
    #[must_use]
    #[inline]
    pub fn allocator(&self) -> &Arc<Allocator> {
        &self.own().allocator
    }

    /// The stream on which work runs that names no other.
    #[must_use]
    pub fn default_stream(&self) -> &Stream {
        &self.front.shared.default_stream
    }

    /// Creates a stream.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn stream(&self) -> Result<Stream> {
        Ok(Stream::new(&self.front.shared.device)?)
    }

    /// Creates a stream that is ordered with the legacy default stream, as CUDA's blocking streams are.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn blocking_stream(&self) -> Result<Stream> {
        Ok(Stream::blocking(&self.front.shared.device)?)
    }

    /// The device's legacy default stream, which all its contexts share. Its work starts after all earlier work of all
    /// blocking streams, and their later work starts after it. Most programs need [`Context::default_stream`], which is not
    /// ordered so.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], at the first call.
    pub fn legacy_default_stream(&self) -> Result<Stream> {
        Ok(self.front.shared.default_streams.legacy()?)
    }

    /// The calling thread's own stream of this device, a blocking one. It is dropped when the thread ends.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], at the thread's first call.
    pub fn per_thread_default_stream(&self) -> Result<Stream> {
        Ok(self.front.shared.default_streams.per_thread()?)
    }

    /// Creates an event without timing.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::new(&self.front.shared.device)
    }

    /// Creates an event that records the time on the device.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the device has no timestamps.
    pub fn timed_event(&self) -> Result<Event> {
        Ok(Event::with_timing(&self.front.shared.device)?)
    }

    /// A builder for a kernel of this source; see [`KernelBuilder`].
    pub fn kernel(&self, source: Source) -> KernelBuilder {
        self.front.shared.kernels.kernel(source)
    }

    /// Records a graph: `record` adds operations, which run when the graph is replayed, on any stream of the device.
    ///
    /// What must be done once, such as sending constants to the device, goes to the default stream. Returns the graph and
    /// what `record` returns, usually the nodes that will be changed.
    ///
    /// # Errors
    ///
    /// Those of `record`; [`Error::Driver`] if the driver is out of memory.
    pub fn graph<R>(&self, record: impl FnOnce(&mut GraphRecorder) -> Result<R>) -> Result<(Graph, R)> {
        Graph::record(self.default_stream(), record)
    }

    /// Blocks until all work of the default stream is complete.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.default_stream().synchronize()?)
    }

    pub(crate) fn copies(&self) -> &LibraryKernels {
        &self.front.shared.copies
    }

    pub(crate) fn library_kernel(&self, kernel: LibraryKernel) -> Result<Kernel> {
        self.front.shared.copies.kernel(&self.front.shared.kernels, kernel)
    }

    pub(crate) fn check_stream(&self, stream: &Stream) -> Result<()> {
        if Arc::ptr_eq(self.device(), stream.device()) {
            return Ok(());
        }
        let (array, stream) = (self.info().name.clone(), stream.device().info().name.clone());
        Err(Error::ForeignDevice { array, stream })
    }
}
