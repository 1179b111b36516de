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

impl LibraryKernel {
    /// How `cache` builds the kernel.
    pub(crate) fn builder(self, cache: &Arc<KernelCache>) -> KernelBuilder {
        let (name, text) = match self {
            Self::Copy(CopyKernel::Strided { unit, group, lanes }) => {
                ("copy_strided.wgsl", library::copy_strided(unit, group, lanes))
            }
            Self::Copy(CopyKernel::Tile { unit, group, tile }) => {
                ("copy_tile.wgsl", library::copy_tile(unit, group, tile))
            }
            Self::Copy(CopyKernel::Quads { group }) => ("copy_tile_quads.wgsl", library::copy_tile_quads(group)),
            Self::Copy(CopyKernel::Channels(channels)) => ("channels.wgsl", channels.text()),
            Self::Cast(cast) => ("cast.wgsl", cast.source()),
            Self::Run(unit) => ("copy_run.wgsl", library::copy_run(unit)),
        };
        cache.kernel(Source::wgsl(text).named(name))
    }
}

/// The kernels that are built on one device, and the device's limits.
pub(crate) struct LibraryKernels {
    pub(crate) limits: CopyLimits,
    pub(crate) built: KernelTable<LibraryKernel>,
    /// Kernels of expressions and functions, by the keys that their folders define.
    pub(crate) generated: KernelTable<Vec<u32>>,
}

impl LibraryKernels {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        Self { limits: CopyLimits::new(device), built: KernelTable::new(), generated: KernelTable::new() }
    }
}

/// Kernels by key, and the number of entries at which the keys of dropped kernels are removed.
pub(crate) struct KernelTable<K>(Mutex<(FxHashMap<K, WeakKernel>, usize)>);

impl<K: Hash + Eq> KernelTable<K> {
    fn new() -> Self {
        Self(Mutex::new(Rank::CopyKernels, (FxHashMap::default(), 64)))
    }

    /// The kernel of this key. At the first call, `cache` builds what `builder` makes.
    pub(crate) fn get_or_build<Q: ToOwned<Owned = K> + Hash + Eq + ?Sized>(
        &self,
        cache: &KernelCache,
        key: &Q,
        builder: impl FnOnce() -> KernelBuilder,
    ) -> Result<Kernel>
    where
        K: Borrow<Q>,
    {
        cache.check_process()?;
        if let Some(kernel) = self.0.lock().0.get(key).and_then(WeakKernel::upgrade) {
            return Ok(kernel);
        }
        // Built outside the lock: the cache builds a kernel once for all threads.
        let kernel = builder().build()?;
        let (kernels, most) = &mut *self.0.lock();
        if kernels.len() >= *most {
            kernels.retain(|_, kernel| kernel.is_alive());
            *most = 64.max(2 * kernels.len());
        }
        kernels.insert(key.to_owned(), kernel.downgrade());
        Ok(kernel)
    }
}

vkarray_driver::debug_fields!(LibraryKernels, this => built: this.built.0.lock().0.len());
