//! What the author of a kernel promises, so that protection is left out. Each function is `unsafe`.

use vkarray_shader::{Bounds, Loops};

use super::KernelBuilder;

impl KernelBuilder {
    /// Leaves shared memory uninitialised when a workgroup starts. Otherwise a WGSL kernel reads zeros there, and a GLSL
    /// kernel where the driver writes them; `docs/decisions/036` has the cost.
    ///
    /// # Safety
    ///
    /// Each element of shared memory is written before it is read. This holds for every kernel that is built from this builder
    /// or a clone of it, whatever is set on it later, for its variants ([`Kernel::shared`](crate::Kernel::shared)), and for
    /// every dispatch of them.
    pub unsafe fn assume_written(mut self) -> Self {
        self.key.options.assume_written = true;
        self
    }

    /// Adds no counters to loops, so that the driver may compile them to faster code; `docs/decisions/035` has figures.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// // SAFETY: the loop ends after `n` rounds, and nothing else writes `i`.
    /// let sum = unsafe {
    ///     ctx.kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///          @compute @workgroup_size(1) fn sum() { var i = x[0]; loop { if i == 0u { break; } x[1] += i; i--; } }",
    ///     ))
    ///     .assume_loops_end()
    /// }
    /// .build()?;
    /// let x = ctx.to_device(&[4_u32, 0])?;
    /// sum.launch(Groups::exact([1, 1, 1]), (&x,))?;
    /// assert_eq!(x.to_vec()?, [4, 10]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety
    ///
    /// Each loop ends, in all kernels and dispatches that [`KernelBuilder::assume_written`] names.
    pub unsafe fn assume_loops_end(mut self) -> Self {
        self.key.options.loops = Loops::AssumeFinite;
        self
    }

    /// Leaves out the checks of indices.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// // SAFETY: the kernel compares its index with the array's length.
    /// let double = unsafe {
    ///     ctx.kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    ///          @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    ///              if id.x < arrayLength(&x) { x[id.x] *= 2.0; }
    ///          }",
    ///     ))
    ///     .unchecked()
    /// }
    /// .build()?;
    /// let x = ctx.full(3, 1.0_f32)?;
    /// double.launch(Groups::covering(3), (&x,))?;
    /// assert_eq!(x.to_vec()?, [2.0; 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety
    ///
    /// No invocation uses an index out of range, in all kernels and dispatches that [`KernelBuilder::assume_written`] names.
    pub unsafe fn unchecked(mut self) -> Self {
        self.key.options.bounds = Bounds::Unchecked;
        self
    }

    /// Accepts a kernel that reaches memory by its address (GLSL's `buffer_reference`, SPIR-V's `PhysicalStorageBuffer`).
    ///
    /// A push constant that is an address takes an array, in the order of the push constants behind all buffers, and is used as
    /// the shader uses it. Arrays whose addresses are in memory ([`Block::device_address`](vkarray_allocator::Block::device_address)) are
    /// listed at the launch, as [`Reached`](crate::Reached). Nothing bounds these accesses; those of buffers stay bounded.
    ///
    /// # Safety
    ///
    /// In all kernels and dispatches that [`KernelBuilder::assume_written`] names, each access by an address
    ///
    /// - that is a push constant, as it is or moved from there, lies in the array that the call gives for it;
    /// - of any other origin lies in an array that the call lists as [`Reached`](crate::Reached);
    ///
    /// and it is aligned as the shader says.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// if !ctx.device().plan().features.buffer_device_address {
    ///     return Ok(());
    /// }
    /// // SAFETY: each launch below gives an array with an element for each invocation.
    /// let double = unsafe {
    ///     ctx.kernel(Source::glsl(
    ///         "#version 450
    ///          #extension GL_EXT_buffer_reference : require
    ///          layout(local_size_x = 1) in;
    ///          layout(buffer_reference, std430, buffer_reference_align = 4) buffer Numbers { float x[]; };
    ///          layout(push_constant) uniform Push { Numbers numbers; float factor; };
    ///          void main() { numbers.x[gl_GlobalInvocationID.x] *= factor; }",
    ///     ))
    ///     .assume_addresses()
    /// }
    /// .build()?;
    /// let x = ctx.full(3, 1.5_f32)?;
    /// double.launch(Groups::exact([3, 1, 1]), (&x, 2.0_f32))?;
    /// assert_eq!(x.to_vec()?, [3.0; 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub unsafe fn assume_addresses(mut self) -> Self {
        self.key.options.assume_addresses = true;
        self
    }
}
