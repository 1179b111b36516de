//! Kernels in the style of inference libraries, in GLSL with includes and macros (`tests/shaders/inference`): one source
//! compiled for several functions and types, reductions in shared memory, sizes set by specialisation constants.
//! `compile.sh` in that folder makes the SPIR-V. Each result is compared with a computation on the host.

use half::f16;
use vkarray::kernel::{Error as KernelError, KernelBuilder, ShaderError, SpirvError};
use vkarray::{Context, DeviceNDArray, Groups, Kernel};

use super::spirv::source;
use crate::fixture::{Fixture, contents};

fn builder(ctx: &Context, name: &str) -> KernelBuilder {
    ctx.kernel(source(&format!("inference/{name}.spv")))
}

fn built(builder: KernelBuilder) -> Kernel {
    builder.build().unwrap_or_else(|error| panic!("{error}"))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap()
}

fn small(i: usize) -> f32 {
    f32::from(u16::try_from(i).unwrap())
}

/// Numbers between -3 and 3, no two neighbours equal, and no two equal among 101 neighbours.
fn wave(n: usize) -> Vec<f32> {
    (0..n).map(|i| small((i * 37 + 11) % 101) * 0.06 - 3.0).collect()
}

fn assert_close(found: &DeviceNDArray<f32>, expected: &[f32], what: &str) {
    let found = contents(found);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let is_close = found == expected || (found - expected).abs() <= 1e-5 + expected.abs() * 1e-4;
        assert!(is_close, "{what}, {i}: {found} instead of {expected}");
    }
}

#[test]
fn one_source_is_compiled_for_several_functions() {
    type Function = fn(f32) -> f32;
    let fixture = Fixture::open();
    // The name, the workgroup size, and the function of `x` with the parameters -0.5 and 1.25.
    let cases: [(&str, u32, Function); 3] = [
        ("map_relu", 256, |x| x.max(0.0)),
        ("map_silu", 128, |x| x / (1.0 + (-x).exp())),
        ("map_clipped", 512, |x| x.clamp(-0.5, 1.25)),
    ];
    let limits = &fixture.info().limits;
    let largest = limits.max_compute_work_group_invocations.min(limits.max_compute_work_group_size[0]);
    for (name, size, function) in cases {
        let kernel = match builder(&fixture, name).build() {
            Ok(kernel) => kernel,
            Err(error) => {
                let is_size = matches!(
                    error,
                    KernelError::Shader(ShaderError::Spirv(
                        SpirvError::WorkgroupSize { .. } | SpirvError::WorkgroupInvocations { .. }
                    ))
                );
                assert!(is_size && largest < size, "{name}: {error}");
                continue;
            }
        };
        assert!(kernel.signature().workgroup_size == [size, 1, 1] && size <= largest, "{name}");
        let x = wave(1000);
        let (array, out) = (fixture.slice_to_device(&x).unwrap(), fixture.full([1000], 7.0_f32).unwrap());
        let groups = Groups::covering([1000]);
        let args = (&array, &out, 99_u32, 10_u32, -0.5_f32, 1.25_f32); // 990 elements.
        kernel.dispatch(fixture.default_stream(), groups, args).unwrap();
        let expected: Vec<f32> = x.iter().enumerate().map(|(i, &x)| if i < 990 { function(x) } else { 7.0 }).collect();
        assert_close(&out, &expected, name);
    }
}

#[test]
fn one_source_is_compiled_for_another_type() {
    let fixture = Fixture::open();
    let kernel = built(builder(&fixture, "map_step_int"));
    let x: Vec<i32> = (-70..70).collect();
    let (array, out) = (fixture.slice_to_device(&x).unwrap(), fixture.full([140], 7_i32).unwrap());
    let args = (&array, &out, 133_u32, 1_u32, 0.0_f32, 0.0_f32);
    kernel.dispatch(fixture.default_stream(), Groups::covering([140]), args).unwrap();
    let expected: Vec<i32> = x.iter().enumerate().map(|(i, &x)| if i < 133 { i32::from(x > 0) } else { 7 }).collect();
    assert_eq!(contents(&out), expected);
}

