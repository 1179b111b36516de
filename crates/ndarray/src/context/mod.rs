//! A context: a device opened for array work, with its memory, its default stream and its kernels.
//!
//! Arrays are made from a context and hold it. Several contexts may be open, on several devices or twice on one.
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
use vkarray_driver::{DefaultStreams, Device, DeviceInfo, Event, N_STRIPES, Stream, stripe};
use vkarray_kernel::{CacheSettings, Kernel, KernelBuilder, KernelCache, Source};

use crate::copy::{CopyKernels, Variant};
use crate::error::{Error, Result};
pub use builder::ContextBuilder;
pub(crate) use constants::check_fills;
pub(crate) use copies::{Place, words};

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
    copies: CopyKernels,
    kernels: Arc<KernelCache>,
    device: Arc<Device>,
}

/// Memory objects of a context work on its default stream.
impl MemoryContext for Context {
    fn allocator(&self) -> &Arc<Allocator> {
        self.allocator()
    }

    fn stream(&self) -> &Stream {
        &self.front.shared.default_stream
    }
}

impl Context {
    /// Opens the device that `VKARRAY_DEVICE` names, or the best there is.
    ///
    /// # Errors
    ///
    /// As [`ContextBuilder::open`].
    pub fn open_default() -> Result<Self> {
        Self::builder().open()
    }

    /// Starts from the defaults: the device and validation that the environment names.
    #[must_use]
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Makes a context on an open device, with the memory manager that is chosen for the process; see
    /// [`ManagerFactory::chosen`].
    ///
    /// # Errors
    ///
    /// [`Error::Memory`]: no such memory manager, or one that refuses the device. [`Error::Driver`] if the driver is
    /// out of memory.
    pub fn on(device: &Arc<Device>) -> Result<Self> {
        Self::with_allocator(&Allocator::new(device)?)
    }

    /// Makes a context on an allocator and its device.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver is out of memory; [`Error::Kernel`] if `VKARRAY_CACHE` says nothing known.
    pub fn with_allocator(allocator: &Arc<Allocator>) -> Result<Self> {
        Self::with_kernel_cache(allocator, CacheSettings::from_environment()?)
    }

    /// As [`Context::with_allocator`], with kernels kept on disk where and as these settings say.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the driver is out of memory.
    pub fn with_kernel_cache(allocator: &Arc<Allocator>, settings: CacheSettings) -> Result<Self> {
        let device = allocator.device();
        let shared = Shared {
            default_stream: Stream::new(device)?,
            default_streams: DefaultStreams::of(device),
            copies: CopyKernels::new(device.info()),
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

    /// The kernels, and what was found of them on disk.
    #[must_use]
    pub fn kernel_cache(&self) -> &Arc<KernelCache> {
        &self.front.shared.kernels
    }

    /// What the device says of itself.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.front.shared.device.info()
    }

    /// The memory: an allocator for the calling thread.
    #[must_use]
    #[inline]
    pub fn allocator(&self) -> &Arc<Allocator> {
        &self.own().allocator
    }

    /// The stream that work goes to where none is named.
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

    /// Creates a stream that the legacy default stream waits for and that waits for it, as CUDA's streams do.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn blocking_stream(&self) -> Result<Stream> {
        Ok(Stream::blocking(&self.front.shared.device)?)
    }

    /// The device's legacy default stream: work there starts after all earlier work of all blocking streams, and later
    /// work of those starts after it. One for all contexts of the device. Most programs want
    /// [`Context::default_stream`], which takes no part in this.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], when it is first asked for.
    pub fn legacy_default_stream(&self) -> Result<Stream> {
        Ok(self.front.shared.default_streams.legacy()?)
    }

    /// The calling thread's stream on this device, a blocking one. It goes when the thread ends.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], when the thread first asks for it.
    pub fn per_thread_default_stream(&self) -> Result<Stream> {
        Ok(self.front.shared.default_streams.per_thread()?)
    }

    /// Creates an event without timing.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::new(&self.front.shared.device)
    }

    /// Creates an event that notes the device's time.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the device has no timestamps.
    pub fn timed_event(&self) -> Result<Event> {
        Ok(Event::with_timing(&self.front.shared.device)?)
    }

    /// Starts to build a kernel; see [`KernelBuilder`].
    pub fn kernel(&self, source: Source) -> KernelBuilder {
        self.front.shared.kernels.kernel(source)
    }

    /// Blocks until all work of the default stream is done.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.default_stream().synchronize()?)
    }

    pub(crate) fn copies(&self) -> &CopyKernels {
        &self.front.shared.copies
    }

    pub(crate) fn library_kernel(&self, variant: Variant) -> Result<Kernel> {
        self.front.shared.copies.kernel(&self.front.shared.kernels, variant)
    }

    pub(crate) fn check_stream(&self, stream: &Stream) -> Result<()> {
        if Arc::ptr_eq(self.device(), stream.device()) {
            return Ok(());
        }
        let (array, stream) = (self.info().name.clone(), stream.device().info().name.clone());
        Err(Error::ForeignDevice { array, stream })
    }
}
