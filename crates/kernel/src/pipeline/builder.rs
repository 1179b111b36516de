//! [`KernelBuilder`]: what a kernel is built from. Only collects; `cache.rs` builds. `promises.rs` has what its author promises.

mod promises;

use std::collections::BTreeMap;
use std::sync::Arc;

use vkarray_shader::internal::Sizes;
use vkarray_shader::{Bounds, Options, Sanitize, Source, WordMatrices};

use super::cache::{KernelCache, KernelKey};
use crate::error::Result;
use crate::fits::robustness;
use crate::pipeline::kernel::Kernel;

/// What a kernel is built from: a source, an entry point, constants and options.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Groups, Source};
///
/// let ctx = Context::open_default()?;
/// let double = ctx
///     .kernel(Source::wgsl(
///         "override SIZE: u32 = 64;
///          @group(0) @binding(0) var<storage, read_write> x: array<f32>;
///          @compute @workgroup_size(SIZE) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
///              if id.x < arrayLength(&x) { x[id.x] *= 2.0; }
///          }",
///     ))
///     .constant("SIZE", 32)
///     .sanitize(false)
///     .build()?;
/// let x = ctx.full(100, 1.5_f32)?;
/// double.launch(Groups::covering(100), (&x,))?;
/// assert_eq!(x.to_vec()?, [3.0; 100]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a kernel is built by `build`"]
pub struct KernelBuilder {
    cache: Arc<KernelCache>,
    key: KernelKey,
}

impl KernelCache {
    /// Starts to build a kernel. Nothing is compiled before [`KernelBuilder::build`] or [`KernelBuilder::prefetch`].
    pub fn kernel(self: &Arc<Self>, source: Source) -> KernelBuilder {
        let device = self.device();
        let (info, features) = (device.info(), &device.plan().features);
        // WGSL: only where the device is faster than naga's checks. Others: wherever it saves changes to the module.
        let robust_buffers = if source.is_wgsl() {
            robustness::should_bound_buffers(info, features)
        } else {
            robustness::bounds_buffers_exactly(info, features)
        };
        let options = Options {
            integer_dot_product: features.integer_dot_product,
            driver_zeroes: robustness::should_zero_shared_memory(info, features),
            max_uniform_bytes: Some(info.limits.max_uniform_buffer_range),
            robust_buffers,
            robust_matrices: features.cooperative_matrix_robust_buffers,
            non_uniform_bindings: [
                features.storage_arrays_dynamic && features.storage_arrays_non_uniform,
                features.uniform_arrays_dynamic && features.uniform_arrays_non_uniform,
            ],
            ..Options::default()
        };
        let key = KernelKey { source, entry: None, constants: BTreeMap::new(), sizes: Sizes::default(), options };
        KernelBuilder { cache: Arc::clone(self), key }.sanitize(self.sanitizes())
    }
}

impl KernelBuilder {
    /// Chooses the entry point. Without this the shader must have exactly one.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// let source = Source::wgsl(
    ///     "@compute @workgroup_size(1) fn first() {}
    ///      @compute @workgroup_size(2) fn second() {}",
    /// );
    /// assert_eq!(ctx.kernel(source.clone()).entry("second").build()?.signature().workgroup_size, [2, 1, 1]);
    /// let error = ctx.kernel(source).build().unwrap_err();
    /// assert_eq!(error.to_string(), "shader.wgsl: name the entry point to use, one of `first`, `second`");
    /// # Ok(())
    /// # }
    /// ```
    pub fn entry(mut self, name: impl Into<String>) -> Self {
        self.key.entry = Some(name.into());
        self
    }

