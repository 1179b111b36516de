//! [`LibraryKernels`]: the kernels that copy and convert elements, each built when it is first needed.
//!
//! The context's kernel cache finds a kernel by its whole text, which would cost too much for each copy. So the kernels
//! of this library are kept here as well, by the few numbers that their text is generated from.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use vkarray_driver::DeviceInfo;
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};
use vkarray_kernel::{Kernel, KernelCache, Source};
use vkarray_shaders::library;

use super::cast::Cast;
use super::dispatch::CopyKernel;
use super::limits::CopyLimits;
use crate::error::Result;

/// Which kernel: everything that its text is generated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LibraryKernel {
    Copy(CopyKernel),
    Cast(Cast),
    /// Copies a run of units of so many bytes.
    Run(u32),
}

/// The kernels that are built on one device, and the device's limits.
pub(crate) struct LibraryKernels {
    pub(crate) limits: CopyLimits,
    built: Mutex<FxHashMap<LibraryKernel, Kernel>>,
    /// Kernels of the crates above, by keys of their own.
    generated: Mutex<FxHashMap<Box<[u32]>, Kernel>>,
}

impl LibraryKernels {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        Self {
            limits: CopyLimits::new(device),
            built: Mutex::new(Rank::CopyKernels, FxHashMap::default()),
            generated: Mutex::new(Rank::CopyKernels, FxHashMap::default()),
        }
    }

    /// The kernel, which `cache` builds at the first call.
    pub(crate) fn kernel(&self, cache: &Arc<KernelCache>, which: LibraryKernel) -> Result<Kernel> {
        cache.check_process()?;
        if let Some(kernel) = self.lock().get(&which) {
            return Ok(kernel.clone());
        }
        // Built outside the lock. If two threads build the same kernel, the first one is kept.
        let (name, text) = source(which);
        let kernel = cache.kernel(Source::wgsl(text).named(name)).build()?;
        Ok(self.lock().entry(which).or_insert(kernel).clone())
    }

    /// The kernel of this key, which `cache` builds at the first call from what `source` writes.
    pub(crate) fn generated(
        &self,
        cache: &Arc<KernelCache>,
        key: &[u32],
        source: impl FnOnce() -> Source,
    ) -> Result<Kernel> {
        cache.check_process()?;
        if let Some(kernel) = self.generated.lock().get(key) {
            return Ok(kernel.clone());
        }
        let kernel = cache.kernel(source()).exact_floats(true).build()?; // Outside the lock, as above.
        Ok(self.generated.lock().entry(key.into()).or_insert(kernel).clone())
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<LibraryKernel, Kernel>> {
        // No code of the program runs under this lock.
        self.built.lock()
    }
}

/// The name and the text of a kernel.
fn source(which: LibraryKernel) -> (&'static str, String) {
    match which {
        LibraryKernel::Copy(CopyKernel::Strided { unit, group, lanes }) => {
            ("copy_strided.wgsl", library::copy_strided(unit, group, lanes))
        }
        LibraryKernel::Copy(CopyKernel::Tile { unit, group, tile }) => {
            ("copy_tile.wgsl", library::copy_tile(unit, group, tile))
        }
        LibraryKernel::Copy(CopyKernel::Quads { group }) => ("copy_tile_quads.wgsl", library::copy_tile_quads(group)),
        LibraryKernel::Copy(CopyKernel::Channels(channels)) => ("channels.wgsl", channels.text()),
        LibraryKernel::Cast(cast) => ("cast.wgsl", cast.source()),
        LibraryKernel::Run(unit) => ("copy_run.wgsl", library::copy_run(unit)),
    }
}

vkarray_driver::debug_fields!(LibraryKernels, this => built: this.lock().len());
