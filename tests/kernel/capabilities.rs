//! Optional features of devices: correct results on devices that have them, and typed errors on the others.

use std::collections::BTreeMap;

use half::f16;
use vkarray::device::{Device, Instance};
use vkarray::kernel::signature::{Module, Options};
use vkarray::kernel::{Bounds, Error as KernelError};
use vkarray::{Context, Element, Groups, Kernel, Source};
use vkarray_kernel::Capability;

use crate::fixture::{Fixture, contents};

#[test]
fn numbers_of_8_16_and_64_bits_compute_or_are_refused() {
    let fixture = Fixture::open();
    let features = fixture.info().features;
    let has_f16 = features.shader_float16 && features.storage_buffer_16bit;
    twice(&fixture, "f64", features.shader_float64, &[1.5_f64, -2e300, 1e-300], |x| x + x);
    twice(&fixture, "i64", features.shader_int64, &[1_i64, -(1 << 60), 3], |x| x + x);
    twice(&fixture, "u64", features.shader_int64, &[1_u64, 1 << 62, u64::MAX], |x| x.wrapping_add(x));
    twice(&fixture, "f16", has_f16, &[1.5, -300.0, 0.25].map(f16::from_f32), |x| x + x);
}

fn twice<T: Element + PartialEq>(fixture: &Fixture, ty: &str, has: bool, values: &[T], double: fn(T) -> T) {
    let enable = if ty == "f16" { "enable f16;" } else { "" };
    let wgsl = format!(
        "{enable}
        @group(0) @binding(0) var<storage, read_write> x: array<{ty}>;
        @compute @workgroup_size(4) fn twice(@builtin(global_invocation_id) id: vec3<u32>) {{ x[id.x] += x[id.x]; }}"
    );
    let built = fixture.kernel(Source::wgsl(wgsl)).build();
    if has {
        let array = fixture.slice_to_device(values).unwrap();
        built.unwrap().dispatch(fixture.default_stream(), Groups::covering([4]), (&array,)).unwrap();
        let expected: Vec<T> = values.iter().map(|&value| double(value)).collect();
        assert!(contents(&array) == expected, "{ty}");
        return;
    }
    let error = built.unwrap_err();
    let name = &fixture.info().name;
    assert!(matches!(error, KernelError::Capability { .. }), "{ty}: {error}");
    let (text, end) = (error.to_string(), format!(", which {name} does not have"));
    assert!(text.starts_with("kernel `twice` needs ") && text.ends_with(&end), "{ty}: {text}");
}

#[test]
fn a_workgroup_the_device_cannot_run_is_refused() {
    let fixture = Fixture::open();
    let limits = &fixture.info().limits;
    let [x, y, _] = limits.max_compute_work_group_size;
    let all = limits.max_compute_work_group_invocations;
    let refused = |size: String, declared: &str, used: &str| {
        let wgsl = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
            {declared}
            @compute @workgroup_size({size}) fn big(@builtin(local_invocation_index) i: u32) {{ {used} }}"
        );
        fixture.kernel(Source::wgsl(wgsl)).build().map_err(|error| error.to_string())
    };
    let message = format!("kernel `big`: workgroup size {} on axis y, the device allows {y}", y + 1);
    assert_eq!(refused(format!("1, {}", y + 1), "", "out[i] = 1u;").unwrap_err(), message);
    let (wide, tall) = (x.min(all), all / x.min(all) + 1);
    let message =
        format!("kernel `big`: workgroup of {wide}×{tall}×1 is {} invocations, the device allows {all}", wide * tall);
    assert_eq!(refused(format!("{wide}, {tall}"), "", "out[i] = 1u;").unwrap_err(), message);
    let shared = limits.max_compute_shared_memory_size;
    let tile = |words: u32| format!("var<workgroup> tile: array<u32, {words}>;");
    let used = "tile[i] = i; workgroupBarrier(); out[i] = tile[i + 1u];";
    refused("8".to_owned(), &tile(shared / 4), used).unwrap();
    let bytes = shared / 4 * 4 + 4;
    let message = format!("kernel `big`: {bytes} bytes of shared memory (`tile`), the device has {shared}");
    assert_eq!(refused("8".to_owned(), &tile(bytes / 4), used).unwrap_err(), message);
}

