//! [`Tile`]: how many keys a workgroup of the radix sort has, and how they are shared among its invocations. Pure.

use vkarray_driver::DeviceInfo;

use crate::functions::team::SubgroupTeam;

/// The digits that a key is sorted by have so many values, each with a counter in every team.
const DIGITS: u32 = 256;

/// The tile of one workgroup. A team is a subgroup, or a part of one; see `radix.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) team: SubgroupTeam,
    teams: u32,
    /// Keys of an invocation.
    items: u32,
}

impl Tile {
    /// The tile for rows of a length, with keys of one or two words.
    ///
    /// Twelve teams with sixteen keys a lane sort 2^27 hashed `u32` fastest: 30.8 Gkeys/s, against 30.3 with 8 or 16, and
    /// 28.0 with twenty keys (H100, driver 580.159.04, 2026-11-26). Short rows have the fewest teams that take at most
    /// eight keys a lane.
    pub(super) fn new(device: &DeviceInfo, n_words: usize, length: usize) -> Self {
        let words = if n_words == 1 { 1 } else { 2 };
        let team = SubgroupTeam::new(device);
        let lanes = team.lanes();
        let covers = |teams: u32, items: u32| (teams * lanes * items) as usize >= length;
        let mut teams = team.allowed(device, [1, 2, 4, 8, 12]);
        let teams = teams.clone().find(|&teams| covers(teams, 8)).or_else(|| teams.next_back()).unwrap_or(1);
        // Counters, the starts and moves of digits, and a word for alignment leave the rest to the exchange of keys.
        let rest = device.limits.max_compute_shared_memory_size.saturating_sub(4 * (DIGITS * (teams + 2) + lanes) + 16);
        let most = (rest / (4 * words * teams * lanes)).clamp(1, 16 / words);
        let items =
            [1, 2, 4, 8, 12, 16].into_iter().find(|&items| items <= most && covers(teams, items)).unwrap_or(most);
        Self { team, teams, items }
    }

    /// The number of keys.
    pub(super) fn len(self) -> usize {
        (self.n_threads() * self.items) as usize
    }

    /// Invocations of a workgroup.
    pub(super) fn n_threads(self) -> u32 {
        self.teams * self.team.lanes()
    }

    /// The text that defines the tile.
    pub(super) fn text(self) -> String {
        format!("{}const ITEMS = {}u;\n", self.team.text(self.teams), self.items)
    }
}
