//! A kernel once more, in another form: what it was built from, and those of its kind that were built before ([`Recipe`]).
//!
//! A length of shared memory is part of a kernel's code, so each length is a kernel of its own, built when it is first
//! asked for. A program that dispatches with a few lengths in turn finds them again by a look through a short list.

use std::sync::{Arc, Weak};

use vkarray_driver::lock::{Mutex, Rank};

use crate::call::groups::{TooMany, is_numbered, unnumbered};
use crate::error::{Error, Result};
use crate::pipeline::cache::{KernelCache, KernelKey};
use crate::pipeline::kernel::{Kernel, Pipeline};
use crate::requirements::AXES;
use crate::shader::Fold;

/// More lengths than a program goes round in. The cache knows the others.
const MAX_REMEMBERED: usize = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// The cache holds the kernel that holds this.
    cache: Weak<KernelCache>,
    key: Arc<KernelKey>,
    /// Weak, since kernels may be each other's.
    others: Mutex<Vec<Other>>,
}

#[derive(Debug)]
struct Other {
    form: VariantKey,
    pipeline: Weak<Pipeline>,
}

/// How it differs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum VariantKey {
    /// In the length of a shared array.
    Shared(String, u32),
    /// It runs over several axes, and sees one of so many workgroups; of how many, if it asks for that.
    Folded(Option<u32>),
}

impl Recipe {
    pub(crate) fn new(cache: &Arc<KernelCache>, key: &Arc<KernelKey>) -> Self {
        Self {
            cache: Arc::downgrade(cache),
            key: Arc::clone(key),
            others: Mutex::new(Rank::KernelVariants, Vec::new()),
        }
    }

    fn known(&self, is_wanted: impl Fn(&VariantKey) -> bool) -> Option<Kernel> {
        let others = self.others.lock();
        let found = others.iter().find(|other| is_wanted(&other.form))?;
        Some(Kernel { pipeline: found.pipeline.upgrade()? })
    }

    fn remember(&self, form: VariantKey, kernel: &Kernel) {
        // Nothing runs under the lock that could leave the list in parts.
        let mut others = self.others.lock();
        others.retain(|other| other.pipeline.strong_count() > 0);
        if others.len() == MAX_REMEMBERED {
            others.remove(0);
        }
        others.push(Other { form, pipeline: Arc::downgrade(&kernel.pipeline) });
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
        self.device().check_process()?;
        let is_wanted =
            |form: &VariantKey| matches!(form, VariantKey::Shared(name, n) if *n == len && name == variable);
        if let Some(kernel) = self.recipe().known(is_wanted) {
            return Ok(kernel);
        }
        self.in_form(VariantKey::Shared(variable.to_owned(), len), |key| {
            key.sizes.shared.insert(variable.to_owned(), len);
        })
    }

    /// The kernel that runs this one's launch over several axes, where it is too long for one. Refuses what cannot be.
    pub(crate) fn folded(&self, too_many: TooMany) -> Result<Self> {
        let refused = |advice| {
            let TooMany { axis, wanted, limit, .. } = too_many;
            Err(Error::GroupCount { axis: AXES[axis], wanted, limit, advice })
        };
        let axes = self.pipeline.limits.max_workgroup_count;
        let n_workgroups = u32::try_from(too_many.wanted).ok().filter(|&n| n <= Fold::capacity(axes));
        let (true, Some(n_workgroups), None) = (too_many.is_along_x, n_workgroups, &self.pipeline.fold) else {
            return refused("");
        };
        let size = self.signature().workgroup_size;
        if !is_numbered(n_workgroups, size[too_many.axis]) {
            return Err(unnumbered(too_many.axis, n_workgroups, size));
        }
        if !self.recipe().key.source.is_text() {
            return refused("; SPIR-V is taken as it is, so it is not folded: launch it over several axes");
        }
        let fold = Fold { axes, n_workgroups: self.pipeline.counts_workgroups.then_some(n_workgroups) };
        self.device().check_process()?;
        let form = VariantKey::Folded(fold.n_workgroups);
        if let Some(kernel) = self.recipe().known(|known| *known == form) {
            return Ok(kernel);
        }
        self.in_form(form, |key| key.options.fold = Some(fold))
    }

    /// Builds the kernel in another form.
    fn in_form(&self, form: VariantKey, change: impl FnOnce(&mut KernelKey)) -> Result<Self> {
        let mut key = KernelKey::clone(&self.recipe().key);
        change(&mut key);
        let kernel = self.cache()?.kernel_of(key)?;
        self.recipe().remember(form, &kernel);
        Ok(kernel)
    }

    fn recipe(&self) -> &Recipe {
        self.pipeline.recipe.as_ref().expect("the cache, which builds all kernels, gives each its recipe")
    }

    /// The cache it was built in, or a new one: a kernel may outlive the context it was built in.
    pub(crate) fn cache(&self) -> Result<Arc<KernelCache>> {
        self.recipe().cache.upgrade().map_or_else(|| KernelCache::new(self.device()), Ok)
    }
}
