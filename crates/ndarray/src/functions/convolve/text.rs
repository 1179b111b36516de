//! The text of the kernel for filters of one shape: [`FilterPlan`]. Pure.
//!
//! The products of all weights are written out, so that each weight is a field of a struct in constant memory, which takes
//! no instruction to read, and each sum has a variable of its own. A row of the tile is read once for all of its products.

use std::fmt::Write;

use vkarray_kernel::Element;
use vkarray_shaders::functions;

use crate::functions::joining::PadMode;
use crate::generate::with_lines;

/// The most taps of a kernel along either axis. Filters with more are applied in parts.
pub(super) const MOST_TAPS: usize = 15;

/// Invocations of a workgroup.
pub(super) const THREADS: usize = 256;

/// The rows of results of an invocation: the first that the device's shared memory and [`MOST_PRODUCTS`] allow, else one.
/// H100, 580.159.04, 2026-11-27, 9 × 9 on 8192²: 2 rows 0.338 ms, 3 rows 0.323, 4 rows 0.309, 5 rows 0.323, 8 rows 0.367.
const ROWS: [usize; 2] = [4, 2];

/// The most products of vectors in a text, which drivers take time to compile: those of 15 × 15 taps for two rows.
const MOST_PRODUCTS: usize = 2 * MOST_TAPS * MOST_TAPS;

/// How a kernel computes: everything that its text depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilterPlan {
    /// The rows and columns of the filter.
    pub(super) taps: [usize; 2],
    /// Which element a place outside has.
    pub(super) border: Border,
    /// Whether the tile is one row.
    pub(super) is_flat: bool,
    /// Whether the rows of the result are whole fours, which are written at once.
    pub(super) has_quads: bool,
    /// The type in which numbers are computed.
    pub(super) name: &'static str,
    /// Bytes of shared memory that a workgroup of the device can have.
    pub(super) shared_bytes: usize,
}

/// Which element a place outside has: [`PadMode`] without the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Border {
    Constant,
    Edge,
    Reflect,
    Symmetric,
    Wrap,
}

impl Border {
    /// The border of a mode, and its value. Without a mode no result depends on places outside.
    pub(super) fn of<T: Element>(mode: Option<PadMode<T>>) -> (Self, T) {
        match mode {
            Some(PadMode::Constant(value)) => (Self::Constant, value),
            None | Some(PadMode::Edge) => (Self::Edge, T::zeroed()),
            Some(PadMode::Reflect) => (Self::Reflect, T::zeroed()),
            Some(PadMode::Symmetric) => (Self::Symmetric, T::zeroed()),
            Some(PadMode::Wrap) => (Self::Wrap, T::zeroed()),
        }
    }

    /// The statements that return the place inside for the place `at`.
    fn place(self) -> String {
        let mirrored = |period: &str, last: &str| {
            format!("let up = (at % {period} + {period}) % {period};\n    return select({last} - up, up, up < length);")
        };
        match self {
            Self::Constant | Self::Edge => "return clamp(at, 0, length - 1);".to_owned(),
            Self::Reflect => mirrored("max(2 * length - 2, 1)", "2 * length - 2"),
            Self::Symmetric => mirrored("(2 * length)", "2 * length - 1"),
            Self::Wrap => "return (at % length + length) % length;".to_owned(),
        }
    }
}

impl FilterPlan {
    /// Invocations along the columns and rows of a tile, and rows of each invocation.
    fn lanes(self) -> [usize; 3] {
        let [taps_y, taps_x] = self.taps;
        let nbytes = |rows: usize| {
            let quads = 16 + (taps_x + 2) / 4;
            (rows * THREADS / 16 + taps_y - 1) * quads * 4 * if self.name == "f64" { 8 } else { 4 }
        };
        let is_possible = |&rows: &usize| rows * taps_y * taps_x <= MOST_PRODUCTS && nbytes(rows) <= self.shared_bytes;
        match self.is_flat {
            true => [THREADS, 1, 1],
            false => [16, THREADS / 16, ROWS.into_iter().find(is_possible).unwrap_or(1)],
        }
    }

    /// The rows and columns of a tile.
    pub(super) fn tile(self) -> [usize; 2] {
        let [x, y, rows] = self.lanes();
        [rows * y, 4 * x]
    }

    /// What makes kernels different, but for the type.
    pub(super) fn key(self) -> [u32; 2] {
        let [rows, columns] = self.taps.map(|taps| u32::try_from(taps).unwrap_or(u32::MAX));
        [rows << 16 | columns, (self.border as u32) << 2 | u32::from(self.is_flat) << 1 | u32::from(self.has_quads)]
    }

