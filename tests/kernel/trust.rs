//! Damaged or hostile SPIR-V: no safe call with such a module changes memory that the call was not given, and only
//! validated modules reach the driver.

use std::collections::BTreeMap;

use vkarray::kernel::signature::{Module, Options};
use vkarray::kernel::{CacheSettings, Error as KernelError, ShaderError, SpirvError};
use vkarray::memory::Allocator;
use vkarray::{Context, Groups, Kernel, Source};
use vkarray_kernel::{Bounds, Unvalidated};

use crate::fixture::{Fixture, contents};

fn compiled(name: &str) -> Vec<u32> {
    let path = format!("{}/shaders/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Where the first instruction with an opcode begins.
fn position(words: &[u32], opcode: u32) -> usize {
    let mut at = 5;
    while words[at] & 0xffff != opcode {
        at += (words[at] >> 16) as usize;
    }
    at
}

/// A module with one more extension, which stands before the instruction set imports.
fn with_extension(name: &str) -> Vec<u32> {
    const EXTENSION: u32 = 10;
    const EXT_INST_IMPORT: u32 = 11;
    let mut words = compiled("saxpy.spv");
    let mut text = name.as_bytes().to_vec();
    text.resize(name.len() / 4 * 4 + 4, 0);
    let text = text.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    let first = (u32::try_from(text.len()).unwrap() + 1) << 16 | EXTENSION;
    let instruction: Vec<u32> = std::iter::once(first).chain(text).collect();
    let at = position(&words, EXT_INST_IMPORT);
    words.splice(at..at, instruction);
    words
}

/// SPIR-V without a check of any index, which safe code can make.
fn unchecked(wgsl: &str) -> Vec<u32> {
    let options = Options { bounds: Bounds::Unchecked, ..Options::default() };
    Module::parse(&Source::wgsl(wgsl.to_owned())).unwrap().translate(None, &BTreeMap::new(), &options).unwrap().spirv
}

const FAR: [u32; 8] = [0, 3, 4, 5, 1000, 1 << 20, 1 << 29, u32::MAX];

#[test]
fn removed_bounds_checks_of_shared_memory_are_restored() {
    let fixture = Fixture::open();
    let words = unchecked(
        "@group(0) @binding(0) var<storage, read> at: array<u32>;
         @group(0) @binding(1) var<storage, read_write> out: array<u32>;
         var<workgroup> tile: array<u32, 4>;
         @compute @workgroup_size(1) fn poke(@builtin(workgroup_id) id: vec3<u32>) {
             for (var i = 0u; i < 4u; i++) { tile[i] = 10u + i; }
             tile[at[id.x]] = 7u;
             for (var i = 0u; i < 4u; i++) { out[id.x * 4u + i] = tile[i]; }
         }",
    );
    let poke = fixture.kernel(Source::spirv_words(&words)).build().unwrap();
    let (at, out) = (fixture.slice_to_device(&FAR).unwrap(), fixture.zeros::<u32>([32]).unwrap());
    poke.dispatch(fixture.default_stream(), Groups::exact([8, 1, 1]), (&at, &out)).unwrap();
    let expected = FAR.iter().flat_map(|&at| {
        let mut tile = [10, 11, 12, 13];
        tile[at.min(3) as usize] = 7;
        tile
    });
    assert_eq!(contents(&out), expected.collect::<Vec<u32>>());
}

#[test]
fn removed_bounds_checks_of_private_memory_are_restored() {
    let fixture = Fixture::open();
    let words = unchecked(
        "@group(0) @binding(0) var<storage, read> at: array<u32>;
         @group(0) @binding(1) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(1) fn poke(@builtin(workgroup_id) id: vec3<u32>) {
             var own = array<u32, 5>(20u, 21u, 22u, 23u, 24u);
             own[at[id.x]] += 100u;
             out[id.x] = own[4] + own[at[id.x]];
         }",
    );
    let poke = fixture.kernel(Source::spirv_words(&words)).build().unwrap();
    let (at, out) = (fixture.slice_to_device(&FAR).unwrap(), fixture.zeros::<u32>([8]).unwrap());
    poke.dispatch(fixture.default_stream(), Groups::exact([8, 1, 1]), (&at, &out)).unwrap();
    let expected = FAR.iter().map(|&at| {
        let mut own = [20, 21, 22, 23, 24];
        let at = at.min(4) as usize;
        own[at] += 100;
        own[4] + own[at]
    });
    assert_eq!(contents(&out), expected.collect::<Vec<u32>>());
}

/// Runs on a device that bounds buffers to the byte, and on a device that only keeps accesses in the memory that arrays
/// share.
#[test]
fn a_module_without_bounds_checks_reaches_no_other_array() {
    let fixture = Fixture::open();
    let words = unchecked(
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @group(0) @binding(1) var<storage, read> at: array<u32>;
         @compute @workgroup_size(1) fn poke(@builtin(workgroup_id) id: vec3<u32>) { x[at[id.x]] = 1u; }",
    );
    let poke = fixture.kernel(Source::spirv_words(&words)).build().unwrap();
    let arrays: Vec<_> = (0..9).map(|_| fixture.full([64], 7_u32).unwrap()).collect();
    // The indices name every element of the neighbours on both sides in a chunk of memory.
    let places: Vec<u32> = (64..1024).chain((1 << 30) - 512..1 << 30).collect();
    let at = fixture.slice_to_device(&places).unwrap();
    let groups = Groups::exact([u32::try_from(places.len()).unwrap(), 1, 1]);
    poke.dispatch(fixture.default_stream(), groups, (&arrays[4], &at)).unwrap();
    for (i, array) in arrays.iter().enumerate().filter(|(i, _)| *i != 4) {
        assert_eq!(contents(array), [7; 64], "array {i}");
    }
    assert_eq!(contents(&arrays[4])[..63], [7; 63]);
}

#[test]
fn an_invalid_module_is_not_passed_to_the_driver() {
    const F_MUL: u32 = 133;
    const I_MUL: u32 = 132;
    let fixture = Fixture::open();
    let mut words = compiled("saxpy.spv");
    let at = position(&words, F_MUL);
    words[at] = words[at] & 0xffff_0000 | I_MUL;
    let error = fixture.kernel(Source::spirv_words(&words).named("wrong.spv")).build().unwrap_err();
    assert!(error.to_string().starts_with("wrong.spv: it is not valid SPIR-V for Vulkan 1.3: "), "{error}");
    let KernelError::Shader(ShaderError::Spirv(SpirvError::Validator { problem, .. })) = error else {
        panic!("{error}")
    };
    assert!(matches!(*problem, Unvalidated::Invalid { .. }), "{problem}");
    assert_eq!(fixture.kernel_cache().len(), 0);
}

#[test]
fn an_extension_that_the_device_lacks_is_named() {
    let fixture = Fixture::open();
    let name = "SPV_AMD_shader_trinary_minmax";
    let words = with_extension(name);
    let error = fixture.kernel(Source::spirv_words(&words)).build().unwrap_err();
    assert!(matches!(&error, KernelError::Extension { extension, .. } if extension == name), "{error}");
    // SAFETY: the module is refused.
    let source = unsafe { Source::spirv_unchecked(bytemuck::cast_slice::<u32, u8>(&words).to_vec()) };
    let error = fixture.kernel(source).build().unwrap_err();
    assert!(matches!(&error, KernelError::Extension { extension, .. } if extension == name), "{error}");
    fixture.kernel(Source::spirv_words(&with_extension("SPV_KHR_storage_buffer_storage_class"))).build().unwrap();
}

#[test]
fn a_module_is_validated_once_and_the_disk_cache_stores_that() {
    let fixture = Fixture::open();
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let settings = CacheSettings::at(folder.path());
        Context::with_kernel_cache(&Allocator::new(fixture.device()).unwrap(), settings).unwrap()
    };
    let build = |ctx: &Context, name: &str| -> Kernel {
        ctx.kernel(Source::spirv_words(&compiled("saxpy.spv")).named(name.to_owned())).build().unwrap()
    };
    let first = open();
    build(&first, "one");
    build(&first, "two"); // Another kernel of the same words.
    let counts = first.kernel_cache().counters().validations;
    assert_eq!((counts.misses, counts.written, counts.hits), (1, 1, 0), "{counts:?}");
    let second = open();
    build(&second, "one");
    let counts = second.kernel_cache().counters().validations;
    assert_eq!((counts.misses, counts.written, counts.hits), (0, 0, 1), "{counts:?}");
}

#[test]
fn unchecked_modules_need_no_validator() {
    let fixture = Fixture::open();
    let bytes = bytemuck::cast_slice::<u32, u8>(&compiled("saxpy.spv")).to_vec();
    // SAFETY: glslang compiled the module, and it compares its index with the length of the array.
    let source = unsafe { Source::spirv_unchecked(bytes) };
    let saxpy = fixture.kernel(source).build().unwrap();
    let x = fixture.slice_to_device(&[1.0_f32, 2.0, 3.0]).unwrap();
    let y = fixture.slice_to_device(&[10.0_f32, 20.0, 30.0]).unwrap();
    saxpy.dispatch(fixture.default_stream(), Groups::covering([3]), (&x, &y, 2.0_f32)).unwrap();
    assert_eq!(contents(&y), [12.0, 24.0, 36.0]);
}
