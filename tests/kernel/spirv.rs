//! SPIR-V that glslang compiled from `tests/shaders/*.comp`: its results, with specialisation constants set.

use half::f16;
use vkarray::kernel::{AsArg, Error as KernelError};
use vkarray::{Context, Element, Groups, Kernel, Source};
use vkarray_kernel::{Capability, FloatAtomic, FloatAtomicOp};

use crate::fixture::{Fixture, contents, skipped};

/// A shader of `tests/shaders`.
pub(super) fn source(file: &str) -> Source {
    let path = format!("{}/shaders/{file}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let source = match file.rsplit_once('.') {
        Some((_, "comp")) => Source::glsl(String::from_utf8(bytes).unwrap()),
        _ => Source::spirv(bytes),
    };
    source.named(file.to_owned())
}

fn kernel(ctx: &Context, file: &str) -> Kernel {
    ctx.kernel(source(file)).build().unwrap_or_else(|error| panic!("{error}"))
}

fn values<T>(n: usize, value: impl Fn(usize) -> T) -> Vec<T> {
    (0..n).map(value).collect()
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn float(i: usize) -> f32 {
    i as f32
}

#[test]
fn saxpy_is_correct_in_every_version_of_spirv() {
    let fixture = Fixture::open();
    for file in ["saxpy.spv", "saxpy_vulkan10.spv", "saxpy.comp"] {
        let saxpy = kernel(&fixture, file);
        let names: Vec<_> = saxpy.signature().arguments().map(|argument| argument.name().to_owned()).collect();
        assert_eq!(names, ["x", "y", "a"], "{file}");
        for n in [1, 63, 64, 65, 997] {
            let x = fixture.slice_to_device(&values(n, float)).unwrap();
            let y = fixture.slice_to_device(&values(n, |i| float(i * 3))).unwrap();
            let groups = Groups::covering(n);
            saxpy.dispatch(fixture.default_stream(), groups, (&x, &y, 2.0_f32)).unwrap();
            assert_eq!(contents(&y), values(n, |i| float(i * 5)), "{file}, {n}");
        }
    }
}

#[test]
fn block_layouts_of_the_compiler_are_kept() {
    let fixture = Fixture::open();
    if !fixture.info().features.scalar_block_layout {
        return skipped("block_layouts_of_the_compiler_are_kept", "scalar layout");
    }
    // Word `i` of each block holds `base + i`, so that a value shows the offset from which it was read.
    let words = |base: usize, n: usize| values(n, |i| (base + i).to_string().parse::<f32>().unwrap());
    let block = |base, n| fixture.slice_to_device(&words(base, n)).unwrap();
    let (std140, std430, scalar) = (block(0, 28), block(1000, 20), block(2000, 13 + 6));
    let out = fixture.zeros::<f32>([64]).unwrap();
    let layouts = kernel(&fixture, "layouts.spv");
    let groups = Groups::exact([1, 1, 1]);
    layouts.dispatch(fixture.default_stream(), groups, (&std140, &std430, &scalar, &out)).unwrap();
    // The offsets are in the order of declaration; `r` is row-major, so its columns are read across its rows.
    let std140 = [0, 4, 8, 9, 12, 13, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];
    let std430 = [0, 1, 2, 3, 4, 5, 8, 12, 9, 13, 10, 14, 16, 17, 18, 19];
    let expected = std140.into_iter().chain(std430.map(|word| 1000 + word)).chain((0..19).map(|word| 2000 + word));
    let found = contents(&out);
    let expected: Vec<f32> = expected.map(float).collect();
    assert_eq!(found[..expected.len()], expected);
}

#[test]
fn constants_are_specialised() {
    let fixture = Fixture::open();
    for file in ["reverse.spv", "reverse_vulkan13.spv"] {
        // LANES, DEPTH, FACTOR, NEGATE, SHIFT; one kernel after another of the same words.
        let cases = [(8, 1, 2.0, true, 3), (16, 3, 0.5, false, -7), (1, 5, 1.0, true, 0), (16, 3, 0.5, true, -7)];
        for (lanes, depth, factor, negate, shift) in cases {
            let builder = fixture.kernel(source(file)).constant("0", lanes).constant("DEPTH", depth);
            let builder = builder.constant("FACTOR", factor).constant("3", i32::from(negate)).constant("SHIFT", shift);
            let reverse = builder.build().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(reverse.signature().workgroup_size, [lanes, 1, 1]);
            assert_eq!(reverse.signature().shared_bytes, u64::from(4 * lanes * depth));
            let n = (lanes * depth) as usize;
            let data = fixture.slice_to_device(&values(2 * n, float)).unwrap();
            reverse.dispatch(fixture.default_stream(), Groups::exact([2, 1, 1]), (&data,)).unwrap();
            let expected = values(2 * n, |i| {
                let value = f64::from(float(i / n * n + n - 1 - i % n)) * factor + f64::from(shift);
                format!("{}", if negate { -value } else { value }).parse::<f32>().unwrap()
            });
            assert_eq!(contents(&data), expected, "{file}, {lanes} lanes");
        }
    }
    assert_eq!(fixture.kernel(source("reverse.spv")).build().unwrap().signature().shared_bytes, 256);
}

/// Builds a kernel, or checks that it is refused because the device lacks a feature.
fn build_if(fixture: &Fixture, file: &str, needs: &[(Capability, bool)]) -> Option<Kernel> {
    let lacks: Vec<_> = needs.iter().filter(|(_, has)| !has).map(|(capability, _)| capability.to_string()).collect();
    match fixture.kernel(source(file)).build() {
        Ok(kernel) => {
            assert_eq!(lacks, [""; 0], "{file}");
            Some(kernel)
        }
        Err(KernelError::Capability { capability, .. }) => {
            assert!(lacks.contains(&capability), "{file}: {capability}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn numbers_of_8_and_16_bits_are_read_or_refused() {
    let fixture = Fixture::open();
    let has = fixture.info().features;
    let needs = [
        (Capability::Int8, has.shader_int8),
        (Capability::Int16, has.shader_int16),
        (Capability::Storage8, has.storage_buffer_8bit),
        (Capability::Storage16, has.storage_buffer_16bit),
    ];
    let Some(sum) = build_if(&fixture, "small_numbers.spv", &needs) else {
        return;
    };
    let bytes = fixture.slice_to_device(&[-128_i8, 127, -1, 3]).unwrap();
    let shorts = fixture.slice_to_device(&[65535_u16, 1, 2, 40000]).unwrap();
    let halves = fixture.slice_to_device(&[0.5, -2.0, 100.25, 0.0].map(f16::from_f32)).unwrap();
    let wide = fixture.zeros::<f32>([4]).unwrap();
    sum.dispatch(fixture.default_stream(), Groups::exact([4, 1, 1]), (&bytes, &shorts, &halves, &wide)).unwrap();
    assert_eq!(contents(&wide), [65407.5, 126.0, 101.25, 40003.0]);
}

#[test]
fn numbers_of_64_bits_are_read_or_refused() {
    let fixture = Fixture::open();
    let has = fixture.info().features;
    let needs = [(Capability::Float64, has.shader_float64), (Capability::Int64, has.shader_int64)];
    let Some(wide) = build_if(&fixture, "wide_numbers.spv", &needs) else {
        return;
    };
    let run = |wide: &Kernel| {
        let doubles = fixture.slice_to_device(&[3e300_f64, -1.5]).unwrap();
        let longs = fixture.slice_to_device(&[7_i64, -3]).unwrap();
        wide.dispatch(fixture.default_stream(), Groups::exact([2, 1, 1]), (&doubles, &longs)).unwrap();
        (contents(&doubles), contents(&longs))
    };
    assert_eq!(run(&wide), (vec![1e300, -0.5], vec![35_000_000_000, -15_000_000_000]));
    let scaled = fixture.kernel(source("wide_numbers.spv")).constant("SCALE", -4_294_967_296_f64).build().unwrap();
    assert_eq!(run(&scaled).1, [-30_064_771_072, 12_884_901_888]);
}

#[test]
fn a_subgroup_sum_is_computed() {
    let fixture = Fixture::open();
    let has = |bit: u32| fixture.info().subgroup.in_compute && fixture.info().subgroup.operations & bit != 0;
    let needs = [(Capability::Subgroup, has(1)), (Capability::SubgroupArithmetic, has(4))];
    let Some(sum) = build_if(&fixture, "subgroup_sum.spv", &needs) else { return };
    let values: Vec<u32> = (1..=1000).collect();
    let total = fixture.full([1], 5_u32).unwrap();
    let x = fixture.slice_to_device(&values).unwrap();
    sum.dispatch(fixture.default_stream(), Groups::covering([1000]), (&x, &total)).unwrap();
    assert_eq!(contents(&total), [5 + 1000 * 1001 / 2]);
}

#[test]
fn a_histogram_is_computed() {
    let fixture = Fixture::open();
    let elements = values(5000, |i| u32::try_from(i * i % 256).unwrap());
    let x = fixture.slice_to_device(&elements).unwrap();
    let counts = fixture.zeros::<u32>([256]).unwrap();
    let histogram = kernel(&fixture, "histogram.spv");
    histogram.dispatch(fixture.default_stream(), Groups::covering([5000]), (&x, &counts)).unwrap();
    let mut expected = [0_u32; 256];
    elements.iter().for_each(|&value| expected[value as usize] += 1);
    assert_eq!(contents(&counts), expected);
}

/// The beginning of the shader's `struct List`, and each of its items.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Record([f32; 8]);

impl Element for Record {
    const DTYPE: vkarray::DType = vkarray::DType::record::<Self>();
}

#[test]
fn structs_and_push_constants_with_gaps_are_passed_to_a_function() {
    let fixture = Fixture::open();
    let count = f32::from_bits(2);
    let list = [
        Record([count, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]), // The head: a count, padding, bounds.
        Record([1.0, 2.0, 3.0, 9.0, 10.0, 20.0, 30.0, 0.0]), // Position, velocity, id.
        Record([4.0, 5.0, 6.0, 9.0, -1.0, -2.0, -3.0, 0.0]),
        Record([7.0, 8.0, 9.0, 9.0, 1.0, 1.0, 1.0, 0.0]), // Beyond the count.
    ];
    let list = fixture.slice_to_device(&list).unwrap();
    let particles = kernel(&fixture, "particles.spv");
    let named = [("wind", [1.0_f32, 0.0, -1.0].as_arg()), ("list", list.as_arg()), ("dt", 0.5_f32.as_arg())];
    particles.dispatch(fixture.default_stream(), Groups::covering([3]), named).unwrap();
    let positions: Vec<_> =
        contents(&list).iter().skip(1).map(|record| [record.0[0], record.0[1], record.0[2]]).collect();
    assert_eq!(positions, [[6.5, 12.0, 17.5], [4.0, 4.0, 4.0], [7.0, 8.0, 9.0]]);
}

#[test]
fn a_constant_sets_the_workgroup_and_itself() {
    let fixture = Fixture::open();
    for file in ["workgroup_constant.spv", "workgroup_constant_vulkan13.spv"] {
        let build = |lanes: Option<u32>| {
            let builder = fixture.kernel(source(file));
            lanes.map_or(builder.clone(), |lanes| builder.constant("LANES", lanes)).build().unwrap()
        };
        let unset = build(None);
        let text = "main: workgroup 1×1×1
  x      storage 0:0  read_write  array<u32>
  LANES  constant @4              u32 = 32; the workgroup's x is 1 unless it is set";
        assert_eq!(unset.signature().to_string(), text, "{file}");
        let warning = "kernel `main`: constant `LANES` also sets the size of the workgroup; while it is not set, the \
                       workgroup is 1×1×1 and `LANES` is 32";
        assert_eq!(unset.signature().warnings(), [warning], "{file}");
        let set = build(Some(16));
        assert_eq!(set.signature().workgroup_size, [16, 1, 1], "{file}");
        let line = "LANES  constant @4              u32 = 16 (default 32), and the workgroup's x";
        assert!(set.signature().to_string().ends_with(line), "{}", set.signature());
        assert_eq!(set.signature().warnings(), [""; 0], "{file}");
        let x = fixture.zeros::<u32>([48]).unwrap();
        set.launch(Groups::exact([3, 1, 1]), (&x,)).unwrap();
        assert_eq!(contents(&x), [1; 48], "{file}");
    }
}

#[test]
fn floats_are_added_atomically_or_refused() {
    let fixture = Fixture::open();
    let has = fixture.info().features;
    let add = |is_shared| Capability::FloatAtomic(FloatAtomic { bits: 32, op: FloatAtomicOp::Add, is_shared });
    let needs = [(add(false), has.buffer_float32_atomic_add), (add(true), has.shared_float32_atomic_add)];
    let Some(sum) = build_if(&fixture, "float_atomics.spv", &needs) else { return };
    let x = fixture.slice_to_device(&values(256, |i| float(i % 7))).unwrap();
    let total = fixture.zeros::<f32>([1]).unwrap();
    sum.launch(Groups::covering(256), (&x, &total)).unwrap();
    let expected: f32 = values(256, |i| float(i % 7)).iter().sum();
    assert_eq!(contents(&total), [expected]);
}

#[test]
fn an_address_is_named() {
    let fixture = Fixture::open();
    let text = fixture.kernel(source("address.spv")).build().unwrap_err().to_string();
    assert!(text.contains("reaches memory by ") && text.contains("`assume_addresses`"), "{text}");
}
