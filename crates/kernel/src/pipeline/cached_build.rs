//! Builds a kernel from what is on disk, and stores what is not: its translation, the validator's verdict, the driver's
//! pipeline.
//!
//! A translation depends on the shader and on the shader crate, so it serves every device. A pipeline depends on the SPIR-V, the
//! device and its driver. Each has a file of its own: with one file for all, the last process to end would overwrite what
//! the others stored. SPIR-V of other compilers is not translated, so only its pipeline is stored, and that the validator
//! passed it. `disk_cache` reads and writes the files.

use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ash::vk;
use vkarray_driver::Owned;
use vkarray_shader::internal::{TRANSLATOR, Validator};
use vkarray_shader::{Bounds, Limits, Module, SpirvError, Translated};

use crate::disk_cache::{EntryKind, Hash, Unusable};
use crate::error::{Error, Result};
use crate::pipeline::cache::{KernelCache, KernelKey, driver_cache};
use crate::pipeline::kernel::{Kernel, Pipeline, check_device};
use crate::pipeline::limit::LastUse;
use crate::pipeline::variants::Variants;

/// Bytes of the header that Vulkan prescribes for a driver's cache: its length, version, vendor, device, and the UUID of
/// what can read it.
const DRIVER_HEADER: usize = 32;

/// The source and the entry point, for the list of files.
fn name_of(translated: &Translated) -> String {
    format!("{}: {}", translated.source_name, translated.entry)
}

/// The most verdicts that are remembered, of 32 bytes each.
const MAX_VERDICTS: usize = 1 << 14;

/// The content of the file of a module that the validator passed.
const PASSED: &[u8] = b"passed";

/// The header of the driver's pipeline caches, read from any of the device.
pub(crate) fn driver_header(cache: &Owned<vk::PipelineCache>) -> Result<Vec<u8>> {
    let mut header = contents(cache)?;
    header.truncate(DRIVER_HEADER);
    Ok(header)
}

impl KernelCache {
    /// Builds the kernel of a key.
    pub(super) fn build(self: &Arc<Self>, key: &Arc<KernelKey>) -> Result<Kernel> {
        let translated = self.translation(key)?;
        let limits = check_device(self.device(), &translated)?;
        translated.signature.warnings().iter().for_each(|warning| log::warn!("{warning}"));
        if key.source.is_to_be_validated() {
            self.validate(key.options.bounds, &translated)?;
        }
        self.n_built.fetch_add(1, Ordering::Relaxed);
        let last_use = LastUse::new(&self.n_built, 4 * translated.spirv.len());
        let mut pipeline = self.pipeline(translated, limits, last_use)?;
        pipeline.variants = Some(Variants::new(self, key));
        Ok(Kernel { pipeline: Arc::new(pipeline) })
    }

    fn translation(&self, key: &KernelKey) -> Result<Translated> {
        let hash = TRANSLATOR.filter(|_| !self.disk.is_off() && key.source.is_text());
        let hash = hash.map(|translator| hash_of(|hasher| (translator, key).hash(hasher)));
        let read = |bytes: &[u8]| postcard::from_bytes(bytes).map_err(|_| Unusable::Foreign);
        if let Some(stored) = hash.and_then(|hash| self.disk.load(EntryKind::Translations, &hash, read)) {
            return Ok(stored);
        }
        let constants: BTreeMap<_, _> =
            key.constants.iter().map(|(name, bits)| (name.clone(), f64::from_bits(*bits))).collect();
        let (module, entry) = (Module::parse(&key.source)?, key.entry.as_deref());
        let translated = module.translate(entry, &module.constants_for(entry, &key.sizes, constants)?, &key.options)?;
        if let Some(hash) = hash {
            let content = postcard::to_stdvec(&translated).expect("plain data whose lengths are known");
            self.disk.store(EntryKind::Translations, &hash, &name_of(&translated), &content);
        }
        Ok(translated)
    }

    /// Refuses SPIR-V of other compilers that the validator or the device does not make safe. Each module is validated once.
    fn validate(&self, bounds: Bounds, translated: &Translated) -> Result<()> {
        let (source_name, features) = (|| translated.source_name.clone(), &self.device().plan().features);
        if bounds == Bounds::Checked && !features.robust_buffer_access {
            let device = self.device().info().name.clone();
            return Err(Error::NotRobust { source_name: source_name(), device });
        }
        let validator = Validator::of_environment(features.scalar_block_layout);
        let hash = hash_of(|hasher| (env!("CARGO_PKG_VERSION"), &validator, &translated.spirv).hash(hasher));
        if self.validated.lock().contains(&hash) {
            return Ok(());
        }
        let read = |content: &[u8]| if content == PASSED { Ok(()) } else { Err(Unusable::Foreign) };
        if self.disk.load(EntryKind::Validations, &hash, read).is_none() {
            validator.check(&translated.spirv).map_err(|problem| {
                let problem = Box::new(problem);
                SpirvError::Validator { source_name: source_name(), problem }
            })?;
            self.disk.store(EntryKind::Validations, &hash, &source_name(), PASSED);
        }
        let mut validated = self.validated.lock();
        if validated.len() == MAX_VERDICTS {
            validated.clear();
        }
        validated.insert(hash);
        Ok(())
    }

