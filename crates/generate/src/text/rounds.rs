//! How often an invocation may go round its loops: [`MAX_ROUNDS`].
//!
//! Launches are split where a kernel would go round more often: products of matrices along the length that is added up
//! (`functions/linalg/matmul.rs` of the arrays), reductions by the elements of an invocation (`reduce/share.rs`). The test in
//! this file bounds the rounds of every kernel in `shaders/library`, so a new loop there needs a bound in the test.

/// The most rounds of all loops of an invocation together. Mesa's driver for processors, in version 22.3, ends every
/// loop without a message when an invocation has gone through this many rounds.
pub const MAX_ROUNDS: u64 = 65_535;

/// Products that an invocation of `matmul.wgsl` adds up for each of its results: a multiple of 16, which it adds in one
/// round, or in 18 where the sanitizer is on.
pub const PRODUCTS: usize = 1 << 15;

/// The longest inner axis that `matmul_matrices.wgsl` adds up, 64 numbers in a round, each of which may be two `i8`.
pub const MOST_INNER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use crate::expr::Op;
    use vkarray_shader::DType;

    use super::super::ops::rounds;
    use super::{MAX_ROUNDS, MOST_INNER, PRODUCTS};

    /// The number of loops in each file, and the most rounds of one invocation. Loops are counted as if no compiler
    /// unrolled them: a loop of `n` rounds counts as `n + 1`, because it ends in a round of its own.
    fn bounds() -> BTreeMap<&'static str, (usize, u64)> {
        let search = 33; // Of 2^32 keys, and the round that ends the loop.
        let walk = 8; // An array has at most 8 axes in a copy.
        let tile = 1024 + 1; // The units of a tile, if one invocation copied it.
        let part = PRODUCTS as u64 / 16;
        let (items, passes) = (16, 8);
        // Workgroups that Mesa's driver for processors runs at a time, each in a thread. Sums of others have been published.
        let waiting = 32;
        let look = 500 + 1; // The times that a workgroup looks for a sum.
        let digits = 256 + 1; // The digits of one invocation, if it had a workgroup for itself.
        [
            // 64 steps of 16 words, each with a search of at most 8,192 edges; then the sums of 64 bins.
            ("bins.wgsl", (5, 65 * (1 + 16 * 15) + 1025 * 16 + 65 * 34)),
            ("cast.wgsl", (1, 5)),
            ("compact.wgsl", (5, 5 + 4 * 2 * 33)),
            // A tile of 78 rows of 72 numbers, read by 8 rows of 32 invocations in one of two nests, and written.
            ("convolve.wgsl", (6, 2 * (11 + 10 * 4))),
            ("copy_strided.wgsl", (1, walk + 5)),
            ("copy_tile.wgsl", (2, walk + 2 * tile)),
            ("copy_tile_quads.wgsl", (1, walk + 5)),
            ("copy_words.wgsl", (2, walk + 5 + 4 * walk)),
            ("copy_words_tile.wgsl", (5, walk + 3 * tile * (1 + 5))),
            ("copy_words_channels.wgsl", (3, walk + 2 * tile + tile * 5)),
            // The loop runs once more for each other invocation that changes the same element at that time.
            ("float_atomics.wgsl", (1, 0)),
            ("first.wgsl", (1, 8)),
            ("gather.wgsl", (1, 5 + 4 * 65)),
            ("indices.wgsl", (1, 65)),
            ("matmul.wgsl", (1, (part + 1) * 18 + 1)),
            ("matmul_matrices.wgsl", (1, MOST_INNER as u64 / 64 + 2)),
            ("philox.wgsl", (4, 11 + 5)),
            ("scatter.wgsl", (1, walk)),
            // The digits that differ are found, and combined for at most 12 teams.
            ("radix.wgsl", (29, passes * (7 * digits + 5 * (items + 1)) + 3 * (items + 1) + 2 * (passes + 1) + 13)),
            // Tiles that are not there are in five blocks at most. Each block is looked at once more than tiles are missing.
            ("scan.wgsl", (9, 16 * 4 + 6 + (waiting + 6) * (2 * look + 4) + waiting * (3 + 9 + 16 * 4) + look + 6 + 7)),
            // Ends of 4,096 buckets, read by 256 invocations, of which each has 64 keys.
            ("search.wgsl", (4, 17 + 65 * (1 + 13 + search))),
            // Eight digits of 256 counters, cleared, counted and looked at by one lane, in 32 rounds; two sums over 32 teams.
            ("select.wgsl", (9, 9 * (1 + digits + 9 + 2 * digits) + 2 * 33 + 2 * 1025)),
            // Keys are read and written; a lane sorts its own in 10 steps. A subgroup of 32 has 15 steps between lanes, in
            // five rounds with four steps of each lane behind.
            ("sort_network.wgsl", (6, (items + 1) * (2 + 10 + 15 + 5 * 4) + 6 + 5 * 6)),
            ("team_scan.wgsl", (2, (waiting + 1) * (8 * 6 + 9) + (waiting + 6) * 6)),
            ("triangle.wgsl", (1, 5)),
            ("walk.wgsl", (1, walk)),
            ("workgroup_sum.wgsl", (1, 12)),
            ("math/f32.wgsl", (2, rounds(Op::Remainder, DType::F32))),
            ("math/f64.wgsl", (2, rounds(Op::Remainder, DType::F64) + rounds(Op::Sin, DType::F64))),
            ("math/signed.wgsl", (1, rounds(Op::Pow, DType::I64))),
            ("math/unsigned.wgsl", (1, rounds(Op::Pow, DType::U64))),
        ]
        .into()
    }

    #[test]
    fn every_loop_of_the_library_has_a_bound_that_drivers_allow() {
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shaders/library");
        let mut bounds = bounds();
        for folder in ["", "math/"] {
            for file in std::fs::read_dir(library.join(folder)).unwrap().map(Result::unwrap) {
                let name = format!("{folder}{}", file.file_name().to_str().unwrap());
                if !name.ends_with(".wgsl") {
                    continue;
                }
                let text = std::fs::read_to_string(file.path()).unwrap();
                let is_loop = |line: &str| ["for (", "while ", "loop {"].iter().any(|word| line.starts_with(word));
                let n_loops = text.lines().filter(|line| is_loop(line.trim_start())).count();
                let (expected, rounds) = bounds.remove(name.as_str()).unwrap_or_default();
                assert_eq!(n_loops, expected, "{name} has other loops: bound their rounds in this test");
                assert!(rounds <= MAX_ROUNDS, "{name}: {rounds} rounds");
            }
        }
        assert!(bounds.is_empty(), "there are no files {:?}", bounds.keys());
    }
}
