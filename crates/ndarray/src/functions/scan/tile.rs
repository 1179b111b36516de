//! [`ScanTile`]: how many numbers of a row a workgroup scans, and how they are shared among its invocations. Pure.

use vkarray_driver::DeviceInfo;

use crate::functions::team::Team;

/// The tile of one workgroup; see `shaders/library/scan.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanTile {
    pub(super) team: Team,
    teams: u32,
    /// Numbers of an invocation.
    items: u32,
}

impl ScanTile {
    /// The tile for rows of `n` numbers of one or two words: up to 256 invocations, with 32 words each. Short rows have the
    /// fewest teams that take at most four numbers a lane.
    pub(super) fn new(device: &DeviceInfo, n_words: u32, n: usize) -> Self {
        let team = Team::new(device);
        let covers = |teams: u32, items: u32| (teams * team.lanes() * items) as usize >= n;
        let mut teams = team.allowed(device, [1, 2, 4, 8]);
        let teams = teams.clone().find(|&teams| covers(teams, 4)).or_else(|| teams.next_back()).unwrap_or(1);
        let most = 32 / n_words;
        let items = [1, 2, 4, 8, 16].into_iter().find(|&items| items < most && covers(teams, items)).unwrap_or(most);
        Self { team, teams, items }
    }

    pub(super) fn n_threads(self) -> usize {
        (self.teams * self.team.lanes()) as usize
    }

    /// The number of numbers.
    pub(super) fn len(self) -> usize {
        self.n_threads() * self.items as usize
    }

    /// The text that defines the tile.
    pub(super) fn text(self) -> String {
        format!("{}const ITEMS = {}u;\n", self.team.text(self.teams), self.items)
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
            // n, words; invocations, numbers of each.
            (1, 1, 32, 1),
            (33, 1, 32, 2),
            (128, 1, 32, 4),
            (129, 1, 64, 4),
            (1024, 1, 256, 4),
            (1025, 1, 256, 8),
            (8192, 1, 256, 32),
            (1 << 28, 1, 256, 32),
            (1 << 28, 2, 256, 16),
        ];
        for (n, words, threads, items) in cases {
            let tile = ScanTile::new(&h100, words, n);
            assert_eq!((tile.n_threads(), tile.items), (threads, items), "{n}");
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
                    assert!(tile.n_threads() as u32 % size == 0 && tile.n_threads() as u32 <= invocations, "{tile:?}");
                    assert_eq!(size, if subgroup == 128 { 1 } else { subgroup });
                }
            }
        }
    }
}
