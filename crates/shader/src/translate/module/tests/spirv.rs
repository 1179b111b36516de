//! What is written: bounds, options, capabilities, judged by Khronos's validator.

use naga::ShaderStage;
use naga::back::PipelineConstants;
use naga::back::pipeline_constants::process_overrides;
use naga::valid::{ValidationFlags, Validator};
use vkarray_spirv::internal::Validator as SpirvValidator;

use crate::translate::validate::supported;

use super::*;
use crate::{Capability, FloatAtomic, FloatAtomicOp};

#[test]
fn out_of_range_writes_are_skipped_unless_an_atomic_prevents_it() {
    let counter = "
@group(0) @binding(0) var<storage, read_write> count: atomic<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = atomicAdd(&count, 1u); }";
    let unchecked = Options { bounds: Bounds::Unchecked, ..Options::default() };
    let cases = [
        (SAXPY, Options::default(), BufferBounds::ReadZeroSkipWrite),
        (counter, Options::default(), BufferBounds::ReadZeroSkipWrite), // Its index is not computed.
        (HISTOGRAM, Options::default(), BufferBounds::Clamp),
        (SAXPY, Options { robust_buffers: true, ..Options::default() }, BufferBounds::Robust),
        (HISTOGRAM, Options { robust_buffers: true, ..Options::default() }, BufferBounds::Robust),
        (
            SAXPY,
            Options { bounds: Bounds::Clamped, robust_buffers: true, ..Options::default() },
            BufferBounds::ClampOnly,
        ),
        (SAXPY, unchecked, BufferBounds::Unchecked),
        (HISTOGRAM, unchecked, BufferBounds::Unchecked),
    ];
    for (text, options, expected) in cases {
        let translated = translate_with(text, None, &[], &options).unwrap();
        assert_eq!(translated.buffer_bounds, expected, "{}", translated.entry);
    }
}

/// Whether the SPIR-V has an instruction of that number.
fn has_op(spirv: &[u32], op: u32) -> bool {
    let mut rest = &spirv[5..];
    while let [word, ..] = rest {
        if word & 0xffff == op {
            return true;
        }
        rest = &rest[(word >> 16) as usize..];
    }
    false
}

#[test]
fn options_show_in_the_spirv() {
    const OP_NAME: u32 = 5;
    const OP_ARRAY_LENGTH: u32 = 68;
    const OP_CONSTANT_NULL: u32 = 46;
    const OP_CONTROL_BARRIER: u32 = 224;
    const OP_BITWISE_OR: u32 = 197;
    const OP_SELECT: u32 = 169;
    const OP_UDOT: u32 = 4451;
    let shared = "
var<workgroup> w: array<u32, 4>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() { out[0] = w[1]; }";
    let waits = "
@group(0) @binding(0) var<storage, read_write> out: vec4<u32>;
@compute @workgroup_size(1) fn main() { while out.x != out.y { out.z += 1u; } }";
    let divide = "
@group(0) @binding(0) var<storage, read_write> out: vec4<u32>;
@compute @workgroup_size(1) fn main() { out.x = out.y / out.z; }";
    let dot = "
@group(0) @binding(0) var<storage, read_write> out: vec4<u32>;
@compute @workgroup_size(1) fn main() { out.x = dot4U8Packed(out.y, out.z); }";
    let default = Options::default();
    // Shader, options, instruction, whether it is there.
    let cases = [
        (SAXPY, default, OP_ARRAY_LENGTH, true),
        (SAXPY, Options { bounds: Bounds::Unchecked, ..default }, OP_ARRAY_LENGTH, false),
        (SAXPY, default, OP_NAME, false),
        (SAXPY, Options { debug_info: true, ..default }, OP_NAME, true),
        (shared, default, OP_CONTROL_BARRIER, true), // One invocation zeroes, the others wait.
        (shared, default, OP_CONSTANT_NULL, true),
        (shared, Options { driver_zeroes: true, ..default }, OP_CONTROL_BARRIER, false),
        (shared, Options { driver_zeroes: true, ..default }, OP_CONSTANT_NULL, true),
        (shared, Options { assume_written: true, driver_zeroes: true, ..default }, OP_CONTROL_BARRIER, false),
        (shared, Options { assume_written: true, driver_zeroes: true, ..default }, OP_CONSTANT_NULL, false),
        (waits, default, OP_BITWISE_OR, true), // Of both halves of a counter.
        (waits, Options { loops: Loops::AssumeFinite, ..default }, OP_BITWISE_OR, false),
        (divide, default, OP_SELECT, true), // The zero divisor is replaced.
        (divide, Options { unchecked_division: true, ..default }, OP_SELECT, false),
        (dot, default, OP_UDOT, false),
        (dot, Options { integer_dot_product: true, ..default }, OP_UDOT, true),
    ];
    for (text, options, op, expected) in cases {
        let translated = translate_with(text, None, &[], &options).unwrap();
        assert_eq!(has_op(&translated.spirv, op), expected, "op {op} with {options:?}");
        assert_eq!(translated.spirv[1], 0x0001_0400, "SPIR-V 1.4");
    }
    let fast = translate_with(dot, None, &[], &Options { integer_dot_product: true, ..default }).unwrap();
    assert_eq!(fast.signature.capabilities, [Capability::IntegerDotProduct]);
}

