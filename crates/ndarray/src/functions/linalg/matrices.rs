//! Products of `f16`, `bf16` and `i8` by cooperative matrices: whether a device and a product take them, and the text of the
//! kernel. Pure.
//!
//! `matmul.rs` runs it.

use vkarray_driver::{DeviceInfo, Features};
use vkarray_kernel::{DType, WordMatrices};
use vkarray_shaders::functions;

use super::tile::Sizes;
use crate::generate::{MOST_INNER, with_lines};

/// The sides of a matrix in numbers, and the invocations of a subgroup.
const SIDE: u32 = 16;
pub(super) const SUBGROUP: u32 = 32;

/// Invocations of a workgroup, and rows and columns of its tile.
pub(super) const LANES: usize = 128;
pub(super) const TILE: usize = 128;

/// Bytes of shared memory of the kernel for floats, which is the larger: both tiles, and sums of four subgroups.
const SHARED_BYTES: u32 = 16 * (8 * 144 + 16 * 84 + 4 * 80);

/// The least rows and columns for which a tile that is mostly empty is worth it.
const LEAST: usize = 32;

/// The numbers of matrices that a device multiplies to a result of a type, with what it was opened with.
pub(super) fn numbers_of_matrices(
    [dtype, result]: [DType; 2],
    device: &DeviceInfo,
    enabled: &Features,
) -> Option<WordMatrices> {
    // Numbers are so in matrices alone: in memory they are words.
    let (numbers, has_numbers, inner, sum) = match (dtype, result) {
        (DType::F16, DType::F16) => (WordMatrices::F16, enabled.shader_float16, SIDE, "f32"),
        (DType::BF16, DType::BF16) => {
            (WordMatrices::Bf16, enabled.bfloat16 && enabled.bfloat16_cooperative_matrix, SIDE, "f32")
        }
        (DType::I8, DType::I32) => (WordMatrices::I8, enabled.shader_int8, 2 * SIDE, "i32"),
        _ => return None,
    };
    let number = &dtype.to_string();
    let subgroup = &device.subgroup;
    let is_listed = device.matrix_shapes.iter().any(|shape| {
        let is_plain = !shape.saturating && shape.scope == "subgroup";
        is_plain && [shape.m, shape.n, shape.k] == [SIDE, SIDE, inner] && shape.types == [number, number, sum, sum]
    });
    let is_enabled = enabled.cooperative_matrix && has_numbers;
    let has_subgroups = enabled.subgroup_size_control && enabled.compute_full_subgroups && subgroup.in_compute;
    let has_size = (subgroup.min_size..=subgroup.max_size).contains(&SUBGROUP);
    let has_memory = device.limits.max_compute_shared_memory_size >= SHARED_BYTES;
    (is_listed && is_enabled && has_subgroups && has_size && has_memory).then_some(numbers)
}

/// Whether a product is one for the kernel, where two `i8` along the inner axis are one number.
pub(super) fn are_suitable(Sizes { m, k, n, count }: Sizes) -> bool {
    let is_whole = k.is_multiple_of(8) && n.is_multiple_of(8);
    is_whole && (1..=MOST_INNER).contains(&k) && m >= LEAST && n >= LEAST && count > 0
}