#[test]
fn more_push_constants_than_fit_are_refused() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_push_constants_size;
    let build = |words: u32| {
        let wgsl = format!(
            "var<immediate> p: array<u32, {words}>;
            @group(0) @binding(0) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size(1) fn first() {{ out[0] = p[0]; }}"
        );
        fixture.kernel(Source::wgsl(wgsl)).build()
    };
    build(limit / 4).unwrap();
    let error = build(limit / 4 + 1).unwrap_err();
    let bytes = limit / 4 * 4 + 4;
    assert_eq!(
        error.to_string(),
        format!("kernel `first`: {bytes} bytes of push constants, at most {limit} are possible")
    );
}

#[test]
fn packed_integer_dot_products_are_computed() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read> pairs: array<vec2<u32>>;
        @group(0) @binding(1) var<storage, read_write> dots: array<vec2<u32>>;
        @compute @workgroup_size(4) fn dot(@builtin(global_invocation_id) id: vec3<u32>) {
            let pair = pairs[id.x];
            dots[id.x] = vec2(bitcast<u32>(dot4I8Packed(pair.x, pair.y)), dot4U8Packed(pair.x, pair.y));
        }";
    let kernel = fixture.kernel(Source::wgsl(wgsl)).build().unwrap();
    // The kernel uses the device's own instruction if the device has one, otherwise other code.
    let uses = kernel.signature().capabilities.contains(&Capability::IntegerDotProduct);
    assert_eq!(uses, fixture.info().features.integer_dot_product);
    let pairs: Vec<u32> =
        vec![0x01_02_03_04, 0x05_06_07_08, 0xff_80_7f_01, 0x80_80_ff_02, 0, 0xffff_ffff, 0x8080_8080, 0x8080_8080];
    let (x, dots) = (fixture.slice_to_device(&pairs).unwrap(), fixture.zeros::<u32>([pairs.len()]).unwrap());
    kernel.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&x, &dots)).unwrap();
    let expected: Vec<u32> = pairs
        .chunks(2)
        .flat_map(|pair| {
            let both = || pair[0].to_le_bytes().into_iter().zip(pair[1].to_le_bytes());
            let signed: i32 = both().map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed())).sum();
            let unsigned: u32 = both().map(|(a, b)| u32::from(a) * u32::from(b)).sum();
            [signed.cast_unsigned(), unsigned]
        })
        .collect();
    assert_eq!(contents(&dots), expected);
}

/// `d = a b + c`, with matrices of 16 by 16, computed by one subgroup.
const MATRICES: &str = "
    enable f16;
    enable wgpu_cooperative_matrix;
    @group(0) @binding(0) var<storage, read> a: array<f16>;
    @group(0) @binding(1) var<storage, read> b: array<f16>;
    @group(0) @binding(2) var<storage, read> c: array<f32>;
    @group(0) @binding(3) var<storage, read_write> d: array<f32>;
    @compute @workgroup_size(32) fn multiply() {
        var sum = coopLoad<coop_mat16x16<f32, C>>(&c[0], 16u);
        let left = coopLoad<coop_mat16x16<f16, A>>(&a[0], 16u);
        let right = coopLoad<coop_mat16x16<f16, B>>(&b[0], 16u);
        sum = coopMultiplyAdd(left, right, sum);
        coopStore(sum, &d[0], 16u);
    }";

/// A context with cooperative matrices, if the device has them; without the validation layer if the layer is too old.
fn with_matrices(fixture: &Fixture) -> Option<Context> {
    if fixture.info().features.cooperative_matrix {
        return Some(Context::clone(fixture));
    }
    let instance = Instance::builder().validation(false).build().unwrap();
    let device = Device::open_selected(&instance, None).unwrap();
    device.info().features.cooperative_matrix.then(|| Context::on(&device).unwrap())
}

fn matrices(ctx: &Context, source: Source) -> Result<Kernel, KernelError> {
    let builder = ctx.kernel(source).subgroup_size(ctx.info().subgroup.size).full_subgroups(true);
    // SAFETY: each array holds the 256 elements of a matrix.
    unsafe { builder.unchecked() }.build()
}