/// What Khronos's validator says against the SPIR-V. `cargo xtask setup --tests` installs it.
pub(crate) fn spirv_val(spirv: &[u32]) -> Option<String> {
    SpirvValidator::of_environment(false).check(spirv).err().map(|error| error.to_string())
}

#[test]
fn spirv_val_accepts_every_shader() {
    for (text, entry, constants) in [
        (SAXPY, "saxpy", &[][..]),
        (CONVOLVE, "convolve", &[("GAIN", 1.0)]),
        (PARTICLES, "move_all", &[]),
        (HISTOGRAM, "histogram", &[]),
        (TWO, "one", &[]),
        (TWO, "two", &[("B", 1.0)]),
        (HALF, "main", &[]),
    ] {
        for (bounds, driver_zeroes) in [(Bounds::Checked, false), (Bounds::Unchecked, true)] {
            let options = Options { bounds, driver_zeroes, debug_info: true, ..Options::default() };
            let translated = translate_with(text, Some(entry), constants, &options).unwrap();
            assert_eq!(spirv_val(&translated.spirv), None, "{entry}");
        }
    }
}

#[test]
fn checks_are_valid_and_leave_the_signature_alone() {
    let checks = |max_shared_bytes| Some(Sanitize { max_shared_bytes, max_rounds: Sanitize::MAX_ROUNDS });
    for (text, entry, constants) in [
        (SAXPY, "saxpy", &[][..]),
        (CONVOLVE, "convolve", &[("GAIN", 1.0)]),
        (PARTICLES, "move_all", &[]),
        (HISTOGRAM, "histogram", &[]),
        (TWO, "one", &[]),
        (TWO, "two", &[("B", 1.0)]),
        (HALF, "main", &[]),
        (vkarray_shaders::sample("convolve").unwrap(), "convolve", &[]),
        (vkarray_shaders::sample("julia").unwrap(), "julia", &[]),
    ] {
        let plain = translate_with(text, Some(entry), constants, &Options::default()).unwrap();
        for sanitize in [checks(1 << 20), checks(0)] {
            let options = Options { sanitize, ..Options::default() };
            let checked = translate_with(text, Some(entry), constants, &options).unwrap();
            assert_eq!(spirv_val(&checked.spirv), None, "{entry}");
            assert_eq!(checked.signature, plain.signature, "{entry}");
            let sanitized = checked.sanitized.unwrap();
            assert!(!sanitized.sites.is_empty(), "{entry}");
            let is_taken = |param: &crate::Param| (param.group, param.binding) == (sanitized.group, sanitized.binding);
            assert!(!plain.signature.params.iter().any(is_taken), "{entry}");
        }
        assert_eq!(plain.sanitized, None, "{entry}");
    }
}

#[test]
fn without_checks_the_words_are_those_of_the_shader_itself() {
    for (text, entry) in [(SAXPY, "saxpy"), (PARTICLES, "move_all"), (HISTOGRAM, "histogram"), (TWO, "one")] {
        let options = Options { driver_zeroes: true, ..Options::default() };
        let plain = translate_with(text, Some(entry), &[], &options).unwrap();
        let module = naga::front::wgsl::parse_str(text).unwrap();
        let info = Validator::new(ValidationFlags::all(), supported()).validate(&module).unwrap();
        let stage = Some((ShaderStage::Compute, entry));
        let (module, info) = process_overrides(&module, &info, stage, &PipelineConstants::default()).unwrap();
        let (source, options) = (("test.wgsl", text), &options);
        let request = crate::translate::emit::EmitRequest {
            module: &module,
            info: &info,
            entry,
            source,
            options,
            is_robust: false,
            signature: &plain.signature,
        };
        assert_eq!(plain.spirv, crate::translate::emit::write(&request).unwrap().0, "{entry}");
    }
}

#[test]
fn capabilities_are_those_of_the_spirv() {
    use Capability as C;
    let cases: &[(&str, &[Capability])] = &[
        (
            "@group(0) @binding(0) var<storage, read_write> o: array<atomic<u64>>; var<immediate> n: u64;
          @compute @workgroup_size(1) fn main() { atomicMax(&o[0], n); }",
            &[C::Int64, C::Int64Atomics],
        ),
        (
            "@group(0) @binding(0) var<storage, read_write> o: array<atomic<f32>>;
          @compute @workgroup_size(1) fn main() { atomicAdd(&o[0], 1.0); }",
            &[C::FloatAtomic(FloatAtomic { bits: 32, op: FloatAtomicOp::Add, is_shared: false })],
        ),
        (
            "enable wgpu_int16; @group(0) @binding(0) var<storage, read_write> o: array<u16>;
          @compute @workgroup_size(1) fn main() { o[0] = u16(3); }",
            &[C::Int16, C::Storage16, C::Uniform16],
        ),
        (
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
          @compute @workgroup_size(32) fn main(@builtin(subgroup_size) n: u32) { o[0] = subgroupShuffle(n, 3u); }",
            &[C::Subgroup, C::SubgroupShuffle],
        ),
        // Without 8-bit integers, which naga can do without.
        (
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
          @compute @workgroup_size(1) fn main() { o[0] = pack4xU8(vec4(o[1])); }",
            &[],
        ),
    ];
    for (text, capabilities) in cases {
        assert_eq!(signature(*text, &[]).capabilities, *capabilities, "{text}");
    }
}

