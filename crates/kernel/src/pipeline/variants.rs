//! Variants of a kernel, built when they are first used: another length of shared memory, a launch folded over several axes,
//! another number of arrays for an array of bindings without a length.
//!
//! They change the kernel's code, so each variant is a kernel of its own in the cache. [`Variants`] finds the recent ones in
//! a short list, without a hash of the source. What a variant changes in the shader is in `translate/sizes.rs` and
//! `translate/fold.rs` of `vkarray-shader`.

use std::sync::{Arc, Weak};

use vkarray_driver::lock::{Mutex, Rank};
use vkarray_shader::internal::MAX_COUNTED;
use vkarray_shader::{Bindings, Fold};

use crate::call::args::Arg;
use crate::call::groups::{TooManyGroups, has_32_bit_ids, too_many_invocations};
use crate::error::Result;
use crate::pipeline::cache::{KernelCache, KernelKey};
use crate::pipeline::kernel::Kernel;
use crate::pipeline::weak::WeakKernel;

/// Variants in the list. The cache finds the others.
const MAX_LISTED: usize = 16;

/// What a kernel was built from, and its variants.
#[derive(Debug)]
pub(crate) struct Variants {
    /// Weak, since the cache holds the kernel.
    cache: Weak<KernelCache>,
    key: Arc<KernelKey>,
    recent: Mutex<Vec<(VariantKey, WeakKernel)>>,
}

/// How a variant differs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum VariantKey {
    /// A shared array has that many elements.
    Shared(String, u32),
    /// It runs over several axes as if over one.
    Folded(Fold),
    /// There are so many arrays in each array of bindings without a length.
    Counted([u32; MAX_COUNTED]),
}

impl Variants {
    pub(crate) fn new(cache: &Arc<KernelCache>, key: &Arc<KernelKey>) -> Self {
        let recent = Mutex::new(Rank::KernelVariants, Vec::new());
        Self { cache: Arc::downgrade(cache), key: Arc::clone(key), recent }
    }
}

impl Kernel {
    /// The kernel with that many elements in a shared array, otherwise built as this one. See
    /// [`KernelBuilder::shared`](crate::KernelBuilder::shared).
    ///
    /// Each length is built once, on this thread, which takes milliseconds; after that it is found in a short list. To spare
    /// the search, keep the kernel that is returned.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let length = ctx.kernel(Source::wgsl(
    ///     "override N: u32 = 4;
    ///      var<workgroup> tile: array<u32, N>;
    ///      @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    ///      @compute @workgroup_size(N) fn length(@builtin(local_invocation_index) i: u32) {
    ///          tile[i] = 1u;
    ///          workgroupBarrier();
    ///          if i == 0u { for (var k = 0u; k < N; k++) { out[0] += tile[k]; } }
    ///      }",
    /// ))
    /// .build()?;
    /// let out = ctx.zeros::<u32>(1)?;
    /// length.launch(Groups::exact([1, 1, 1]), (&out,))?;
    /// length.shared("tile", 32)?.launch(Groups::exact([1, 1, 1]), (&out,))?;
    /// assert_eq!(out.to_vec()?, [36]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`KernelBuilder::build`](crate::KernelBuilder::build), and
    /// [`SpirvError::SharedMemory`](crate::SpirvError::SharedMemory) with both numbers where the device has less.
    pub fn shared(&self, variable: &str, len: u32) -> Result<Self> {
        self.variant(VariantKey::Shared(variable.to_owned(), len))
    }

    /// The variant of this kernel that runs over several axes a launch that is too long for one axis. Refuses kernels that
    /// cannot run so.
    pub(crate) fn folded(&self, too_many: TooManyGroups) -> Result<Self> {
        let axes = self.pipeline.limits.max_workgroup_count;
        let n_workgroups = u32::try_from(too_many.wanted).ok().filter(|&n| n <= Fold::capacity(axes));
        let (true, Some(n_workgroups), None) = (too_many.is_along_x, n_workgroups, &self.pipeline.fold) else {
            return Err(too_many.error(""));
        };
        let size = self.signature().workgroup_size;
        if !has_32_bit_ids(n_workgroups, size[too_many.axis]) {
            return Err(too_many_invocations(too_many.axis, n_workgroups, size));
        }
        if !self.variants().key.source.is_text() {
            let advice = "; SPIR-V is taken as it is, so it is not folded: launch it over several axes";
            return Err(too_many.error(advice));
        }
        let fold = Fold { axes, n_workgroups: self.pipeline.counts_workgroups.then_some(n_workgroups) };
        self.variant(VariantKey::Folded(fold))
    }

    /// The variant of this kernel for the lists of arrays among the arguments of its buffers; `None` if it is built for them.
    pub(crate) fn counted<'a>(&self, args: impl Iterator<Item = &'a Arg<'a>>) -> Result<Option<Self>> {
        let (mut counts, mut n_counted, mut is_built) = ([0; MAX_COUNTED], 0, true);
        for (param, arg) in self.signature().params.iter().zip(args) {
            let (Bindings::Counted(built), Arg::Arrays(list)) = (param.bindings, arg) else { continue };
            let count = u32::try_from(list.iter().count()).unwrap_or(u32::MAX);
            is_built &= count == built;
            counts[n_counted] = count;
            n_counted += 1;
        }
        if is_built {
            return Ok(None);
        }
        self.variant(VariantKey::Counted(counts)).map(Some)
    }

    /// The variant that is wanted, built unless it is listed.
    fn variant(&self, wanted: VariantKey) -> Result<Self> {
        self.device().check_process()?;
        let Variants { key, recent, .. } = self.variants();
        let listed = recent.lock().iter().find(|(own, _)| *own == wanted).and_then(|(_, kernel)| kernel.upgrade());
        if let Some(kernel) = listed {
            return Ok(kernel);
        }
        let mut key = KernelKey::clone(key);
        match &wanted {
            VariantKey::Shared(variable, len) => drop(key.sizes.shared.insert(variable.clone(), *len)),
            VariantKey::Folded(fold) => key.options.fold = Some(*fold),
            VariantKey::Counted(counts) => key.options.binding_counts = *counts,
        }
        let kernel = self.cache()?.kernel_of(key)?;
        let mut recent = recent.lock();
        recent.retain(|(_, kernel)| kernel.is_alive());
        if recent.len() == MAX_LISTED {
            recent.remove(0);
        }
        recent.push((wanted, kernel.downgrade()));
        Ok(kernel)
    }

    fn variants(&self) -> &Variants {
        self.pipeline.variants.as_ref().expect("the cache, which builds all kernels, sets it")
    }

    /// The cache that it was built in, if that is still there: a kernel may outlive its context.
    pub(crate) fn own_cache(&self) -> Option<Arc<KernelCache>> {
        self.variants().cache.upgrade()
    }

    /// The cache that it was built in, or a new one.
    pub(crate) fn cache(&self) -> Result<Arc<KernelCache>> {
        self.own_cache().map_or_else(|| KernelCache::new(self.device()), Ok)
    }
}
