//! [`Tile`]: how many keys a workgroup of the radix sort has, and how they are shared among its invocations. Pure.

use vkarray_driver::DeviceInfo;

use crate::functions::team::Teams;

/// The digits that a key is sorted by have so many values, each with a counter in every team.
const DIGITS: usize = 256;

/// The tile of one workgroup; see `radix.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) teams: Teams,
    /// Keys of an invocation.
    items: usize,
}

impl Tile {
    /// The tile for rows of a length, with keys of one or two words.
    ///
    /// Twelve teams with sixteen keys a lane sort 2^27 hashed `u32` fastest: 30.8 Gkeys/s, against 30.3 with 8 or 16, and
    /// 28.0 with twenty keys (H100, driver 580.159.04, 2026-11-26). Short rows have the fewest teams that take at most
    /// eight keys a lane.
    pub(super) fn new(device: &DeviceInfo, n_words: usize, length: usize) -> Self {
        let words = if n_words == 1 { 1 } else { 2 };
        // A team has two words for each value of a digit, its counter and the bits of lanes, which lie in the memory for
        // the exchange of keys. Teams are halves of subgroups, so that their number is even.
        let shared = device.limits.max_compute_shared_memory_size as usize;
        let most_teams = (device.limits.max_compute_shared_memory_size / 1024).saturating_sub(3) / 4 * 2;
        let counts = [1, 2, 4, 8, 12].map(|count: u32| count.min(most_teams.max(1)));
        let teams = Teams::new(device, counts, |n_threads| n_threads * 8 >= length);
        let n_threads = teams.n_threads();
        // Counters, the starts and moves of digits, and a word for alignment leave the rest to the exchange of keys.
        let rest = shared.saturating_sub(4 * (DIGITS * (teams.count() + 2) + teams.lanes()) + 16);
        let most = (rest / (4 * words * n_threads)).clamp(1, 16 / words);
        let items = [1, 2, 4, 8, 12, 16].into_iter().find(|&items| items <= most && n_threads * items >= length);
        Self { teams, items: items.unwrap_or(most) }
    }

    /// The number of keys.
    pub(super) fn len(self) -> usize {
        self.teams.n_threads() * self.items
    }

    /// The text that defines the tile.
    pub(super) fn text(self) -> String {
        format!("{}const ITEMS = {}u;\n", self.teams.text(), self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::machine;

    #[test]
    fn tiles_fit_into_the_shared_memory_of_the_device() {
        for name in ["h100_580.159", "lavapipe_22.3.6", "swiftshader_5.0.0"] {
            for (shared, n_words, length) in [16, 32, 48, 64].into_iter().flat_map(|kib| {
                [1, 2].into_iter().flat_map(move |n_words| [1, 100, 10_000, 1 << 24].map(|n| (kib << 10, n_words, n)))
            }) {
                let mut device = machine(name);
                device.limits.max_compute_shared_memory_size = shared;
                let tile = Tile::new(&device, n_words, length);
                let exchange = (tile.len() * n_words).max(tile.teams.count() * DIGITS);
                let words = exchange + DIGITS * (tile.teams.count() + 2) + tile.teams.lanes();
                assert!(4 * words + 16 <= shared as usize, "{name}, {shared} bytes, {n_words}, {length}: {tile:?}");
            }
        }
    }
}
