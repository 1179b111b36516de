//! A kernel with other sizes: what it was built from, and those of its kind that were built before ([`Recipe`]).
//!
//! A length of shared memory is part of a kernel's code, so each length is a kernel of its own, built when it is first
//! asked for. A program that dispatches with a few lengths in turn finds them again by a look through a short list.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::cache::{KernelCache, Key};
use crate::error::Result;
use crate::kernel::{Kernel, Pipeline};

/// More lengths than a program goes round in. The cache knows the others.
const MAX_REMEMBERED: usize = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// The cache holds the kernel that holds this.
    cache: Weak<KernelCache>,
    key: Arc<Key>,
    /// Weak, since kernels may be each other's.
    others: Mutex<Vec<Other>>,
}

#[derive(Debug)]
struct Other {
    variable: String,
    len: u32,
    pipeline: Weak<Pipeline>,
}

impl Recipe {
    pub(crate) fn new(cache: &Arc<KernelCache>, key: &Arc<Key>) -> Self {
        Self { cache: Arc::downgrade(cache), key: Arc::clone(key), others: Mutex::default() }
    }

    fn known(&self, variable: &str, len: u32) -> Option<Kernel> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let found = others.iter().find(|other| other.len == len && other.variable == variable)?;
        Some(Kernel { pipeline: found.pipeline.upgrade()? })
    }

    fn remember(&self, variable: &str, len: u32, kernel: &Kernel) {
        // Nothing runs under the lock that could leave the list in parts.
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.retain(|other| other.pipeline.strong_count() > 0);
        if others.len() == MAX_REMEMBERED {
            others.remove(0);
        }
        others.push(Other { variable: variable.to_owned(), len, pipeline: Arc::downgrade(&kernel.pipeline) });
    }
}

impl Kernel {
    /// The kernel with that many elements in a shared array, for dispatches that need another length:
    /// `kernel.shared("tile", 256)?.dispatch(…)`. Each length is built once, on this thread, which takes milliseconds; after
    /// that it is found in a short list. Hold the kernel where even that counts: a dispatch of it costs what any costs.
    ///
    /// All else is as in [`KernelBuilder::shared`](crate::KernelBuilder::shared), and as this kernel was built.
    ///
    /// # Errors
    ///
    /// Those of [`KernelBuilder::build`](crate::KernelBuilder::build); [`Error::SharedMemory`](crate::Error::SharedMemory)
    /// with both numbers where the device has less.
    pub fn shared(&self, variable: &str, len: u32) -> Result<Self> {
        let recipe = self.pipeline.recipe.as_ref().expect("the cache, which builds all kernels, gives each its recipe");
        if let Some(kernel) = recipe.known(variable, len) {
            return Ok(kernel);
        }
        let mut key = Key::clone(&recipe.key);
        key.sizes.shared.insert(variable.to_owned(), len);
        // A kernel may outlive the context it was built in.
        let cache = recipe.cache.upgrade().map_or_else(|| KernelCache::new(self.device()), Ok)?;
        let kernel = cache.kernel_of(key)?;
        recipe.remember(variable, len, &kernel);
        Ok(kernel)
    }
}
