//! The text of the kernel of a [`ProductPlan`]. Pure.
//!
//! Loops over the numbers of a tile are written out, and each sum has a variable of its own: WGSL has no hint to unroll a
//! loop, and drivers keep arrays with computed indices in memory. With the sanitizer's checks in each access such a text
//! takes drivers minutes, so the loop stays one there.

use std::fmt::Write;

use vkarray_shaders::functions;

use super::tile::{DEPTH, ProductPlan, ProductTile, Rows};
use crate::functions::operand::Arithmetic;
use crate::generate::with_lines;

/// The definitions of `Four` and `add_products` for numbers that are four `i8` each, and sums of their products.
const FOURS_OF_BYTES: &str = "alias Four = vec4<T>;
fn add_products(sum: Four, a: T, b: Four) -> Four {
    let x = bitcast<u32>(a);
    let y = bitcast<vec4<u32>>(b);
    return sum + Four(dot4I8Packed(x, y.x), dot4I8Packed(x, y.y), dot4I8Packed(x, y.z), dot4I8Packed(x, y.w));
}
";

impl ProductPlan {
    /// The kernel `matmul_tile`. Numbers may be four `i8` each.
    pub(super) fn text(&self, arithmetic: Arithmetic, are_bytes: bool) -> String {
        let Self { tile: ProductTile { lanes, blocks }, stages, has_gap, rows, .. } = *self;
        let access = if rows == Rows::Numbers { functions::MATMUL_NUMBERS } else { functions::MATMUL_QUADS };
        let gap = if has_gap { ", gap: Four" } else { "" };
        let [products, sums, writes] = self.unrolled();
        let main = with_lines(functions::MATMUL, [("SUMS", sums), ("PRODUCTS", products), ("WRITES", writes)]);
        format!(
            "{}{}const LANES_M = {}u;\nconst LANES_N = {}u;\nconst BLOCKS_M = {}u;\nconst BLOCKS_N = {}u;\n\
             const DEPTH = {DEPTH}u;\nconst STAGES = {stages}u;\nconst INSIDE = {};\n\
             struct Column {{ quads: array<array<Four, LANES_M>, BLOCKS_M>{gap} }}\n{access}{main}",
            arithmetic.text(),
            if are_bytes { FOURS_OF_BYTES } else { arithmetic.fours() },
            lanes[0],
            lanes[1],
            blocks[0],
            blocks[1],
            rows == Rows::Inside,
        )
    }

    /// The products of one tile, the declarations of all sums, and their writes.
    fn unrolled(&self) -> [String; 3] {
        let ProductTile { lanes, blocks: [blocks_m, blocks_n] } = self.tile;
        let mut texts = [const { String::new() }; 3];
        let [products, sums, writes] = &mut texts;
        let line = |text: &mut String, arguments: std::fmt::Arguments<'_>| {
            text.write_fmt(arguments).expect("a string takes all text");
        };
        let rounds = if self.is_unrolled {
            (0..DEPTH).map(|depth| (String::new(), format!("{depth}u"))).collect()
        } else {
            vec![("for (var d = 0u; d < DEPTH; d++) ".to_owned(), "d".to_owned())]
        };
        for (round, at) in rounds {
            line(products, format_args!("{round}{{\n"));
            for block in 0..blocks_m {
                line(products, format_args!("let a{block} = tile_a[stage][{at}].quads[{block}u][y];\n"));
            }
            for block in 0..blocks_n {
                line(products, format_args!("let b{block} = tile_b[stage][{at}][{block}u][x];\n"));
            }
            for (m, row, n) in each(blocks_m, blocks_n) {
                let sum = format!("sum_{m}{row}_{n}");
                line(products, format_args!("{sum} = add_products({sum}, a{m}.{row}, b{n});\n"));
            }
            line(products, format_args!("}}\n"));
        }
        for (m, row, n) in each(blocks_m, blocks_n) {
            line(sums, format_args!("var sum_{m}{row}_{n} = Four();\n"));
        }
        for (m, (at, row)) in (0..blocks_m).flat_map(|m| (0..).zip(ROWS).map(move |row| (m, row))) {
            let below = m * 4 * lanes[0] + at;
            line(writes, format_args!("if INSIDE | (own_row + {below}u < matmul.m) {{\n"));
            for n in 0..blocks_n {
                let beside = n * 4 * lanes[1];
                line(
                    writes,
                    format_args!(
                        "write((at + own_row + {below}u) * matmul.n, own_column + {beside}u, sum_{m}{row}_{n});\n"
                    ),
                );
            }
            line(writes, format_args!("}}\n"));
        }
        texts
    }
}

/// The rows of a block, as the components of a column.
const ROWS: [char; 4] = ['x', 'y', 'z', 'w'];

/// Each row of each block of sums: the number of the block along m, the row, and the number of the block along n.
fn each(blocks_m: u32, blocks_n: u32) -> impl Iterator<Item = (u32, char, u32)> {
    (0..blocks_m).flat_map(move |m| ROWS.into_iter().flat_map(move |row| (0..blocks_n).map(move |n| (m, row, n))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of decision 078.
    #[test]
    fn a_step_of_an_invocation_has_64_reads_of_shared_memory_for_1024_products() {
        let tile = ProductTile { lanes: [16, 16], blocks: [2, 2] };
        let plan =
            ProductPlan { tile, stages: 2, has_gap: true, rows: Rows::Inside, is_unrolled: true, part: DEPTH as usize };
        let [products, sums, writes] = plan.unrolled();
        let count = |text: &str, word: &str| text.matches(word).count();
        assert_eq!(
            (count(&products, "= tile_a[") + count(&products, "= tile_b["), count(&products, "add_products(")),
            (64, 256)
        );
        assert_eq!((count(&sums, "Four()"), count(&writes, "write(")), (16, 16));
        let looped = ProductPlan { is_unrolled: false, ..plan };
        assert_eq!((count(&looped.unrolled()[0], "for ("), count(&looped.unrolled()[0], "add_products(")), (1, 16));
    }
}
