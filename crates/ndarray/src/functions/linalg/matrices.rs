//! Products of `f16` and `bf16` by cooperative matrices: whether a device and a product take them, and the text of the
//! kernel. Pure.
//!
//! `matmul.rs` runs it.

use vkarray_driver::{DeviceInfo, Features};
use vkarray_kernel::DType;
use vkarray_shaders::functions;

use super::tile::Sizes;
use crate::generate::{MOST_INNER, with_lines};

/// The sides of a matrix in numbers, and the invocations of a subgroup.
const SIDE: u32 = 16;
pub(super) const SUBGROUP: u32 = 32;

/// Invocations of a workgroup, and rows and columns of its tile.
pub(super) const LANES: usize = 128;
pub(super) const TILE: usize = 128;

/// Bytes of shared memory of the kernel: both tiles, and sums of four subgroups.
const SHARED_BYTES: u32 = 8 * (8 * 288 + 16 * 168) + 4 * 16 * 80;

/// The least rows and columns for which a tile that is mostly empty is worth it.
const LEAST: usize = 32;

/// Whether a device multiplies matrices of numbers of a type, with what it was opened with.
pub(super) fn has_matrices(dtype: DType, device: &DeviceInfo, enabled: &Features) -> bool {
    // What is `bf16` is so in matrices alone: in memory it is words.
    let (number, has_numbers) = match dtype {
        DType::F16 => ("f16", enabled.shader_float16 && enabled.storage_buffer_16bit),
        DType::BF16 => ("bf16", enabled.bfloat16 && enabled.bfloat16_cooperative_matrix),
        _ => return false,
    };
    let subgroup = &device.subgroup;
    let is_listed = device.matrix_shapes.iter().any(|shape| {
        let is_plain = !shape.saturating && shape.scope == "subgroup";
        is_plain && [shape.m, shape.n, shape.k] == [SIDE; 3] && shape.types == [number, number, "f32", "f32"]
    });
    let is_enabled = enabled.cooperative_matrix && has_numbers;
    let has_subgroups = enabled.subgroup_size_control && enabled.compute_full_subgroups && subgroup.in_compute;
    let has_size = (subgroup.min_size..=subgroup.max_size).contains(&SUBGROUP);
    let has_memory = device.limits.max_compute_shared_memory_size >= SHARED_BYTES;
    is_listed && is_enabled && has_subgroups && has_size && has_memory
}

/// Whether a product is one for the kernel.
pub(super) fn are_suitable(Sizes { m, k, n, count }: Sizes) -> bool {
    let is_whole = k.is_multiple_of(8) && n.is_multiple_of(8);
    is_whole && (1..=MOST_INNER).contains(&k) && m >= LEAST && n >= LEAST && count > 0
}