#[test]
fn cooperative_matrices_are_of_kernels_without_checks() {
    use Capability as C;
    let text = "
enable f16; enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read_write> c: array<f16>;
@compute @workgroup_size(32) fn main() {
    var tile = coopLoad<coop_mat16x16<f16, C>>(&c[0], 16u);
    coopStore(tile, &c[256], 16u);
}
@compute @workgroup_size(1) fn other() { c[0] = 1h; }";
    // Its first element is inside any array of 257, its last of 512.
    let refused = "nothing checks where the rows of a cooperative matrix lie; load it from one array of shared memory, \
                   at constant indices, or build the kernel `unchecked`";
    let held = "hold at least one cooperative matrix in a `var`, not a `let`";
    let unchecked = Options { bounds: Bounds::Unchecked, ..Options::default() };
    let robust = Options { robust_buffers: true, ..Options::default() };
    let in_let = text.replace("var tile", "let tile");
    let cases =
        [(text.to_owned(), Options::default(), refused), (text.to_owned(), robust, refused), (in_let, unchecked, held)];
    for (text, options, reason) in cases {
        let error = translate_with(text, Some("main"), &[], &options).unwrap_err();
        assert_eq!(error.to_string(), format!("kernel `main`: cannot be written as SPIR-V: {reason}"));
    }
    let capabilities = translate_with(text, Some("main"), &[], &unchecked).unwrap().signature.capabilities;
    let expected = [C::Float16, C::Storage16, C::Uniform16, C::CooperativeMatrix, C::VulkanMemoryModel];
    assert_eq!(capabilities, expected);
    assert!(translate_with(text, Some("other"), &[], &Options::default()).is_ok());
}

#[test]
fn push_constants_beyond_what_naga_counts_are_refused_with_the_numbers() {
    let text = |words: u32| {
        format!(
            "var<immediate> p: array<u32, {words}>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn first() {{ out[0] = p[{words} - 1]; }}"
        )
    };
    assert_eq!(signature(text(64), &[]).push_constants.unwrap().bytes, 256);
    for words in [65, 1 << 20] {
        let message = format!("kernel `first`: {} bytes of push constants, at most 256 are possible", 4 * words);
        assert_eq!(translate(text(words), &[]).unwrap_err().to_string(), message);
    }
}

#[test]
fn an_entry_point_is_refused_for_what_it_uses_itself() {
    let text = "
enable subgroups, f16;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var cubes: texture_cube_array<f32>;
@compute @workgroup_size(1) fn paints() { _ = textureDimensions(cubes); }
@compute @workgroup_size(1) fn counts() { out[0] = subgroupAdd(1u); }";
    assert_eq!(translate_with(text, Some("counts"), &[], &Options::default()).unwrap().signature.params.len(), 1);
    let error = translate_with(text, Some("paints"), &[], &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("test.wgsl: the shader is not valid"), "{error}");
    let unknown = translate("enable warp_speed;\n@compute @workgroup_size(1) fn main() {}", &[]).unwrap_err();
    assert!(unknown.to_string().starts_with("test.wgsl:1:8: the shader does not parse"), "{unknown}");
    assert!(unknown.to_string().contains("warp_speed"), "{unknown}");
}

#[test]
fn other_stages_are_ignored() {
    // Fragment shaders in the same text are neither counted nor translated.
    let text = "
@fragment fn shade() -> @location(0) vec4<f32> { return vec4(1.0); }
@compute @workgroup_size(2) fn main() {}";
    assert_eq!(signature(text, &[]).workgroup_size, [2, 1, 1]);
}

#[test]
fn a_panic_of_the_compiler_is_an_error() {
    for (error, expected) in [
        (contain::<()>("a.wgsl", || panic!("at {}", 7)), "a.wgsl: the shader compiler panicked: at 7"),
        (contain::<()>("a.wgsl", || panic!("plain")), "a.wgsl: the shader compiler panicked: plain"),
    ] {
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

#[test]
fn notes_go_where_they_fit() {
    let text = "var<workgroup> w: array<u32, 100>; @compute @workgroup_size(1) fn main() { w[0] = 1u; }";
    let module = Module::parse(&Source::wgsl(text)).unwrap();
    // Shared memory of the device, of the checks, in the buffer.
    for (max_shared_bytes, shared, in_buffer) in [(840, 440, 0), (839, 40, 400)] {
        let options = Options {
            sanitize: Some(Sanitize { max_shared_bytes, max_rounds: Sanitize::MAX_ROUNDS }),
            ..Options::default()
        };
        let sanitized = module.translate(None, &Default::default(), &options).unwrap().sanitized.unwrap();
        assert_eq!((sanitized.shared_bytes, sanitized.shadow_bytes_per_group), (shared, in_buffer));
    }
}
