//! Products of `f16` by cooperative matrices: whether a device and a product take them, and the text of the kernel. Pure.
//!
//! `matmul.rs` runs it.

use vkarray_driver::{DeviceInfo, Features};
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

/// Whether a device multiplies such matrices, with what it was opened with.
pub(super) fn has_matrices(device: &DeviceInfo, enabled: &Features) -> bool {
    let subgroup = &device.subgroup;
    let is_listed = device.matrix_shapes.iter().any(|shape| {
        let is_plain = !shape.saturating && shape.scope == "subgroup";
        is_plain && [shape.m, shape.n, shape.k] == [SIDE; 3] && shape.types == ["f16", "f16", "f32", "f32"]
    });
    let is_enabled = enabled.cooperative_matrix && enabled.shader_float16 && enabled.storage_buffer_16bit;
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

/// The kernel `matmul_matrices`.
pub(super) fn text() -> String {
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
            format!("let m{i} = coopLoadT<coop_mat16x16<f16, A>>(&tile_a[half_m][{i}][{}], 18u);\n", 4 * depth)
        });
        let right = (0..4).map(move |j| {
            let (pair, at) = (j / 2, j % 2 * 4);
            format!("let n{j} = coopLoadT<coop_mat16x16<f16, B>>(&tile_b[{depth}][half_n][{pair}][{at}], 10u);\n")
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
    with_lines(functions::MATMUL_MATRICES, lines)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use vkarray_driver::MatrixShape;
    use vkarray_kernel::{Module, Options, Source};

    use super::*;
    use crate::generate::machine;

    #[test]
    fn the_kernel_is_one_that_can_be_checked() {
        let module = Module::parse(&Source::wgsl(text())).unwrap();
        let options = Options { driver_zeroes: true, robust_buffers: true, ..Options::default() };
        let translated = module.translate(None, &BTreeMap::new(), &options).unwrap();
        assert_eq!(translated.signature.shared_bytes, u64::from(SHARED_BYTES));
    }

    #[test]
    fn the_device_lists_the_shape_and_has_the_subgroups() {
        let mut device = machine("h100_580.159");
        let features = Features {
            cooperative_matrix: true,
            shader_float16: true,
            storage_buffer_16bit: true,
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
        device.matrix_shapes = vec![shape(["f16"; 4], "subgroup"), shape(["f16", "f16", "f32", "f32"], "workgroup")];
        assert!(!has_matrices(&device, &features));
        device.matrix_shapes.push(shape(["f16", "f16", "f32", "f32"], "subgroup"));
        assert!(has_matrices(&device, &features));
        assert!(!has_matrices(&device, &Features { cooperative_matrix: false, ..features }));
        device.limits.max_compute_shared_memory_size = 32 << 10;
        assert!(!has_matrices(&device, &features));
    }
}