/// The kernel `matmul_matrices` of `bf16`, which is built with `bf16_matrices`, or of `f16`.
pub(super) fn text(is_brain: bool) -> String {
    // What a matrix is loaded from decides about the type of its numbers, not what the call says.
    let number = if is_brain { "f32" } else { "f16" };
    let blocks = || (0..4).flat_map(|i| (0..4).map(move |j| (i, j)));
    // What an invocation reads: eight numbers of eight rows of each operand.
    let starts =
        (0..8).map(|i| format!("let from_a{i} = (start_a + min(row + {}u, matmul.m - 1u) * matmul.k) / 8u;\n", 16 * i));
    let sums = starts.chain(blocks().map(|(i, j)| format!("var s{i}{j}: coop_mat16x16<f32, C>;\n")));
    let registers = (0..8).map(|i| format!("var a{i} = vec4<u32>();\nvar b{i} = vec4<u32>();\n"));
    let left = (0..8).map(|i| format!("a{i} = a[from_a{i} + l / 8u];\n")).collect::<String>();
    let right = (0..8).map(|i| {
        let below = 8 * i;
        format!("if l + below + {below}u < matmul.k {{ b{i} = b[from_b + (l + {below}u) * width]; }}\n")
    });
    let reads = registers.chain([format!("if l + beside < matmul.k {{\n{left}}}\n")]).chain(right);
    let multiplied: String =
        blocks().map(|(i, j)| format!("s{i}{j} = coopMultiplyAdd(m{i}, n{j}, s{i}{j});\n")).collect();
    let loads = |depth: u32| {
        let left = (0..4).map(move |i| {
            format!("let m{i} = coopLoadT<coop_mat16x16<{number}, A>>(&tile_a[half_m][{i}][{}], 18u);\n", 4 * depth)
        });
        let right = (0..4).map(move |j| {
            let (pair, at) = (j / 2, j % 2 * 4);
            format!("let n{j} = coopLoadT<coop_mat16x16<{number}, B>>(&tile_b[{depth}][half_n][{pair}][{at}], 10u);\n")
        });
        left.chain(right).collect::<String>()
    };
    let products = (0..4).map(|depth| format!("{{\n{}{multiplied}}}\n", loads(depth)));
    let stores = (0..8).flat_map(|i| {
        let left = format!("tile_a[{}][{}][at_a", i / 4, i % 4);
        let right = format!("tile_b[{}][half_b][pair_b][at_b + {}u", i / 2, i % 2 * 80);
        [(left, format!("a{i}")), (right, format!("b{i}"))]
    });
    let stores =
        stores.map(|(place, words)| format!("{place}] = quad({words}.xy);\n{place} + 1u] = quad({words}.zw);\n"));
    let writes = blocks().map(|(i, j)| {
        format!(
            "coopStoreT(s{i}{j}, &sums[subgroup][0], 5u);\nworkgroupBarrier();\n\
             write(result, own_row + {}u, own_column + {}u, subgroup, lane);\nworkgroupBarrier();\n",
            16 * i,
            16 * j,
        )
    });
    let lines = [
        ("SUMS", sums.collect::<String>()),
        ("READS", reads.collect()),
        ("PRODUCTS", products.collect()),
        ("STORES", stores.collect()),
        ("WRITES", writes.collect()),
    ];
    with_lines(&functions::matmul_matrices(is_brain), lines)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use vkarray_driver::MatrixShape;
    use vkarray_kernel::{Capability, Module, Options, Source};

    use super::*;
    use crate::generate::machine;

    #[test]
    fn the_kernel_is_one_that_can_be_checked() {
        use Capability as C;
        let matrices = [C::Subgroup, C::CooperativeMatrix, C::VulkanMemoryModel];
        for (is_brain, number, expected) in [
            (false, "f16", &[C::Float16, C::Storage16, C::Uniform16][..]),
            (true, "bf16", &[C::BFloat16, C::BFloat16Matrix]),
        ] {
            let module = Module::parse(&Source::wgsl(text(is_brain))).unwrap();
            let robust = Options { driver_zeroes: true, robust_buffers: true, ..Options::default() };
            let options = Options { bf16_matrices: is_brain, ..robust };
            let signature = module.translate(None, &BTreeMap::new(), &options).unwrap().signature;
            assert_eq!(signature.shared_bytes, u64::from(SHARED_BYTES));
            assert_eq!(signature.capabilities, [expected, &matrices].concat());
            let used: Vec<_> = signature.matrices.iter().map(ToString::to_string).collect();
            let operands = ["A", "B"].map(|role| format!("a 16×16 matrix {role} of {number}"));
            assert!(operands.iter().all(|operand| used.contains(operand)), "{used:?}");
            assert!(used.contains(&format!("16×16×16 {number} × {number} + f32 → f32")), "{used:?}");
            assert!(used.iter().all(|matrix| !matrix.contains("u32")), "{used:?}");
        }
    }

    #[test]
    fn the_device_lists_the_shape_and_has_the_subgroups() {
        let mut device = machine("h100_580.159");
        let features = Features {
            cooperative_matrix: true,
            shader_float16: true,
            storage_buffer_16bit: true,
            bfloat16: true,
            bfloat16_cooperative_matrix: true,
            subgroup_size_control: true,
            compute_full_subgroups: true,
            ..Features::default()
        };
        let shape = |types: [&str; 4], scope: &str| MatrixShape {
            m: 16,
            n: 16,
            k: 16,
            types: types.map(str::to_owned),
            saturating: false,
            scope: scope.to_owned(),
        };
        let of = |number: &str, scope: &str| shape([number, number, "f32", "f32"], scope);
        device.matrix_shapes = vec![shape(["f16"; 4], "subgroup"), of("f16", "workgroup"), of("bf16", "workgroup")];
        for (dtype, number) in [(DType::F16, "f16"), (DType::BF16, "bf16")] {
            assert!(!has_matrices(dtype, &device, &features));
            device.matrix_shapes.push(of(number, "subgroup"));
            assert!(has_matrices(dtype, &device, &features));
            assert!(!has_matrices(dtype, &device, &Features { cooperative_matrix: false, ..features }));
        }
        assert!(!has_matrices(DType::F32, &device, &features));
        let without = Features { bfloat16_cooperative_matrix: false, shader_float16: false, ..features };
        assert!([DType::F16, DType::BF16].iter().all(|&dtype| !has_matrices(dtype, &device, &without)));
        device.limits.max_compute_shared_memory_size = 32 << 10;
        assert!([DType::F16, DType::BF16].iter().all(|&dtype| !has_matrices(dtype, &device, &features)));
    }
}
