//! [`WeakKernel`]: a handle of a kernel that leaves it to the cache how long it is kept.

use std::sync::{Arc, Weak};

use super::kernel::{Kernel, Pipeline};

impl Kernel {
    /// A handle that does not keep the kernel in memory.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// let kernel = ctx.kernel(Source::wgsl("@compute @workgroup_size(1) fn nothing() {}")).build()?;
    /// let weak = kernel.downgrade();
    /// assert!(weak.upgrade().is_some_and(|again| std::ptr::eq(again.signature(), kernel.signature())));
    /// # Ok(())
    /// # }
    /// ```
    pub fn downgrade(&self) -> WeakKernel {
        WeakKernel { pipeline: Arc::downgrade(&self.pipeline) }
    }

    /// A clone for a new use, which is noted.
    pub(crate) fn used(&self) -> Self {
        self.pipeline.last_use.note();
        self.clone()
    }
}

/// A handle of a kernel that does not keep it in memory, for a program that finds kernels by keys of its own. The
/// [`KernelCache`](crate::KernelCache) keeps the kernel up to its [`KernelLimit`](crate::KernelLimit). Made by
/// [`Kernel::downgrade`], which has an example.
#[derive(Debug, Clone)]
pub struct WeakKernel {
    pipeline: Weak<Pipeline>,
}

impl WeakKernel {
    /// The kernel, if it is still there. Counts as a use.
    #[inline]
    pub fn upgrade(&self) -> Option<Kernel> {
        let pipeline = self.pipeline.upgrade()?;
        pipeline.last_use.note();
        Some(Kernel { pipeline })
    }

    /// Whether the kernel is still there.
    pub fn is_alive(&self) -> bool {
        self.pipeline.strong_count() > 0
    }
}