fn assert_matrices_are_refused(fixture: &Fixture) {
    let features = fixture.info().features;
    let error = matrices(fixture, Source::wgsl(MATRICES)).unwrap_err();
    let lacks = if features.shader_float16 { "cooperative matrices" } else { "f16" };
    let message = format!("kernel `multiply` needs {lacks}, which {} does not have", fixture.info().name);
    assert_eq!(error.to_string(), message);
}

/// Multiplies matrices of numbers that are exact in `f16`, and compares the result with sums of the host.
fn assert_multiplies(ctx: &Context, kernel: &Kernel) {
    assert!(kernel.signature().capabilities.contains(&Capability::CooperativeMatrix));
    let number = |i: u32, period: u32| (f32::from(u16::try_from(i % period).unwrap()) - 3.0) * 0.5;
    let [a, b] = [7, 11].map(|period| (0..256).map(|i| f16::from_f32(number(i, period))).collect::<Vec<_>>());
    let c: Vec<f32> = (0..256).map(|i| number(i, 13)).collect();
    let (da, db) = (ctx.slice_to_device(&a).unwrap(), ctx.slice_to_device(&b).unwrap());
    let (dc, d) = (ctx.slice_to_device(&c).unwrap(), ctx.zeros::<f32>([256]).unwrap());
    kernel.dispatch(ctx.default_stream(), Groups::exact([1, 1, 1]), (&da, &db, &dc, &d)).unwrap();
    // Matrices are stored by columns. The values are quarters below 2^10: their sums are exact in any order.
    let product = |row: usize, column: usize| -> f32 {
        (0..16).map(|k| a[16 * k + row].to_f32() * b[16 * column + k].to_f32()).sum()
    };
    let expected: Vec<f32> = (0..256).map(|i| product(i % 16, i / 16) + c[i]).collect();
    assert_eq!(contents(&d), expected);
}

#[test]
fn cooperative_matrices_are_multiplied_or_refused() {
    let fixture = Fixture::open();
    let Some(ctx) = with_matrices(&fixture) else { return assert_matrices_are_refused(&fixture) };
    let module = Module::parse(&Source::wgsl(MATRICES)).unwrap();
    let options = Options { bounds: Bounds::Unchecked, ..Options::default() };
    let spirv = module.translate(None, &BTreeMap::new(), &options).unwrap().spirv;
    // The kernel is built from WGSL, and from naga's SPIR-V of it, like another compiler's.
    // SAFETY: naga wrote the module, and the arrays below are as large as the matrices.
    let of_spirv = unsafe { Source::spirv_unchecked(bytemuck::cast_slice::<u32, u8>(&spirv).to_vec()) };
    for source in [Source::wgsl(MATRICES), of_spirv] {
        assert_multiplies(&ctx, &matrices(&ctx, source).unwrap());
    }
}

/// A newer glslang than version 12 wrote the module, since that version knows no such matrices, and nor does `spirv-val` 2023.1.
#[test]
fn cooperative_matrices_are_reached_by_addresses_or_refused() {
    let fixture = Fixture::open();
    let ctx = with_matrices(&fixture);
    let bytes = include_bytes!("../shaders/matrix_address.spv");
    // SAFETY: glslang wrote the module.
    let source = unsafe { Source::spirv_unchecked(&bytes[..]) };
    let builder = ctx.as_ref().unwrap_or(&fixture).kernel(source).subgroup_size(fixture.info().subgroup.size);
    // SAFETY: `assert_multiplies` gives each address an array of the 256 elements of a matrix.
    let built = unsafe { builder.full_subgroups(true).sanitize(false).assume_addresses() }.build();
    let Some(ctx) = ctx else {
        let error = built.unwrap_err();
        assert!(matches!(error, KernelError::Capability { .. } | KernelError::Extension { .. }), "{error}");
        return;
    };
    let kernel = built.unwrap();
    assert_eq!(
        kernel.signature().params.iter().map(|param| param.writes).collect::<Vec<_>>(),
        [false, false, false, true]
    );
    assert_multiplies(&ctx, &kernel);
}