#[test]
fn softmax_of_rows_is_computed() {
    let fixture = Fixture::open();
    let x = wave(5 * 130);
    let array = fixture.slice_to_device(&x).unwrap();
    let row = |row: &[f32]| {
        let sum: f32 = row.iter().map(|x| (0.5 * x).exp()).sum();
        row.iter().map(|x| (0.5 * x).exp() / sum).collect::<Vec<_>>()
    };
    let expected: Vec<f32> = x.chunks(130).flat_map(row).collect();
    for lanes in [1_u32, 32, 128] {
        let kernel = built(builder(&fixture, "softmax_rows").constant("0", lanes));
        assert_eq!(kernel.signature().shared_bytes, u64::from(lanes * 4));
        let out = fixture.zeros::<f32>([5 * 130]).unwrap();
        let args = (&array, &out, 130_u32, 5_u32, 0.5_f32, 0.0_f32);
        kernel.dispatch(fixture.default_stream(), Groups::exact([5, 1, 1]), args).unwrap();
        assert_close(&out, &expected, &format!("{lanes} lanes"));
    }
}

#[test]
fn layer_norm_is_computed_also_by_an_optimised_module() {
    let fixture = Fixture::open();
    let x = wave(4 * 77);
    let affine: Vec<[f32; 2]> = (0..77).map(|j| [1.0 + small(j) * 0.01, small(j) - 38.0]).collect();
    let array = fixture.slice_to_device(&x).unwrap();
    let affine_array = fixture.slice_to_device(affine.as_flattened()).unwrap();
    let row = |row: &[f32]| {
        let mean = row.iter().sum::<f32>() / 77.0;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 77.0;
        let scale = 1.0 / (variance + 0.25).sqrt();
        row.iter().zip(&affine).map(|(x, [gain, bias])| (x - mean) * scale * gain + bias).collect::<Vec<_>>()
    };
    let expected: Vec<f32> = x.chunks(77).flat_map(row).collect();
    for name in ["layer_norm", "layer_norm_fast"] {
        let kernel = built(builder(&fixture, name).constant("0", 64));
        let out = fixture.zeros::<f32>([4 * 77]).unwrap();
        let args = (&array, &affine_array, &out, 77_u32, 4_u32, 0.25_f32, 0.0_f32);
        kernel.dispatch(fixture.default_stream(), Groups::exact([4, 1, 1]), args).unwrap();
        assert_close(&out, &expected, name);
    }
}

#[test]
fn argsort_of_each_row_is_computed() {
    let fixture = Fixture::open();
    let x = wave(7 * 50);
    let array = fixture.slice_to_device(&x).unwrap();
    for is_descending in [false, true] {
        let builder =
            builder(&fixture, "argsort_rows").constant("0", 64).constant("DESCENDING", u32::from(is_descending));
        let kernel = built(builder);
        let out = fixture.full([7 * 50], -1_i32).unwrap();
        let args = (&array, &out, 50_u32, 7_u32, 0.0_f32, 0.0_f32);
        kernel.dispatch(fixture.default_stream(), Groups::exact([7, 1, 1]), args).unwrap();
        let row = |row: &[f32]| {
            let mut order: Vec<i32> = (0..50).collect();
            order.sort_by(|&a, &b| row[a.unsigned_abs() as usize].total_cmp(&row[b.unsigned_abs() as usize]));
            if is_descending {
                order.reverse();
            }
            order
        };
        assert_eq!(contents(&out), x.chunks(50).flat_map(row).collect::<Vec<_>>(), "{is_descending}");
    }
}

#[test]
fn classes_are_counted_with_atomics() {
    let fixture = Fixture::open();
    // Some classes are beyond the 64 that are counted.
    let classes: Vec<u32> = (0..9 * 211).map(|i| i * i % 67).collect();
    let kernel = built(builder(&fixture, "count_classes"));
    let (array, out) = (fixture.slice_to_device(&classes).unwrap(), fixture.full([61], 5_u32).unwrap());
    let args = (&array, &out, 211_u32, 9_u32, 0.0_f32, 0.0_f32);
    kernel.dispatch(fixture.default_stream(), Groups::exact([9, 1, 1]), args).unwrap();
    let expected = |class: u32| 5 + count(classes.iter().filter(|&&found| found == class).count());
    assert_eq!(contents(&out), (0..61).map(expected).collect::<Vec<_>>());
}

