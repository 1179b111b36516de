//! [`KernelBuilder`]: what a kernel is built from, and what it may assume.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cache::{KernelCache, KernelKey};
use crate::error::Result;
use crate::pipeline::kernel::Kernel;
use crate::requirements::{Limits, robustness};
use crate::sanitize::Sanitize;
use crate::shader::{Bounds, Loops, Options, Sizes, Source};

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

impl KernelCache {
    /// Starts to build a kernel. Nothing is done before [`KernelBuilder::build`] or [`KernelBuilder::prefetch`].
    pub fn kernel(self: &Arc<Self>, source: Source) -> KernelBuilder {
        KernelBuilder::new(Arc::clone(self), source)
    }
}

impl KernelBuilder {
    fn new(cache: Arc<KernelCache>, source: Source) -> Self {
        let device = Arc::clone(cache.device());
        let (info, features) = (device.info(), &device.plan().features);
        // What naga could bound as fast, or what only the device bounds without a change to the module.
        let robust_buffers = if source.is_text() {
            robustness::are_the_devices(info, features)
        } else {
            robustness::are_exact(info, features)
        };
        let max_uniform_bytes = Some(info.limits.max_uniform_buffer_range);
        let builder = Self {
            cache,
            source,
            entry: None,
            constants: BTreeMap::new(),
            sizes: Sizes::default(),
            options: Options {
                integer_dot_product: features.integer_dot_product,
                driver_zeroes: robustness::are_zeroes_the_drivers(info, features),
                max_uniform_bytes,
                robust_buffers,
                robust_matrices: features.cooperative_matrix_robust_buffers,
                ..Options::default()
            },
        };
        builder.sanitize(std::env::var_os("VKARRAY_SANITIZE").is_some_and(|value| value == "1"))
    }

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

    /// Leaves shared memory as it is when a workgroup starts. Otherwise a WGSL or GLSL kernel finds zeros there;
    /// `docs/decisions/036` shows what that costs.
    ///
    /// # Safety
    ///
    /// Each element of shared memory is written before it is read. This holds for every kernel that is built from this builder
    /// or a clone of it, whatever is set on it later, for its variants ([`Kernel::shared`]), and for every dispatch of them.
    pub unsafe fn assume_written(mut self) -> Self {
        self.options.assume_written = true;
        self
    }

    /// Bounds loops that may never end ([`Loops::Bounded`]), also after [`KernelBuilder::assume_loops_end`].
    pub fn bound_loops(mut self) -> Self {
        self.options.loops = Loops::Bounded;
        self
    }

    /// Leaves loops as they are written, which the driver's compiler may translate to faster code:
    /// `docs/decisions/035` has figures.
    ///
    /// # Safety
    ///
    /// Each loop ends, in all kernels and dispatches that [`KernelBuilder::assume_written`] names.
    pub unsafe fn assume_loops_end(mut self) -> Self {
        self.options.loops = Loops::AssumeFinite;
        self
    }

    /// Builds checks into the kernel that find its faults while it runs, for tests: see
    /// [`Kernel::dispatch`](crate::Kernel::dispatch). `VKARRAY_SANITIZE=1` turns it on for all kernels, which this
    /// overrules.
    ///
    /// They find indices out of range, division of integers by zero, races between the invocations of a workgroup on shared
    /// memory and buffers, reads of shared memory before it is written, and barriers that not all invocations reach.
    pub fn sanitize(mut self, on: bool) -> Self {
        let limits = Limits::from(self.cache.driver_cache.device().info());
        self.options.sanitize = on.then_some(Sanitize { max_shared_bytes: limits.max_shared_bytes });
        self
    }

    /// Leaves out the checks of indices.
    ///
    /// # Safety
    ///
    /// No invocation uses an index out of range, in all kernels and dispatches that [`KernelBuilder::assume_written`] names.
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
    /// [`Error::Validator`]: crate::Error::Validator
    /// [`Error::Extension`]: crate::Error::Extension
    /// [`Error::NotRobust`]: crate::Error::NotRobust
    /// [`Error::Capability`]: crate::Error::Capability
    /// [`Error::Driver`]: crate::Error::Driver
    pub fn build(self) -> Result<Kernel> {
        let (cache, key) = self.into_key();
        cache.kernel_of(key)
    }

    /// Starts to build the kernel on another thread. Returns at once; a [`build`](KernelBuilder::build) of the same kernel
    /// finds it, or waits for it, and says what is wrong with it.
    ///
    /// # Errors
    ///
    /// [`Error::CompilerThread`](crate::Error::CompilerThread) if no thread can be started;
    /// [`Forked`](vkarray_driver::Error::Forked).
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

    fn into_key(self) -> (Arc<KernelCache>, KernelKey) {
        let Self { cache, source, entry, constants, sizes, options } = self;
        let constants = constants.into_iter().map(|(name, value)| (name, value.to_bits())).collect();
        (cache, KernelKey { source, entry, constants, sizes, options })
    }
}
