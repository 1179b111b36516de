//! [`ScanTile`]: how many numbers of a row a workgroup scans, and how they are shared among its invocations. Pure.

use std::sync::OnceLock;

use vkarray_driver::DeviceInfo;
use vkarray_shaders::functions;

use crate::functions::team::Teams;
use crate::generate::with_lines;

/// The most teams of a workgroup, and words of an invocation, for numbers of one word. 2^28 `f32` ran with 3,025 GB/s; with
/// 32 words and 4, 8 and 16 teams 2,647, 2,720 and 2,637, with 64 words and 8 teams 2,960, with 48 and 4 teams 2,828
/// (H200, driver 580.159.04, 2026-11-28).
const MOST_OF_ONE_WORD: (u32, u32) = (4, 64);

/// The most teams and words for numbers of two or three words. Sums of 2^28 `u32` as 64 bits ran with 2,060 GB/s; with 4
/// teams 992, with 64 words and 4 and 8 teams 1,916 and 1,896 (the same device and day).
const MOST_OF_MORE: (u32, u32) = (8, 32);

/// `scan.wgsl` for 1, 2, 4, 8 and 16 fours of a lane, made at the first use: a text is made for each scan of an array.
static TEXTS: [OnceLock<String>; 5] = [const { OnceLock::new() }; 5];

/// The tile of one workgroup; see `shaders/library/scan.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanTile {
    pub(super) teams: Teams,
    /// Fours of numbers of an invocation, a power of two.
    quads: u32,
}

impl ScanTile {
    /// The tile for rows of `n` numbers of one to three words. Short rows have the fewest teams that take at most four numbers
    /// a lane.
    pub(super) fn new(device: &DeviceInfo, n_words: u32, n: usize) -> Self {
        let (most_teams, most_words) = if n_words == 1 { MOST_OF_ONE_WORD } else { MOST_OF_MORE };
        let teams = Teams::new(device, [1, 2, 4, most_teams], |n_threads| n_threads * 4 >= n);
        let most = most_words / (4 * n_words);
        let quads = [1, 2, 4, 8].into_iter().find(|&quads| quads < most && teams.n_threads() * 4 * quads as usize >= n);
        Self { teams, quads: quads.unwrap_or(most) }
    }

    /// The number of tiles whose sums a team reads at once.
    pub(super) fn block(self) -> usize {
        2 * self.teams.lanes()
    }

    /// The number of numbers.
    pub(super) fn len(self) -> usize {
        self.teams.n_threads() * 4 * self.quads as usize
    }

    /// The text that defines the tile.
    pub(super) fn text(self) -> String {
        format!("{}const QUADS = {}u;\n", self.teams.text(), self.quads)
    }

    /// `scan.wgsl` with the text of each four of a lane.
    pub(super) fn kernel(self) -> &'static str {
        TEXTS[self.quads.ilog2() as usize].get_or_init(|| {
            let each = |line: fn(u32) -> String| (0..self.quads).map(line).collect::<String>();
            let lines = [
                ("LOADS", each(|i| format!("var four{i} = load(range, start_of(range, {i}u, place));\n"))),
                ("SCANS", each(|i| format!("scan_four(&four{i});\nvar end{i} = four{i}[3];\n"))),
                ("STEPS", each(|i| format!("end{i} = with_lane_before(end{i}, by, place);\n"))),
                (
                    "SUMS",
                    each(|i| {
                        format!(
                            "let before{i} = op(sum, previous_lane(end{i}, place));\n\
                             sum = op(sum, last_lane(end{i}, place));\n"
                        )
                    }),
                ),
                (
                    "STORES",
                    each(|i| format!("store(range, start_of(range, {i}u, place), op(before, before{i}), four{i});\n")),
                ),
            ];
            with_lines(functions::SCAN, lines)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::machine;

    #[test]
    fn short_rows_have_small_tiles() {
        let h100 = machine("h100_580.159");
        let cases = [
            // n, words; invocations, fours of each.
            (1, 1, 32, 1),
            (128, 1, 32, 1),
            (129, 1, 64, 1),
            (1024, 1, 128, 2),
            (1025, 1, 128, 4),
            (8192, 1, 128, 16),
            (1 << 28, 1, 128, 16),
            (1 << 28, 2, 256, 4),
        ];
        for (n, words, threads, quads) in cases {
            let tile = ScanTile::new(&h100, words, n);
            assert_eq!((tile.teams.n_threads(), tile.quads), (threads, quads), "{n}");
        }
    }
}
