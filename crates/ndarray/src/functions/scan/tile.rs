//! [`ScanTile`]: how many numbers of a row a workgroup scans, and how they are shared among its invocations. Pure.

use vkarray_driver::DeviceInfo;
use vkarray_shaders::functions;

use crate::functions::team::SubgroupTeam;

/// The tile of one workgroup; see `shaders/library/scan.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanTile {
    pub(super) team: SubgroupTeam,
    teams: u32,
    /// Fours of numbers of an invocation.
    quads: u32,
}

impl ScanTile {
    /// The tile for rows of `n` numbers of one or two words: up to 256 invocations, with 32 words each, which is faster than
    /// 128 invocations or 16 words: 2^28 `f32` by fours ran with 2,381 GB/s, and with 1,611 and 1,940 (H100, driver
    /// 580.159.04, 2026-11-26). Short rows have the fewest teams that take at most four numbers a lane.
    pub(super) fn new(device: &DeviceInfo, n_words: u32, n: usize) -> Self {
        let team = SubgroupTeam::new(device);
        let covers = |teams: u32, quads: u32| (teams * team.lanes() * 4 * quads) as usize >= n;
        let mut teams = team.allowed(device, [1, 2, 4, 8]);
        let teams = teams.clone().find(|&teams| covers(teams, 1)).or_else(|| teams.next_back()).unwrap_or(1);
        let most = 8 / n_words;
        let quads = [1, 2, 4].into_iter().find(|&quads| quads < most && covers(teams, quads)).unwrap_or(most);
        Self { team, teams, quads }
    }

    pub(super) fn n_threads(self) -> usize {
        (self.teams * self.team.lanes()) as usize
    }

    /// The number of tiles whose sums a team reads at once.
    pub(super) fn block(self) -> usize {
        2 * self.team.lanes() as usize
    }

    /// The number of numbers.
    pub(super) fn len(self) -> usize {
        self.n_threads() * 4 * self.quads as usize
    }

    /// The text that defines the tile.
    pub(super) fn text(self) -> String {
        format!("{}const QUADS = {}u;\n", self.team.text(self.teams), self.quads)
    }

    /// `scan.wgsl` with the text of each four of a lane.
    pub(super) fn kernel(self) -> String {
        let each = |line: fn(u32) -> String| (0..self.quads).map(line).collect::<String>();
        functions::SCAN
            .replace("LOADS", &each(|i| format!("var four{i} = load(range, start_of(range, {i}u, place));\n")))
            .replace("SCANS", &each(|i| format!("scan_four(&four{i});\nvar end{i} = four{i}[3];\n")))
            .replace("STEPS", &each(|i| format!("end{i} = with_lane_before(end{i}, by, place);\n")))
            .replace("SUMS", &each(|i| {
                format!(
                    "let before{i} = op(sum, previous_lane(end{i}, place));\nsum = op(sum, last_lane(end{i}, place));\n"
                )
            }))
            .replace("STORES", &each(|i| {
                format!("store(range, start_of(range, {i}u, place), op(before, before{i}), four{i});\n")
            }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> DeviceInfo {
        let path = format!("{}/../../tests/snapshots/{name}.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

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
            assert_eq!((tile.n_threads(), tile.quads), (threads, quads), "{n}");
        }
    }

    #[test]
    fn tiles_have_whole_subgroups_and_no_more_invocations_than_devices_allow() {
        for name in ["h100_580.159", "lavapipe_22.3.6", "swiftshader_5.0.0"] {
            for (subgroup, invocations) in [(4, 128), (8, 256), (32, 128), (64, 128), (64, 1024), (128, 1024)] {
                let mut device = machine(name);
                device.subgroup.size = subgroup;
                device.limits.max_compute_work_group_invocations = invocations;
                for n in [1, 100, 100_000] {
                    let tile = ScanTile::new(&device, 1, n);
                    let size = tile.team.subgroup.unwrap_or(1);
                    let threads = u32::try_from(tile.n_threads()).unwrap();
                    assert!(threads.is_multiple_of(size) && threads <= invocations, "{tile:?}");
                    assert_eq!(size, if subgroup == 128 { 1 } else { subgroup });
                }
            }
        }
    }
}
