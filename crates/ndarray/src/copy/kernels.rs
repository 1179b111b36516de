//! [`LibraryKernels`]: the kernels that copy and convert elements, each built when it is first needed.
//!
//! The context's kernel cache finds a kernel by its whole text, which would cost too much for each copy. The table here
//! finds the kernels of this library by the few numbers that their text is generated from. The cache keeps the kernels,
//! or drops the ones that were not used for long.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use vkarray_driver::DeviceInfo;
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_kernel::{Kernel, KernelBuilder, KernelCache, Source, WeakKernel};
use vkarray_shaders::library;

use super::cast::Cast;
use super::dispatch::CopyKernel;
use super::limits::CopyLimits;
use crate::error::Result;

/// Names a kernel by everything that its text is generated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LibraryKernel {
    Copy(CopyKernel),
    Cast(Cast),
    /// Copies a run of units of this many bytes.
    Run(u32),
}

/// The kernels that are built on one device, and the device's limits.
pub(crate) struct LibraryKernels {
    pub(crate) limits: CopyLimits,
    built: Mutex<Found<LibraryKernel>>,
    /// Kernels of expressions and functions, by the keys that their folders define.
    generated: Mutex<Found<Vec<u32>>>,
}

/// Kernels by key, and the number of entries at which the keys of dropped kernels are removed.
struct Found<K> {
    kernels: FxHashMap<K, WeakKernel>,
    most: usize,
}

impl<K: Hash + Eq> Found<K> {
    fn new() -> Mutex<Self> {
        Mutex::new(Rank::CopyKernels, Self { kernels: FxHashMap::default(), most: 64 })
    }

    /// The kernel of this key. At the first call, `cache` builds what `builder` makes.
    fn get_or_build<Q: ToOwned<Owned = K> + Hash + Eq + ?Sized>(
        found: &Mutex<Self>,
        cache: &KernelCache,
        key: &Q,
        builder: impl FnOnce() -> KernelBuilder,
    ) -> Result<Kernel>
    where
        K: Borrow<Q>,
    {
        cache.check_process()?;
        if let Some(kernel) = found.lock().kernels.get(key).and_then(WeakKernel::upgrade) {
            return Ok(kernel);
        }
        // Built outside the lock: the cache builds a kernel once for all threads.
        let kernel = builder().build()?;
        let mut found = found.lock();
        if found.kernels.len() >= found.most {
            found.kernels.retain(|_, kernel| kernel.is_alive());
            found.most = 64.max(2 * found.kernels.len());
        }
        found.kernels.insert(key.to_owned(), kernel.downgrade());
        Ok(kernel)
    }
}

impl LibraryKernels {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        Self { limits: CopyLimits::new(device), built: Found::new(), generated: Found::new() }
    }

    /// The kernel, which `cache` builds at the first call.
    pub(crate) fn kernel(&self, cache: &Arc<KernelCache>, which: LibraryKernel) -> Result<Kernel> {
        Found::get_or_build(&self.built, cache, &which, || {
            let (name, text) = source(which);
            cache.kernel(Source::wgsl(text).named(name))
        })
    }

    /// The kernel of this key. At the first call, `cache` builds what `builder` makes.
    pub(crate) fn generated(
        &self,
        cache: &Arc<KernelCache>,
        key: &[u32],
        builder: impl FnOnce() -> KernelBuilder,
    ) -> Result<Kernel> {
        Found::get_or_build(&self.generated, cache, key, builder)
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

vkarray_driver::debug_fields!(LibraryKernels, this => built: this.built.lock().kernels.len());
