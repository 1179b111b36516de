//! [`ContextBuilder`]: the choices that are made before a device is opened.

use vkarray_allocator::{Allocator, ManagerFactory};
use vkarray_driver::{Device, InstanceBuilder};
use vkarray_kernel::{CacheSettings, KernelLimit};

use super::Context;
use crate::error::Result;

/// Options for a [`Context`].
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::builder().validation(false).open()?;
/// assert_eq!(ctx.ones::<f32>(2)?.to_vec()?, [1.0, 1.0]);
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct ContextBuilder {
    selector: Option<String>,
    instance: InstanceBuilder,
    memory_manager: Option<ManagerFactory>,
    kernel_cache: Option<CacheSettings>,
    kernel_limit: KernelLimit,
}

impl ContextBuilder {
    /// Selects the device: an index, a kind, a part of its name, or `uuid:…`. Overrides `VKARRAY_DEVICE`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let name = Context::open_default()?.info().name.clone();
    /// let ctx = Context::builder().device(name.clone()).open()?;
    /// assert_eq!(ctx.info().name, name);
    /// assert!(Context::builder().device("no such device").open().is_err());
    /// # anyhow::Ok(())
    /// ```
    pub fn device(mut self, selector: impl Into<String>) -> Self {
        self.selector = Some(selector.into());
        self
    }

    /// Whether the validation layer is loaded. Overrides `VKARRAY_VALIDATION`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::builder().validation(false).open()?;
    /// assert_eq!(ctx.ones::<f32>(2)?.to_vec()?, [1.0, 1.0]);
    /// # anyhow::Ok(())
    /// ```
    pub fn validation(mut self, on: bool) -> Self {
        self.instance = self.instance.validation(on);
        self
    }

    /// Takes memory from a manager that only this context uses. Overrides
    /// [`set_memory_manager`](vkarray_allocator::set_memory_manager) and `VKARRAY_MEMORY_MANAGER`.
    ///
    /// ```
    /// use vkarray::memory::managers::ManagerFactory;
    /// use vkarray::prelude::*;
    ///
    /// let passthrough = ManagerFactory::named("passthrough")?; // Every array is an allocation of the driver.
    /// let ctx = Context::builder().memory_manager(passthrough).open()?;
    /// assert_eq!(ctx.ones::<f32>(2)?.to_vec()?, [1.0, 1.0]);
    /// # anyhow::Ok(())
    /// ```
    pub fn memory_manager(mut self, factory: ManagerFactory) -> Self {
        self.memory_manager = Some(factory);
        self
    }

    /// Settings of the cache of kernels on disk. Overrides the variables that [`CacheSettings::from_environment`] reads,
    /// such as `VKARRAY_CACHE`.
    ///
    /// ```
    /// use vkarray::kernel::CacheSettings;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::builder().kernel_cache(CacheSettings::from_environment()?).open()?;
    /// assert_eq!(ctx.ones::<f32>(2)?.to_vec()?, [1.0, 1.0]);
    /// # anyhow::Ok(())
    /// ```
    pub fn kernel_cache(mut self, settings: CacheSettings) -> Self {
        self.kernel_cache = Some(settings);
        self
    }

    /// How many kernels are kept in memory; [`KernelLimit`] says which ones are dropped, and has an example.
    pub fn kernel_limit(mut self, limit: KernelLimit) -> Self {
        self.kernel_limit = limit;
        self
    }

    /// Loads Vulkan and opens the device.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::builder().open()?; // As `Context::open_default()`.
    /// assert_eq!(ctx.ones::<f32>(2)?.to_vec()?, [1.0, 1.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`](crate::Error::Kernel) if `VKARRAY_CACHE` or a related variable has an unknown value.
    /// [`Error::Memory`](crate::Error::Memory) if there is no memory manager of the selected name, or it refuses the
    /// device. [`Error::Driver`](crate::Error::Driver) if there is no loader or no device, none matches the selection,
    /// or the device lacks a feature that this library needs.
    pub fn open(self) -> Result<Context> {
        let device = Device::open_selected(&self.instance.build()?, self.selector.as_deref())?;
        let settings = self.kernel_cache.map_or_else(CacheSettings::from_environment, Ok)?;
        let allocator = match self.memory_manager {
            Some(factory) => Allocator::with_manager(&device, factory.make()?)?,
            None => Allocator::new(&device)?,
        };
        let context = Context::with_kernel_cache(&allocator, settings)?;
        context.kernel_cache().set_limit(self.kernel_limit);
        Ok(context)
    }
}
