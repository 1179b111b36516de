//! [`ProductPlan`]: with which tiles a product of matrices is computed, and in how many parts. Pure.
//!
//! `text.rs` writes the kernel, `matmul.rs` runs it.

use vkarray_driver::DeviceInfo;
use vkarray_kernel::{Limits, limits_of};

use crate::generate::{PRODUCTS, SANITIZER_BYTES};

/// The part of a result that one workgroup computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProductTile {
    /// Invocations of a workgroup along the rows and the columns of the tile; columns have a multiple of 8.
    pub(super) lanes: [u32; 2],
    /// Blocks of 4 × 4 numbers that an invocation computes, likewise.
    pub(super) blocks: [u32; 2],
}

/// Numbers of the inner axis that a workgroup has in shared memory at a time: a multiple of 4.
pub(super) const DEPTH: u32 = 16;

const LARGE: ProductTile = ProductTile { lanes: [16, 16], blocks: [2, 2] };
const MEDIUM: ProductTile = ProductTile { lanes: [16, 16], blocks: [1, 1] };
const SMALL: ProductTile = ProductTile { lanes: [8, 8], blocks: [1, 1] };

/// The tiles, the largest first.
const TILES: &[ProductTile] = &[LARGE, MEDIUM, SMALL];

/// For the devices of a vendor: how many workgroups keep one busy, and the fewest products that a part of the inner axis
/// has.
///
/// H100, H200: 132 multiprocessors, each with room for two workgroups of the large tile. 1000 × 777 × 1333 ran with 19.6,
/// 20.5 and 20.3 TFLOP/s for 132, 264 and 528 busy workgroups, and with 20.3, 20.5 and 19.4 for parts of 128, 256 and 512
/// (H100, driver 580.159.04, 2026-11-26). Mesa: a processor, which parts cannot keep busier. The rest are estimates.
fn busy_and_part(vendor: u32) -> (usize, usize) {
    match vendor {
        0x10de => (264, 256),
        0x1_0005 => (1, 4096),
        _ => (64, 256),
    }
}

/// A tile is taken if it covers at most this many eighths of what the tile that fits best covers. An estimate: no size was
/// measured at which it decides between tiles.
const WASTE: usize = 10;

/// How the rows of both operands are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// Four numbers at a time; tiles divide the matrices.
    Inside,
    /// Four numbers at a time.
    Quads,
    /// One number at a time.
    Numbers,
}

/// The sizes of a product: rows and columns of the result, the length that is added up, and the number of matrices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) n: usize,
    pub(super) count: usize,
}

/// How a product is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProductPlan {
    pub(super) tile: ProductTile,
    /// Tiles of each operand in shared memory: while products of one are added up, the other is filled.
    pub(super) stages: u32,
    /// Whether rows of the first operand's tile lie apart, which avoids half of the conflicts of writes.
    pub(super) has_gap: bool,
    pub(super) rows: Rows,
    /// Whether the kernel has no loop over the numbers of a tile.
    pub(super) is_unrolled: bool,
    /// Numbers in a part of the inner axis: a multiple of [`DEPTH`], unless there is one part.
    pub(super) part: usize,
}

impl ProductPlan {
    /// The plan for numbers of a size. The inner axis has at most `most_parts` parts, unless [`PRODUCTS`] asks for more.
    pub(super) fn new(
        device: &DeviceInfo,
        sizes: Sizes,
        itemsize: usize,
        most_parts: usize,
        is_unrolled: bool,
    ) -> Self {
        let (limits, (busy, part)) = (limits_of(device), busy_and_part(device.vendor_id));
        let fitting = || TILES.iter().filter_map(|tile| Some((*tile, tile.stages(&limits, itemsize)?)));
        let least = fitting().map(|(tile, _)| tile.covered(sizes)).min().unwrap_or(0);
        let mut suitable = fitting().filter(|(tile, _)| tile.covered(sizes) * 8 <= least * WASTE);
        let most_parts = (sizes.k / part).min(most_parts).max(1);
        let n_parts = |tile: &ProductTile| (busy / tile.groups(sizes)).clamp(1, most_parts);
        let is_busy = |(tile, _): &(ProductTile, _)| tile.groups(sizes) * n_parts(tile) * 4 >= busy;
        let found = suitable.clone().find(is_busy).or_else(|| suitable.next_back());
        let (tile, (stages, has_gap)) = found.unwrap_or((SMALL, (1, false)));
        let n_parts = n_parts(&tile).max(sizes.k.div_ceil(PRODUCTS));
        let part = sizes.k.div_ceil(n_parts).next_multiple_of(DEPTH as usize);
        let is_whole = |(length, unit): (usize, u32)| length.is_multiple_of(unit as usize);
        let [rows, columns] = tile.sides();
        let rows = if [(sizes.m, rows), (sizes.n, columns), (sizes.k, DEPTH)].into_iter().all(is_whole) {
            Rows::Inside
        } else if [(sizes.k, 4), (sizes.n, 4)].into_iter().all(is_whole) {
            Rows::Quads
        } else {
            Rows::Numbers
        };
        Self { tile, stages, has_gap, rows, is_unrolled, part }
    }

    /// A number that differs from that of other plans with another kernel.
    pub(super) fn key(self) -> u32 {
        let Self { tile: ProductTile { lanes, blocks }, stages, has_gap, rows, is_unrolled, .. } = self;
        let sides = lanes.into_iter().chain(blocks).fold(0, |key, side| key << 6 | side);
        sides << 6 | stages << 4 | u32::from(is_unrolled) << 3 | u32::from(has_gap) << 2 | rows as u32
    }
}

