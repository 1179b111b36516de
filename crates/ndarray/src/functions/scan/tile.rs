//! [`ScanTile`]: how many numbers of a row a workgroup scans, and how they are shared among its invocations. Pure.

use vkarray_driver::DeviceInfo;
use vkarray_shaders::functions;

use crate::functions::team::Teams;
use crate::generate::with_lines;

/// The tile of one workgroup; see `shaders/library/scan.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanTile {
    pub(super) teams: Teams,
    /// Fours of numbers of an invocation.
    quads: u32,
}

impl ScanTile {
    /// The tile for rows of `n` numbers of one to three words: up to 256 invocations, with 32 words each, which is faster than
    /// 128 invocations or 16 words: 2^28 `f32` ran with 2,381 GB/s, and with 1,611 and 1,940, in a form that read
    /// the sums of others by read-modify-writes (H100, driver 580.159.04, 2026-11-26). Short rows have the fewest teams that take at most four numbers a lane.
    pub(super) fn new(device: &DeviceInfo, n_words: u32, n: usize) -> Self {
        let teams = Teams::new(device, [1, 2, 4, 8], |n_threads| n_threads * 4 >= n);
        let most = 8 / n_words;
        let quads = [1, 2, 4].into_iter().find(|&quads| quads < most && teams.n_threads() * 4 * quads as usize >= n);
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
    pub(super) fn kernel(self) -> String {
        let each = |line: fn(u32) -> String| (0..self.quads).map(line).collect::<String>();
        let lines = [
            ("LOADS", each(|i| format!("var four{i} = load(range, start_of(range, {i}u, place));\n"))),
            ("SCANS", each(|i| format!("scan_four(&four{i});\nvar end{i} = four{i}[3];\n"))),
            ("STEPS", each(|i| format!("end{i} = with_lane_before(end{i}, by, place);\n"))),
            (
                "SUMS",
                each(|i| {
                    format!(
                        "let before{i} = op(sum, previous_lane(end{i}, place));\nsum = op(sum, last_lane(end{i}, place));\n"
                    )
                }),
            ),
            (
                "STORES",
                each(|i| format!("store(range, start_of(range, {i}u, place), op(before, before{i}), four{i});\n")),
            ),
        ];
        with_lines(functions::SCAN, lines)
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
            (1024, 1, 256, 1),
            (1025, 1, 256, 2),
            (8192, 1, 256, 8),
            (1 << 28, 1, 256, 8),
            (1 << 28, 2, 256, 4),
        ];
        for (n, words, threads, quads) in cases {
            let tile = ScanTile::new(&h100, words, n);
            assert_eq!((tile.teams.n_threads(), tile.quads), (threads, quads), "{n}");
        }
    }
}