    fn pipeline(&self, translated: Translated, limits: Limits, last_use: LastUse) -> Result<Pipeline> {
        let Some(header) = &self.driver_header else {
            return Pipeline::new(self.device(), self.driver_cache().raw(), translated, limits, last_use);
        };
        let hash = self.pipeline_hash(header, &translated);
        let own =
            |content: &[u8]| if content.starts_with(header) { Ok(content.to_vec()) } else { Err(Unusable::Foreign) };
        let stored = self.disk.load(EntryKind::Pipelines, &hash, own);
        // SAFETY: the content was written by this function, from a cache of the driver's: the file is whole by its
        // checksum, begins with this driver's header, and comes from a folder that only this user and root can change
        // (`disk_cache/trust.rs`). On systems other than Unix the folder is not checked: its permissions are the user's duty.
        let cache = unsafe { driver_cache(self.device(), stored.as_deref().unwrap_or_default()) }?;
        let name = name_of(&translated);
        let pipeline = Pipeline::new(self.device(), cache.raw(), translated, limits, last_use)?;
        // A failure to store is no failure to build, and a lost device is reported by its next use. Some drivers return an
        // empty cache.
        if stored.is_none()
            && let Ok(content) = contents(&cache)
            && content.len() > DRIVER_HEADER
        {
            self.disk.store(EntryKind::Pipelines, &hash, &name, &content);
        }
        Ok(pipeline)
    }

    fn pipeline_hash(&self, header: &[u8], translated: &Translated) -> Hash {
        let (info, plan) = (self.device().info(), self.device().plan());
        let device = (&info.uuid, &info.driver.uuid, info.driver.id, info.driver.version, &info.driver.info);
        // The enabled features change what the driver compiles.
        let plan = format!("{plan:?}");
        let constants: Vec<String> = translated.specialization.iter().map(|value| format!("{value:?}")).collect();
        let form = (constants, translated.signature.subgroups, translated.fold, translated.buffer_bounds);
        let code = (env!("CARGO_PKG_VERSION"), &translated.spirv, &translated.entry, form);
        hash_of(|hasher| (header, device, plan, code).hash(hasher))
    }
}

/// The content of a driver's cache.
fn contents(cache: &Owned<vk::PipelineCache>) -> Result<Vec<u8>> {
    let device = cache.device();
    // SAFETY: the cache is alive, and of this device.
    let contents = unsafe { device.raw().get_pipeline_cache_data(cache.raw()) };
    Ok(contents.map_err(device.failed("vkGetPipelineCacheData"))?)
}

fn hash_of(feed: impl FnOnce(&mut Blake)) -> Hash {
    let mut hasher = Blake(blake3::Hasher::new());
    feed(&mut hasher);
    *hasher.0.finalize().as_bytes()
}

/// Hashes what `derive(Hash)` writes, which separates every field from its neighbours.
struct Blake(blake3::Hasher);

impl Hasher for Blake {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the whole hash is taken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Source};
    use vkarray_shader::internal::Sizes;

    const WGSL: &str = "
        override INFINITE: f32 = 0x1p127;
        override WHOLE: i32 = -1;
        @group(0) @binding(0) var<storage, read_write> x: array<vec3<f32>>;
        var<workgroup> tile: array<f32, 8>;
        var<immediate> n: u32;
        @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            tile[id.x % 8u] = INFINITE * f32(WHOLE + i32(n));
            x[id.x].y = tile[7u - id.x % 8u];
        }";

    fn key(text: &'static str, constants: &[(&str, f64)]) -> KernelKey {
        let constants = constants.iter().map(|&(name, value)| (name.to_owned(), value.to_bits())).collect();
        KernelKey {
            source: Source::wgsl(text),
            entry: None,
            constants,
            sizes: Sizes::default(),
            options: Options::default(),
        }
    }

    fn translate(key: &KernelKey) -> Translated {
        Module::parse(&key.source).unwrap().translate(None, &BTreeMap::new(), &key.options).unwrap()
    }

    #[test]
    fn a_translation_survives_the_disk_format() {
        let translated = translate(&key(WGSL, &[]));
        let bytes = postcard::to_stdvec(&translated).unwrap();
        assert_eq!(postcard::from_bytes::<Translated>(&bytes).unwrap(), translated);
    }

    #[test]
    fn every_part_of_a_key_changes_its_hash() {
        let written = Options { assume_written: true, ..Options::default() };
        let keys = [
            key("a", &[]),
            key("b", &[]),
            key("a", &[("N", 1.0)]),
            key("a", &[("N", 2.0)]),
            key("a", &[("M", 1.0)]),
            key("a", &[("N", 0.0)]),
            key("a", &[("N", -0.0)]),
            key("a", &[("N", 1.0), ("M", 1.0)]),
            KernelKey { entry: Some(String::new()), ..key("a", &[]) },
            KernelKey { options: written, ..key("a", &[]) },
            KernelKey { sizes: Sizes { shared: [("a".to_owned(), 1)].into(), workgroup: None }, ..key("a", &[]) },
            KernelKey { sizes: Sizes { shared: BTreeMap::new(), workgroup: Some([1; 3]) }, ..key("a", &[]) },
            KernelKey { source: Source::glsl("a"), ..key("a", &[]) },
            KernelKey { source: Source::wgsl("a").named("b"), ..key("a", &[]) }, // Shown in errors, and to debuggers.
        ];
        let hashes: std::collections::HashSet<Hash> =
            keys.iter().map(|key| hash_of(|hasher| key.hash(hasher))).collect();
        assert_eq!(hashes.len(), keys.len());
        assert!(hashes.contains(&hash_of(|hasher| key("a", &[]).hash(hasher))), "equal keys have equal hashes");
    }

    #[test]
    fn this_build_has_a_translator_hash() {
        assert!(TRANSLATOR.is_some());
    }
}
