//! [`CopyKernels`]: the copying kernels of a context, each built when it is first needed.
//!
//! Behind it stands the context's kernel cache, which knows kernels by their whole text; a copy asks too often for that.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use vkarray_driver::DeviceInfo;
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};
use vkarray_kernel::{Kernel, KernelCache, Source};
use vkarray_shaders::library;

use super::cast::Cast;
use super::launch::Program;
use super::machine::Machine;
use crate::error::Result;

/// A library kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Variant {
    Copy(Program),
    Cast(Cast),
}

/// The library's kernels on one device.
pub(crate) struct CopyKernels {
    pub(crate) machine: Machine,
    built: Mutex<HashMap<Variant, Kernel>>,
}

impl CopyKernels {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        Self { machine: Machine::new(device), built: Mutex::new(Rank::CopyKernels, HashMap::new()) }
    }

    /// The kernel, built by `cache` if this is the first call for it.
    pub(crate) fn kernel(&self, cache: &Arc<KernelCache>, variant: Variant) -> Result<Kernel> {
        cache.check_process()?;
        if let Some(kernel) = self.lock().get(&variant) {
            return Ok(kernel.clone());
        }
        // Built outside the lock: two threads may build the same kernel, and the cache keeps the first.
        let (name, text) = source(variant);
        let kernel = cache.kernel(Source::wgsl(text).named(name)).build()?;
        Ok(self.lock().entry(variant).or_insert(kernel).clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Variant, Kernel>> {
        // No caller's code runs under the lock, and an insertion that panics leaves the map whole.
        self.built.lock()
    }
}

fn source(variant: Variant) -> (&'static str, String) {
    match variant {
        Variant::Copy(Program::Strided { unit, group, lanes }) => {
            ("copy_strided.wgsl", library::copy_strided(unit, group, lanes))
        }
        Variant::Copy(Program::Tile { unit, group, tile }) => ("copy_tile.wgsl", library::copy_tile(unit, group, tile)),
        Variant::Copy(Program::Quads { group }) => ("copy_tile_quads.wgsl", library::copy_tile_quads(group)),
        Variant::Copy(Program::Woven(woven)) => ("channels.wgsl", woven.text()),
        Variant::Cast(cast) => ("cast.wgsl", cast.source()),
    }
}

impl fmt::Debug for CopyKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyKernels").field("built", &self.lock().len()).finish_non_exhaustive()
    }
}