#[test]
fn numbers_of_four_bits_are_dequantised() {
    let fixture = Fixture::open();
    // A block is a scale and an offset in halves, then 32 numbers of four bits, the lowest first.
    let affine = |block: usize| (f16::from_f32(0.25 + small(block)), f16::from_f32(small(block) * 3.0 - 20.0));
    let nibble = |block: usize, i: usize| (block * 7 + i * 5) % 16;
    let mut words = Vec::new();
    for block in 0..11 {
        let (scale, offset) = affine(block);
        words.push(u32::from(scale.to_bits()) | u32::from(offset.to_bits()) << 16);
        for word in 0..4 {
            words.push((0..8).map(|i| count(nibble(block, word * 8 + i)) << (4 * i)).sum());
        }
    }
    let kernel = built(builder(&fixture, "dequantise"));
    let blocks = fixture.slice_to_device(bytemuck::cast_slice::<u32, u8>(&words)).unwrap();
    let out = fixture.zeros::<f32>([11 * 32]).unwrap();
    let groups = Groups::exact([12, 1, 1]); // One workgroup more than needed.
    kernel.dispatch(fixture.default_stream(), groups, (&blocks, &out)).unwrap();
    let value = |i: usize| {
        let (scale, offset) = affine(i / 32);
        scale.to_f32() * small(nibble(i / 32, i % 32)) + offset.to_f32()
    };
    assert_close(&out, &(0..11 * 32).map(value).collect::<Vec<_>>(), "dequantise");
}

#[test]
fn matrices_are_multiplied_also_by_a_module_without_names() {
    let fixture = Fixture::open();
    let [rows, columns, terms] = [13, 21, 34];
    let (a, b) = (wave(rows * terms), wave(terms * columns + 5)[5..].to_vec());
    let (a_array, b_array) = (fixture.slice_to_device(&a).unwrap(), fixture.slice_to_device(&b).unwrap());
    let element = |i: usize| {
        let (row, column) = (i / columns, i % columns);
        (0..terms).map(|k| f64::from(a[row * terms + k]) * f64::from(b[k * columns + column])).sum::<f64>()
    };
    let size = [rows, columns, terms].map(count);
    for (name, constant) in [("matmul", "TILE"), ("matmul_nameless", "0")] {
        for tile in [4_u32, 8] {
            let kernel = built(builder(&fixture, name).constant(constant, tile));
            let out = fixture.zeros::<f32>([rows * columns]).unwrap();
            let groups = Groups::covering([columns, rows]);
            kernel.dispatch(fixture.default_stream(), groups, (&a_array, &b_array, &out, size)).unwrap();
            for (i, found) in contents(&out).into_iter().enumerate() {
                let error = (f64::from(found) - element(i)).abs();
                assert!(error <= 1e-3, "{name}, tile {tile}, {i}: {found} instead of {}", element(i));
            }
        }
    }
}

#[test]
fn windows_of_an_image_are_pooled_also_by_a_module_optimised_for_size() {
    let fixture = Fixture::open();
    // 9 × 7 pixels, windows of 3 × 2 every 2 × 3, one pixel of padding on the left.
    let (width, height, x) = (9_i32, 7_i32, wave(63));
    let array = fixture.slice_to_device(&x).unwrap();
    let pixel = |column: i32, row: i32| {
        let is_inside = (0..width).contains(&column) && (0..height).contains(&row);
        if is_inside { x[usize::try_from(row * width + column).unwrap()] } else { -1.0 }
    };
    for name in ["pool_windows", "pool_windows_small"] {
        for is_mean in [0_u32, 1] {
            let kernel = built(builder(&fixture, name));
            let out = fixture.zeros::<f32>([15]).unwrap();
            let sizes = ([width, height], [5, 3], [3, 2], [2, 3], [1, 0]);
            let args = (&array, &out, sizes.0, sizes.1, sizes.2, sizes.3, sizes.4, is_mean, -1.0_f32);
            kernel.dispatch(fixture.default_stream(), Groups::covering([15]), args).unwrap();
            let value = |i: i32| {
                let corner = (i % 5 * 2 - 1, i / 5 * 3);
                let window = (0..6).map(|k| pixel(corner.0 + k % 3, corner.1 + k / 3));
                if is_mean == 1 { window.sum::<f32>() / 6.0 } else { window.fold(-1.0, f32::max) }
            };
            assert_close(&out, &(0..15).map(value).collect::<Vec<_>>(), name);
        }
    }
}