    /// The kernel `convolve_tile`.
    pub(super) fn text(self) -> String {
        let ([taps_y, taps_x], [lanes_x, lanes_y, rows], name) = (self.taps, self.lanes(), self.name);
        let if_inside = |at: u32, index: &str, value: &str| {
            let index = format!("(row * convolve.out_width + column{index}");
            format!("    if column + {at}u < convolve.out_width {{\n        target_image[{index}] = {value};\n    }}\n")
        };
        let (numbers, write) = if self.has_quads {
            (format!("vec4<{name}>"), if_inside(0, ") / 4u", "value"))
        } else {
            let write = (0..4).map(|at| if_inside(at, &format!(" + {at}u)"), &format!("value[{at}]"))).collect();
            (name.to_owned(), write)
        };
        let lines = [("SUMS", self.sums()), ("PRODUCTS", self.products()), ("WRITES", self.writes())];
        let main = with_lines(functions::CONVOLVE, lines);
        let weights = (0..taps_y * taps_x).map(|tap| format!("w{tap}: T, ")).collect::<String>();
        format!(
            "alias T = {name};\nstruct Weights {{ {weights} }}\nconst TAPS_X = {taps_x}u;\nconst TAPS_Y = {taps_y}u;\n\
             const LANES_X = {lanes_x}u;\nconst LANES_Y = {lanes_y}u;\nconst ROWS = {rows}u;\nconst IS_CONSTANT = {};\n\
             @group(0) @binding(2) var<storage, read_write> target_image: array<{numbers}>;\n\
             fn place(at: i32, length: i32) -> i32 {{\n    {}\n}}\n\
             fn write(row: u32, column: u32, value: vec4<T>) {{\n{write}}}\n{main}",
            self.border == Border::Constant,
            self.border.place(),
        )
    }

    fn sums(self) -> String {
        (0..self.lanes()[2]).map(|row| format!("var sum{row} = vec4<T>();\n")).collect()
    }

    fn writes(self) -> String {
        let line = |row| {
            format!(
                "if own_row + {row}u < convolve.out_height {{ write(target_row + {row}u, own_column, sum{row}); }}\n"
            )
        };
        (0..self.lanes()[2]).map(line).collect()
    }

    /// The products of each row of the tile with the rows of the filter that reach it.
    fn products(self) -> String {
        let ([taps_y, taps_x], [.., rows]) = (self.taps, self.lanes());
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a string takes all text");
        for row in 0..rows + taps_y - 1 {
            line("{".to_owned());
            for quad in 0..(taps_x + 2) / 4 + 1 {
                line(format!("let q{quad} = tile[y + {row}u][x + {quad}u];"));
            }
            for column in 0..taps_x {
                let of_tile = |at: usize| format!("q{}.{}", at / 4, PARTS[at % 4]);
                line(format!("let four{column} = vec4<T>({});", [0, 1, 2, 3].map(|i| of_tile(column + i)).join(", ")));
                for sum in (0..rows).filter(|sum| (0..taps_y).contains(&row.wrapping_sub(*sum))) {
                    let tap = (row - sum) * taps_x + column;
                    line(format!("sum{sum} += weights.w{tap} * four{column};"));
                }
            }
            line("}".to_owned());
        }
        text
    }
}

/// The components of a `vec4`.
const PARTS: [char; 4] = ['x', 'y', 'z', 'w'];

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: FilterPlan = FilterPlan {
        taps: [9, 9],
        border: Border::Edge,
        is_flat: false,
        has_quads: true,
        name: "f32",
        shared_bytes: 48 << 10,
    };

    /// The figures of decision 081.
    #[test]
    fn an_invocation_has_36_reads_of_shared_memory_for_1296_products() {
        let products = PLAN.products();
        let count = |word: &str| products.matches(word).count();
        assert_eq!((count("= tile["), 4 * count(" += weights.w")), (36, 1296));
        assert_eq!(PLAN.tile(), [64, 64]);
        let flat = FilterPlan { taps: [1, 5], is_flat: true, ..PLAN };
        assert_eq!((flat.tile(), flat.products().matches("= tile[").count()), ([1, 1024], 2));
    }

    #[test]
    fn large_filters_and_small_memories_have_lower_tiles() {
        for (taps, name, shared_bytes, rows) in [
            ([10, 10], "f32", 48 << 10, 64),
            ([15, 15], "f32", 48 << 10, 32),
            ([9, 9], "f32", 16 << 10, 32),
            ([9, 9], "f64", 32 << 10, 32),
            ([9, 9], "f64", 16 << 10, 16),
        ] {
            assert_eq!(FilterPlan { taps, name, shared_bytes, ..PLAN }.tile(), [rows, 64], "{taps:?} {name}");
        }
    }

    #[test]
    fn kernels_that_differ_have_different_keys() {
        let plans = [
            PLAN,
            FilterPlan { taps: [9, 8], ..PLAN },
            FilterPlan { border: Border::Wrap, ..PLAN },
            FilterPlan { is_flat: true, ..PLAN },
            FilterPlan { has_quads: false, ..PLAN },
        ];
        let keys: std::collections::HashSet<_> = plans.map(FilterPlan::key).into();
        assert_eq!(keys.len(), plans.len());
    }
}