    /// Sets a constant of the shader (WGSL's `override`, SPIR-V's specialisation constant), by its name or by its `@id` in
    /// digits.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// let source = Source::wgsl("override SIZE: u32 = 64; @compute @workgroup_size(SIZE) fn sized() {}");
    /// let sized = ctx.kernel(source).constant("SIZE", 32).build()?;
    /// assert_eq!(sized.signature().workgroup_size, [32, 1, 1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn constant(mut self, name: impl Into<String>, value: impl Into<f64>) -> Self {
        self.key.constants.insert(name.into(), value.into().to_bits());
        self
    }

    /// Gives a shared array that many elements: sets the constant that the shader declares it with, as in
    /// `var<workgroup> tile: array<f32, N>`. [`Kernel::shared`] does so for a kernel that is built.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// let tiled = ctx
    ///     .kernel(Source::wgsl(
    ///         "override N: u32 = 16;
    ///          var<workgroup> tile: array<f32, N>;
    ///          @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    ///          @compute @workgroup_size(1) fn tiled() { tile[0] = x[0]; x[0] = tile[N - 1u]; }",
    ///     ))
    ///     .shared("tile", 256)
    ///     .build()?;
    /// assert_eq!(tiled.signature().shared_bytes, 1024);
    /// # Ok(())
    /// # }
    /// ```
    pub fn shared(mut self, variable: impl Into<String>, len: u32) -> Self {
        self.key.sizes.shared.insert(variable.into(), len);
        self
    }

    /// Gives a workgroup that many invocations on x, y and z: sets the constants that the shader declares it with, as in
    /// `@workgroup_size(N)`. An axis for which the shader has a number must have the same one here.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// let source = Source::wgsl("override SIZE: u32 = 64; @compute @workgroup_size(SIZE) fn sized() {}");
    /// let sized = ctx.kernel(source).workgroup_size([128, 1, 1]).build()?;
    /// assert_eq!(sized.signature().workgroup_size, [128, 1, 1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn workgroup_size(mut self, size: [u32; 3]) -> Self {
        self.key.sizes.workgroup = Some(size);
        self
    }

    /// Runs the kernel with that many invocations in a subgroup. Otherwise the driver chooses: `subgroup.size` of the
    /// device's [`DeviceInfo`](vkarray_driver::DeviceInfo), or on some drivers another size for each kernel.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Error, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let source = Source::wgsl("@compute @workgroup_size(64) fn nothing() {}");
    /// let (size, subgroup) = (ctx.info().subgroup.max_size, &ctx.info().subgroup);
    /// match ctx.kernel(source).subgroup_size(size).build() {
    ///     Ok(kernel) => assert_eq!(kernel.signature().subgroups.size, Some(size)),
    ///     Err(error) => assert!(matches!(error, Error::Capability { .. }) && !subgroup.required_in_compute, "{error}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn subgroup_size(mut self, size: u32) -> Self {
        self.key.options.subgroups.size = Some(size);
        self
    }

    /// Asks for subgroups without missing invocations. The workgroup's x must then be a multiple of the subgroup's size.
    pub fn full_subgroups(mut self, on: bool) -> Self {
        self.key.options.subgroups.full = on;
        self
    }

    /// Makes each operation on floats round by itself (`NoContraction`), as on the host. Otherwise the driver may fuse a
    /// multiplication with an addition, and rearrange sums. SPIR-V of other compilers stays as it is.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// let source = Source::wgsl("@compute @workgroup_size(1) fn f() {}");
    /// let kernel = ctx.kernel(source).exact_floats(true).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn exact_floats(mut self, on: bool) -> Self {
        self.key.options.exact_floats = on;
        self
    }

    /// Clamps indices out of range, in buffers too, instead of having reads there give zero and writes do nothing. That is
    /// faster for buffers that are arrays of arrays with mostly constant indices: see [`Bounds::Clamped`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let source = Source::wgsl(
    ///     "@group(0) @binding(0) var<storage, read_write> rows: array<array<f32, 2>>;
    ///      @compute @workgroup_size(64) fn add_columns(@builtin(global_invocation_id) id: vec3<u32>) {
    ///          let x = rows[id.x][0] + rows[id.x][1];
    ///          if id.x < arrayLength(&rows) { rows[id.x][1] = x; }
    ///      }",
    /// );
    /// let rows = ctx.full(6, 1.0_f32)?;
    /// ctx.kernel(source).clamped().build()?.launch(Groups::covering(3), (&rows,))?;
    /// assert_eq!(rows.to_vec()?, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn clamped(mut self) -> Self {
        self.key.options.bounds = Bounds::Clamped;
        self
    }

    /// What the numbers of each cooperative matrix are that WGSL loads from words (`u32`).
    #[doc(hidden)]
    pub fn word_matrices(mut self, numbers: WordMatrices) -> Self {
        self.key.options.word_matrices = numbers;
        self
    }

    /// Builds checks into the kernel that find its faults while it runs: see [`Kernel::dispatch`](crate::Kernel::dispatch).
    /// Without this call, [`KernelCache::set_sanitize`] decides, and without that, `VKARRAY_SANITIZE`.
    ///
    /// [`Fault`](crate::Fault) lists what they find, among it indices out of range, races and loops that do not end.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Error, Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let fill = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///          @compute @workgroup_size(64) fn fill(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = 1u; }",
    ///     ))
    ///     .sanitize(true)
    ///     .max_rounds(1000)
    ///     .build()?;
    /// let error = fill.launch(Groups::covering(100), (&ctx.zeros::<u32>(100)?,)).unwrap_err();
    /// assert!(matches!(error, Error::Found(_)), "the last workgroup reaches past the array: {error}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn sanitize(mut self, on: bool) -> Self {
        self.key.options.sanitize = on.then(|| robustness::sanitize(self.cache.device().info()));
        self
    }

    /// After [`sanitize`](KernelBuilder::sanitize): the rounds that the loops of an invocation may have in all. The default
    /// is [`Sanitize::MAX_ROUNDS`], and 65,000 on Mesa's CPU driver, which ends loops without a word after 65,535.
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.key.options.sanitize = self.key.options.sanitize.map(|checks| Sanitize { max_rounds: rounds, ..checks });
        self
    }

    /// Builds the kernel, or returns the one that was built before from the same source, constants and options. Compiles on
    /// this thread, or waits for the thread that is compiling the same. [`KernelBuilder`] has an example.
    ///
    /// # Errors
    ///
    /// The errors of [`Module::parse`] and [`Module::translate`]; of [`Source::spirv`], [`SpirvError::Validator`],
    /// [`Error::Extension`] and [`Error::NotRobust`]; [`Error::Capability`], [`Error::SubgroupSize`], [`Error::SubgroupCount`] and
    /// [`Error::FullSubgroups`]; the limits of [`check_workgroup`](crate::check_workgroup); [`Error::Driver`].
    ///
    /// [`Module::parse`]: crate::Module::parse
    /// [`Module::translate`]: crate::Module::translate
    /// [`SpirvError::Validator`]: crate::SpirvError::Validator
    /// [`Error::Extension`]: crate::Error::Extension
    /// [`Error::NotRobust`]: crate::Error::NotRobust
    /// [`Error::Capability`]: crate::Error::Capability
    /// [`Error::SubgroupSize`]: crate::Error::SubgroupSize
    /// [`Error::SubgroupCount`]: crate::Error::SubgroupCount
    /// [`Error::FullSubgroups`]: crate::Error::FullSubgroups
    /// [`Error::Driver`]: crate::Error::Driver
    pub fn build(self) -> Result<Kernel> {
        let (cache, key) = self.into_key();
        cache.kernel_of(key).inspect_err(|error| cache.note_refused_checks(error))
    }

    pub(super) fn into_key(self) -> (Arc<KernelCache>, KernelKey) {
        (self.cache, KernelKey { source: self.key.source.resolved(), ..self.key })
    }
}