/// The kernel `matmul_matrices`, which is built with these `word_matrices`.
pub(super) fn text(numbers: WordMatrices) -> String {
    let results = match numbers {
        WordMatrices::Words | WordMatrices::F16 => functions::QUADS_F16.to_owned(),
        WordMatrices::Bf16 => functions::QUADS_BF16.concat(),
        WordMatrices::I8 => functions::QUADS_I8.to_owned(),
    };
    let second = Second { is_columns: numbers == WordMatrices::I8 };
    let blocks = || (0..4).flat_map(|i| (0..4).map(move |j| (i, j)));
    // What an invocation reads: eight numbers of eight rows of each operand.
    let starts =
        (0..8).map(|i| format!("let from_a{i} = (start_a + min(row + {}u, matmul.m - 1u) * matmul.k) / 8u;\n", 16 * i));
    let sums = starts.chain(blocks().map(|(i, j)| format!("var s{i}{j}: coop_mat16x16<f32, C>;\n")));
    let registers = (0..8).map(|i| format!("var a{i} = vec4<u32>();\nvar b{i} = vec4<u32>();\n"));
    let left = (0..8).map(|i| format!("a{i} = a[from_a{i} + l / 8u];\n")).collect::<String>();
    let reads = registers.chain([format!("if l + beside < matmul.k {{\n{left}}}\n"), second.reads()]);
    let multiplied: String =
        blocks().map(|(i, j)| format!("s{i}{j} = coopMultiplyAdd(m{i}, n{j}, s{i}{j});\n")).collect();
    let loads = |depth: u32| {
        let left = (0..4).map(move |i| {
            format!("let m{i} = coopLoadT<coop_mat16x16<f32, A>>(&tile_a[half_m][{i}][{}], 9u);\n", 2 * depth)
        });
        let right = (0..4).map(move |j| {
            let (load, place) = second.load(depth, j);
            format!("let n{j} = {load}<coop_mat16x16<f32, B>>(&tile_b{place});\n")
        });
        left.chain(right).collect::<String>()
    };
    let products = (0..4).map(|depth| format!("{{\n{}{multiplied}}}\n", loads(depth)));
    let stores = (0..8).flat_map(|i| {
        let left = format!("tile_a[{}][{}][at_a", i / 4, i % 4);
        [(left, format!("a{i}")), (format!("tile_b{}", second.place(i)), format!("b{i}"))]
    });
    let stores = stores.map(|(place, words)| format!("{place}] = {words};\n"));
    let writes = blocks().map(|(i, j)| {
        format!(
            "coopStoreT(s{i}{j}, &sums[subgroup][0], 5u);\nworkgroupBarrier();\n\
             write(result, own_row + {}u, own_column + {}u, subgroup, lane);\nworkgroupBarrier();\n",
            16 * i,
            16 * j,
        )
    });
    let lines = [
        ("PLACES", second.places()),
        ("SUMS", sums.collect::<String>()),
        ("READS", reads.collect()),
        ("PRODUCTS", products.collect()),
        ("STORES", stores.collect()),
        ("WRITES", writes.collect()),
    ];
    with_lines(functions::MATMUL_MATRICES, lines) + &results
}

/// The text for the second operand, which lies row by row, or column by column as the rows of the first.
#[derive(Clone, Copy)]
struct Second {
    is_columns: bool,
}

impl Second {
    /// Where an invocation reads and writes.
    fn places(self) -> String {
        if !self.is_columns {
            return "let column = min(first_column + index % 16u * 8u, matmul.n - 8u);
    let below = index / 16u;
    let from_b = (result * matmul.stride_b + below * matmul.n + column) / 8u;
    let width = matmul.n / 8u;
    let at_b = below * 5u + index % 4u;
    let half_b = index % 16u / 8u;
    let pair_b = index % 8u / 4u;\n"
                .to_owned();
        }
        let starts = (0..8).map(|i| {
            format!("let from_b{i} = (start_b + min(column + {}u, matmul.n - 1u) * matmul.k) / 8u;\n", 16 * i)
        });
        let places = "let column = first_column + index / 8u;\nlet start_b = result * matmul.stride_b + beside;\n";
        [places.to_owned()].into_iter().chain(starts).collect()
    }

    fn reads(self) -> String {
        if self.is_columns {
            let reads: String = (0..8).map(|i| format!("b{i} = b[from_b{i} + l / 8u];\n")).collect();
            return format!("if l + beside < matmul.k {{\n{reads}}}\n");
        }
        let read = |i| format!("if l + below + {i}u < matmul.k {{ b{} = b[from_b + (l + {i}u) * width]; }}\n", i / 8);
        (0..64).step_by(8).map(read).collect()
    }

    /// Where what is read as the `i`-th is written, without the end of the index.
    fn place(self, i: u32) -> String {
        if self.is_columns {
            format!("[{}][{}][at_a", i / 4, i % 4)
        } else {
            format!("[{}][half_b][pair_b][at_b + {}u", i / 2, i % 2 * 40)
        }
    }