impl ProductTile {
    /// Invocations of a workgroup.
    pub(super) fn n_lanes(self) -> u32 {
        self.lanes[0] * self.lanes[1]
    }

    /// Rows and columns of the tile.
    pub(super) fn sides(self) -> [u32; 2] {
        [0, 1].map(|axis| 4 * self.lanes[axis] * self.blocks[axis])
    }

    /// Workgroups for all tiles of a product.
    pub(super) fn groups(self, sizes: Sizes) -> usize {
        let [rows, columns] = self.sides().map(|side| side as usize);
        sizes.count * sizes.m.div_ceil(rows) * sizes.n.div_ceil(columns)
    }

    /// Numbers of all tiles of a product, of which those outside the result are computed in vain.
    fn covered(self, sizes: Sizes) -> usize {
        let [rows, columns] = self.sides().map(|side| side as usize);
        self.groups(sizes).saturating_mul(rows * columns)
    }

    /// How many stages fit into the shared memory of a device, and whether a gap does: `None` if no stage or not so many
    /// invocations do.
    fn stages(self, limits: &Limits, itemsize: usize) -> Option<(u32, bool)> {
        let is_allowed = self.n_lanes() <= limits.max_workgroup_invocations.min(limits.max_workgroup_size[0]);
        let quads = self.sides().iter().sum::<u32>() / 4;
        let bytes =
            |stages: u32, has_gap: bool| u64::from(stages * DEPTH * (quads + u32::from(has_gap))) * 4 * itemsize as u64;
        let fits = |&(stages, has_gap): &(u32, bool)| {
            bytes(stages, has_gap) <= limits.max_shared_bytes.saturating_sub(SANITIZER_BYTES).into()
        };
        [(2, true), (2, false), (1, false)].into_iter().find(fits).filter(|_| is_allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::machine;

    fn plan(device: &DeviceInfo, [m, k, n, count]: [usize; 4], itemsize: usize) -> ProductPlan {
        ProductPlan::new(device, Sizes { m, k, n, count }, itemsize, usize::MAX, true)
    }

    #[test]
    fn tiles_keep_the_device_busy_and_waste_little() {
        let h100 = machine("h100_580.159");
        let cases = [
            // m, k, n, matrices; the tile; parts of the inner axis; how rows are read.
            ([4096, 4096, 4096, 1], LARGE, 1, Rows::Inside),
            ([1000, 777, 1333, 1], LARGE, 3, Rows::Numbers),
            ([512, 512, 512, 1], MEDIUM, 2, Rows::Inside),
            ([128, 65_536, 128, 1], LARGE, 256, Rows::Inside),
            ([64, 64, 64, 1], SMALL, 1, Rows::Inside),
            ([32, 32, 32, 65_536], SMALL, 1, Rows::Inside),
            ([64, 64, 64, 65_536], MEDIUM, 1, Rows::Inside),
            ([2000, 36, 40, 100], MEDIUM, 1, Rows::Quads),
            ([2000, 36, 68, 100], SMALL, 1, Rows::Quads), // Larger tiles would compute 128 columns, not 96.
            ([2, 2, 2, 1], SMALL, 1, Rows::Numbers),
        ];
        for (sizes, tile, n_parts, rows) in cases {
            let found = plan(&h100, sizes, 4);
            let parts = sizes[1].div_ceil(found.part);
            assert_eq!((found.tile, parts, found.rows), (tile, n_parts, rows), "{sizes:?}");
            assert_eq!((found.stages, found.has_gap), (2, true), "{sizes:?}");
        }
    }

    #[test]
    fn no_kernel_goes_round_its_loop_too_often() {
        let lavapipe = machine("lavapipe_22.3.6");
        for k in [1, 16, PRODUCTS, PRODUCTS + 1, 5 * PRODUCTS] {
            let found = plan(&lavapipe, [8, k, 8, 1], 4);
            assert!(found.part <= PRODUCTS && k.div_ceil(found.part) == k.div_ceil(PRODUCTS), "{k}");
        }
    }

    #[test]
    fn tiles_fit_into_shared_memory() {
        let h100 = machine("h100_580.159");
        for itemsize in [4, 8] {
            for kibibytes in [16, 32, 48, 64] {
                for invocations in [64, 128, 256] {
                    let mut device = h100.clone();
                    device.limits.max_compute_shared_memory_size = kibibytes << 10;
                    device.limits.max_compute_work_group_invocations = invocations;
                    let found = plan(&device, [4096, 4096, 4096, 1], itemsize);
                    let [rows, columns] = found.tile.sides();
                    let row = (rows + columns) as usize + if found.has_gap { 4 } else { 0 };
                    let bytes = found.stages as usize * DEPTH as usize * row * itemsize;
                    assert!(bytes < (kibibytes << 10) as usize, "{itemsize} {kibibytes} {invocations}: {bytes}");
                    assert!(found.tile.n_lanes() <= invocations);
                    // Each load has an invocation.
                    assert!((rows + columns) / 4 * (DEPTH / 4) <= found.tile.n_lanes());
                }
            }
        }
    }

    #[test]
    fn kernels_have_different_keys() {
        let of = |tile, stages, has_gap, rows, is_unrolled| {
            ProductPlan { tile, stages, has_gap, rows, is_unrolled, part: 16 }.key()
        };
        let mut keys = Vec::new();
        for tile in [LARGE, MEDIUM, SMALL] {
            for rows in [Rows::Inside, Rows::Quads, Rows::Numbers] {
                for [is_unrolled, has_gap] in [[false, false], [false, true], [true, false], [true, true]] {
                    keys.extend([1, 2].map(|stages| of(tile, stages, has_gap, rows, is_unrolled)));
                }
            }
        }
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
