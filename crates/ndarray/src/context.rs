//! A context: a device opened for array work, with its memory, its default stream and its kernels.
//!
//! Arrays are made from a context and hold it. Several contexts may be open, on several devices or twice on one.

use std::sync::Arc;

use vkarray_allocator::{Allocator, ManagerFactory, MemoryContext};
use vkarray_driver::{DefaultStreams, Device, DeviceInfo, Event, Instance, Stream};
use vkarray_kernel::{ConstArray, Element, Kernel, KernelBuilder, KernelCache, Source};

use crate::copy::{CopyKernels, Variant};
use crate::error::{Error, Result};
use crate::layout::Layout;

/// A device opened for array work. Clones are handles to the same context.
#[derive(Debug, Clone)]
pub struct Context {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    default_stream: Stream, // First: waits for its work, which uses the rest.
    default_streams: Arc<DefaultStreams>,
    copies: CopyKernels,
    kernels: Arc<KernelCache>,
    allocator: Arc<Allocator>,
    device: Arc<Device>,
}

/// Options for a [`Context`].
#[derive(Debug, Clone, Default)]
pub struct ContextBuilder {
    selector: Option<String>,
    validation: Option<bool>,
    memory_manager: Option<ManagerFactory>,
}

impl ContextBuilder {
    /// Names the device: an index, a kind, a part of its name, or `uuid:…`. Wins over `VKARRAY_DEVICE`.
    #[must_use]
    pub fn device(mut self, selector: impl Into<String>) -> Self {
        self.selector = Some(selector.into());
        self
    }

    /// Loads the validation layer. Wins over `VKARRAY_VALIDATION`.
    #[must_use]
    pub fn validation(mut self, on: bool) -> Self {
        self.validation = Some(on);
        self
    }

    /// Takes memory from a manager of this context's own. Wins over
    /// [`set_memory_manager`](vkarray_allocator::set_memory_manager) and `VKARRAY_MEMORY_MANAGER`.
    #[must_use]
    pub fn memory_manager(mut self, factory: ManagerFactory) -> Self {
        self.memory_manager = Some(factory);
        self
    }

    /// Loads Vulkan and opens the device.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`]: no such memory manager, or one that refuses the device. [`Error::Driver`]: no loader, no device, none that matches, or one that lacks what the runtime needs.
    pub fn open(self) -> Result<Context> {
        let mut instance = Instance::builder();
        if let Some(on) = self.validation {
            instance = instance.validation(on);
        }
        let device = Device::open_selected(&instance.build()?, self.selector.as_deref())?;
        match self.memory_manager {
            Some(factory) => Context::with_allocator(&Allocator::with_manager(&device, factory.make()?)?),
            None => Context::on(&device),
        }
    }
}

/// Memory objects of a context work on its default stream.
impl MemoryContext for Context {
    fn allocator(&self) -> &Arc<Allocator> {
        &self.shared.allocator
    }

    fn stream(&self) -> &Stream {
        &self.shared.default_stream
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
    /// [`Error::Driver`] if the driver is out of memory.
    pub fn with_allocator(allocator: &Arc<Allocator>) -> Result<Self> {
        let device = allocator.device();
        let shared = Shared {
            default_stream: Stream::new(device)?,
            default_streams: DefaultStreams::of(device),
            copies: CopyKernels::new(device.info()),
            kernels: KernelCache::new(device)?,
            allocator: Arc::clone(allocator),
            device: Arc::clone(device),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.shared.device
    }

    /// What the device says of itself.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.shared.device.info()
    }

    /// The memory.
    #[must_use]
    pub fn allocator(&self) -> &Arc<Allocator> {
        &self.shared.allocator
    }

    /// The stream that work goes to where none is named.
    #[must_use]
    pub fn default_stream(&self) -> &Stream {
        &self.shared.default_stream
    }

    /// Creates a stream.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn stream(&self) -> Result<Stream> {
        Ok(Stream::new(&self.shared.device)?)
    }

    /// Creates a stream that the legacy default stream waits for and that waits for it, as CUDA's streams do.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn blocking_stream(&self) -> Result<Stream> {
        Ok(Stream::blocking(&self.shared.device)?)
    }

    /// The device's legacy default stream: work there starts after all earlier work of all blocking streams, and later
    /// work of those starts after it. One for all contexts of the device. Most programs want
    /// [`Context::default_stream`], which takes no part in this.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], when it is first asked for.
    pub fn legacy_default_stream(&self) -> Result<Stream> {
        Ok(self.shared.default_streams.legacy()?)
    }

    /// The calling thread's stream on this device, a blocking one. It goes when the thread ends.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], when the thread first asks for it.
    pub fn per_thread_default_stream(&self) -> Result<Stream> {
        Ok(self.shared.default_streams.per_thread()?)
    }

    /// Creates an event without timing.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::new(&self.shared.device)
    }

    /// Creates an event that notes the device's time.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the device has no timestamps.
    pub fn timed_event(&self) -> Result<Event> {
        Ok(Event::with_timing(&self.shared.device)?)
    }

    /// Starts to build a kernel; see [`KernelBuilder`].
    pub fn kernel(&self, source: Source) -> KernelBuilder {
        self.shared.kernels.kernel(source)
    }

    /// Takes a snapshot of `values` as constant memory of that shape, for kernels that read it through `var<uniform>`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`], [`Error::Layout`].
    pub fn const_array<T: Element>(&self, values: &[T], shape: &[usize]) -> Result<ConstArray> {
        crate::create::check_fills(&Layout::contiguous(shape, crate::Order::C)?, values)?;
        Ok(ConstArray::new(&self.shared.allocator, values, shape))
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
        &self.shared.copies
    }

    pub(crate) fn library_kernel(&self, variant: Variant) -> Result<Kernel> {
        self.shared.copies.kernel(&self.shared.kernels, variant)
    }

    pub(crate) fn check_stream(&self, stream: &Stream) -> Result<()> {
        if Arc::ptr_eq(self.device(), stream.device()) {
            return Ok(());
        }
        let (array, stream) = (self.info().name.clone(), stream.device().info().name.clone());
        Err(Error::ForeignDevice { array, stream })
    }
}