    /// The function that loads the `j`-th matrix, from where, and its stride.
    fn load(self, depth: u32, j: u32) -> (&'static str, String) {
        if self.is_columns {
            ("coopLoad", format!("[half_n][{j}][{}], 9u", 2 * depth))
        } else {
            ("coopLoadT", format!("[{depth}][half_n][{}][{}], 5u", j / 2, j % 2 * 2))
        }
    }
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
        let floats = ["a 16×16 matrix A of", "a 16×16 matrix B of"];
        for (word_matrices, number, expected, operands, product, unused_bytes) in [
            (WordMatrices::F16, "f16", &[C::Float16][..], floats, "16×16×16 f16 × f16 + f32 → f32", 0),
            (
                WordMatrices::Bf16,
                "bf16",
                &[C::BFloat16, C::BFloat16Matrix],
                floats,
                "16×16×16 bf16 × bf16 + f32 → f32",
                0,
            ),
            (
                WordMatrices::I8,
                "i8",
                &[C::Int8],
                ["a 16×32 matrix A of", "a 32×16 matrix B of"],
                "16×16×32 i8 × i8 + i32 → i32",
                3072,
            ),
        ] {
            let module = Module::parse(&Source::wgsl(text(word_matrices))).unwrap();
            let robust = Options { driver_zeroes: true, robust_buffers: true, ..Options::default() };
            let options = Options { word_matrices, ..robust };
            let signature = module.translate(None, &BTreeMap::new(), &options).unwrap().signature;
            assert_eq!(signature.shared_bytes, u64::from(SHARED_BYTES) - unused_bytes);
            assert_eq!(signature.capabilities, [expected, &matrices].concat());
            let used: Vec<_> = signature.matrices.iter().map(ToString::to_string).collect();
            assert!(operands.iter().all(|operand| used.contains(&format!("{operand} {number}"))), "{used:?}");
            assert!(used.contains(&product.to_owned()), "{used:?}");
            assert!(used.iter().all(|matrix| !matrix.contains("A of u32") && !matrix.contains("B of u32")), "{used:?}");
        }
    }

    #[test]
    fn the_device_lists_the_shape_and_has_the_subgroups() {
        let mut device = machine("h100_580.159");
        let features = Features {
            cooperative_matrix: true,
            shader_float16: true,
            shader_int8: true,
            storage_buffer_16bit: true,
            bfloat16: true,
            bfloat16_cooperative_matrix: true,
            subgroup_size_control: true,
            compute_full_subgroups: true,
            ..Features::default()
        };
        let shape = |k: u32, types: [&str; 4], scope: &str| MatrixShape {
            m: 16,
            n: 16,
            k,
            types: types.map(str::to_owned),
            saturating: false,
            scope: scope.to_owned(),
        };
        let of = |k, number: &str, sum: &str, scope: &str| shape(k, [number, number, sum, sum], scope);
        let types = [
            ([DType::F16; 2], 16, "f16", "f32"),
            ([DType::BF16; 2], 16, "bf16", "f32"),
            ([DType::I8, DType::I32], 32, "i8", "i32"),
        ];
        device.matrix_shapes =
            vec![shape(16, ["f16"; 4], "subgroup"), of(16, "i8", "i32", "subgroup"), of(32, "u8", "u32", "subgroup")];
        device.matrix_shapes.extend(types.map(|(_, k, number, sum)| of(k, number, sum, "workgroup")));
        for (dtypes, k, number, sum) in types {
            assert_eq!(numbers_of_matrices(dtypes, &device, &features), None);
            device.matrix_shapes.push(of(k, number, sum, "subgroup"));
            assert!(numbers_of_matrices(dtypes, &device, &features).is_some());
            let without = Features { cooperative_matrix: false, ..features };
            assert_eq!(numbers_of_matrices(dtypes, &device, &without), None);
        }
        for other in [[DType::F32; 2], [DType::I8; 2], [DType::F16, DType::F32]] {
            assert_eq!(numbers_of_matrices(other, &device, &features), None);
        }
        let without =
            Features { bfloat16_cooperative_matrix: false, shader_float16: false, shader_int8: false, ..features };
        assert!(types.iter().all(|&(dtypes, ..)| numbers_of_matrices(dtypes, &device, &without).is_none()));
        device.limits.max_compute_shared_memory_size = 32 << 10;
        assert!(types.iter().all(|&(dtypes, ..)| numbers_of_matrices(dtypes, &device, &features).is_none()));
    }
}
