//! [`Network`]: how the keys of short rows are shared among the lanes of a team. Pure.

use vkarray_driver::DeviceInfo;
use vkarray_shaders::functions;

use crate::functions::team::Teams;

/// The fewest keys of a lane, whose loads overlap.
const FEWEST_ITEMS: usize = 4;

/// The most keys of a lane, by the fewest lanes. With sixteen, `f32` in rows of 512 are sorted at 92 Gkeys/s, where the radix
/// sort of rows has 49; with 32 the driver has no registers for them, and rows of 1,024 run at 0.5 (H200, driver 580.159.04,
/// 2026-11-28). Drivers of CPUs, whose subgroups are smaller, take minutes to compile more than a few.
const MOST_ITEMS: [(usize, usize); 2] = [(32, 16), (1, FEWEST_ITEMS)];

/// The rows of one workgroup; see `sort_network.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    pub(super) teams: Teams,
    /// Keys of an invocation.
    items: usize,
    /// Space for the keys of a row.
    row: usize,
}

impl Network {
    /// The network for rows of a length; none for rows that are too long for a team.
    pub(super) fn new(device: &DeviceInfo, length: usize) -> Option<Self> {
        let teams = Teams::new(device, [1, 2, 4, 8, 16, 32, 64, 128], |n_threads| n_threads >= 128);
        let row = length.next_power_of_two();
        let items = (row / teams.lanes()).max(FEWEST_ITEMS);
        let most = MOST_ITEMS.into_iter().find(|&(lanes, _)| teams.lanes() >= lanes)?.1;
        (items <= most).then_some(Self { teams, items, row })
    }

    /// The number of rows of a workgroup.
    pub(super) fn n_rows(self) -> usize {
        self.teams.n_threads() * self.items / self.row
    }

    /// The text of the network, behind those of keys and of places.
    pub(super) fn text(self) -> String {
        let line = |mask: usize| format!("within(&keys, {mask}u);\n");
        let halves = |length: usize| (0..length.ilog2() - 1).rev().map(|bit| 1 << bit);
        let lengths = (1..=self.items.min(self.row).ilog2()).map(|bits| 1 << bits);
        let sorts = lengths.flat_map(|length| std::iter::once(length - 1).chain(halves(length))).map(line);
        let merges = halves(2 * self.items).map(line);
        let network = functions::SORT_NETWORK
            .replace("SORTS\n", &sorts.collect::<String>())
            .replace("MERGES\n", &merges.collect::<String>());
        format!("{}const ITEMS = {}u;\nconst ROW = {}u;\n{network}", self.teams.text(), self.items, self.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::machine;

    #[test]
    fn the_keys_of_a_lane_are_sorted_and_merged_by_lines() {
        let of = |length| Network::new(&machine("h100_580.159"), length).unwrap().text();
        let lines = |masks: &[u32]| masks.iter().map(|mask| format!("within(&keys, {mask}u);\n")).collect::<String>();
        let text = of(100);
        assert!(text.contains("const ITEMS = 4u;\nconst ROW = 128u;\n"), "{text}");
        assert!(text.contains(&format!("    {}    for", lines(&[1, 3, 1]))), "{text}");
        assert!(text.contains(&format!("        {}    }}", lines(&[2, 1]))), "{text}");
        let text = of(2);
        assert!(text.contains(&format!("    {}    for", lines(&[1]))), "{text}");
    }

    #[test]
    fn teams_have_whole_rows_within_the_words_of_their_lanes() {
        for name in ["h100_580.159", "lavapipe_22.3.6", "swiftshader_5.0.0"] {
            let device = machine(name);
            for length in 1..3000 {
                let Some(network) = Network::new(&device, length) else {
                    assert!(length > FEWEST_ITEMS, "{name}: {length}");
                    continue;
                };
                let of_team = network.teams.lanes() * network.items;
                assert!(network.row >= length && of_team % network.row == 0, "{name}: {length} {network:?}");
                assert!(network.n_rows() > 0, "{name}: {length} {network:?}");
            }
        }
    }
}
