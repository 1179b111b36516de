//! [`ContextBuilder`]: the choices that are made before a device is opened.

use vkarray_allocator::{Allocator, ManagerFactory};
use vkarray_driver::{Device, Instance};
use vkarray_kernel::CacheSettings;

use super::Context;
use crate::error::Result;

/// Options for a [`Context`].
#[derive(Debug, Clone, Default)]
pub struct ContextBuilder {
    selector: Option<String>,
    validation: Option<bool>,
    memory_manager: Option<ManagerFactory>,
    kernel_cache: Option<CacheSettings>,
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

    /// Keeps kernels on disk where and as these settings say. Wins over `VKARRAY_CACHE` and its like, for which see
    /// [`CacheSettings::from_environment`].
    #[must_use]
    pub fn kernel_cache(mut self, settings: CacheSettings) -> Self {
        self.kernel_cache = Some(settings);
        self
    }

    /// Loads Vulkan and opens the device.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if `VKARRAY_CACHE` or its like says nothing known.
    /// [`Error::Memory`]: no such memory manager, or one that refuses the device. [`Error::Driver`]: no loader, no device, none that matches, or one that lacks what the runtime needs.
    pub fn open(self) -> Result<Context> {
        let mut instance = Instance::builder();
        if let Some(on) = self.validation {
            instance = instance.validation(on);
        }
        let device = Device::open_selected(&instance.build()?, self.selector.as_deref())?;
        let settings = self.kernel_cache.map_or_else(CacheSettings::from_environment, Ok)?;
        let allocator = match self.memory_manager {
            Some(factory) => Allocator::with_manager(&device, factory.make()?)?,
            None => Allocator::new(&device)?,
        };
        Context::with_kernel_cache(&allocator, settings)
    }
}
