//! [`FftPass`]: in which passes a transform is computed, and by which workgroups. Pure.
//!
//! All lengths are powers of two, named by their binary logarithms. `text.rs` writes the kernel of a pass.

use vkarray_driver::DeviceInfo;
use vkarray_kernel::{Limits, limits_of};

use crate::generate::SANITIZER_BYTES;

/// The longest transform: the kernel counts parts of a circle in `f32`, which has 24 bits.
pub(super) const MOST_BITS: u32 = 24;

/// Workgroups have at most 2^9 invocations, of which an NVIDIA multiprocessor has room for four with 32 registers each.
const MOST_LANES: u32 = 9;

/// A workgroup that transforms short rows has 2^7 invocations, as many as every device allows.
const ROW_LANES: u32 = 7;

/// A pass over columns reads and writes 2^2 to 2^4 neighbouring elements, which are 32 to 128 bytes.
const COLUMNS: [u32; 3] = [4, 3, 2];

/// One pass over all elements, as `fft.wgsl` describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FftPass {
    /// The length of its transforms.
    pub(super) bits: u32,
    /// Transforms of a workgroup.
    pub(super) columns: u32,
    /// Whether its transforms are whole rows.
    pub(super) is_rows: bool,
    /// The product of the lengths of the passes before.
    pub(super) before: u32,
    /// Whether invocations exchange whole points, with half of the barriers, or their parts one after the other.
    pub(super) has_whole_points: bool,
}

/// A step of a pass without an exchange: transforms of 2^`radix` points behind transforms of 2^`before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) before: u32,
    pub(super) radix: u32,
}

impl FftPass {
    /// The fewest passes for rows of 2^`bits` elements: one if a row fits into a workgroup, else passes of nearly the same
    /// length, the longest first. Whole points are exchanged wherever they fit.
    pub(super) fn all(device: &DeviceInfo, bits: u32) -> Vec<Self> {
        let limits = limits_of(device);
        let first_of = |pass: Self, columns: &[u32]| {
            let passes =
                |has_whole_points| columns.iter().map(move |&columns| Self { columns, has_whole_points, ..pass });
            [true, false].into_iter().flat_map(passes).find(|pass| pass.fits(&limits))
        };
        let row = Self { bits, columns: 0, is_rows: true, before: 0, has_whole_points: false };
        let columns: Vec<u32> = (0..=(ROW_LANES + row.points()).saturating_sub(bits)).rev().collect();
        if let Some(pass) = first_of(row, &columns) {
            return vec![pass];
        }
        let columns = |bits: u32, before: u32| first_of(Self { bits, is_rows: false, before, ..row }, &COLUMNS);
        let of = |n_passes: u32| {
            let ends = (0..=n_passes).map(|pass| (pass * bits).div_ceil(n_passes)).collect::<Vec<_>>();
            ends.windows(2).map(|ends| columns(ends[1] - ends[0], ends[0])).collect::<Option<Vec<_>>>()
        };
        (2..=bits).find_map(of).unwrap_or_default()
    }

    /// Points of an invocation: 16, and fewer of short transforms, so that invocations read neighbouring elements.
    pub(super) fn points(self) -> u32 {
        (self.bits / 2).clamp(1, 4)
    }

    /// Invocations of one transform.
    pub(super) fn threads(self) -> u32 {
        self.bits - self.points()
    }

    /// Invocations of a workgroup.
    pub(super) fn lanes(self) -> u32 {
        self.threads() + self.columns
    }

    /// The stages. Only the first may have a shorter radix than the points of an invocation, since it turns no points.
    pub(super) fn stages(self) -> Vec<Stage> {
        let points = self.points();
        let first = (self.bits - 1) % points + 1;
        let rest = (first..self.bits).step_by(points as usize).map(|before| Stage { before, radix: points });
        std::iter::once(Stage { before: 0, radix: first }).chain(rest).collect()
    }

    /// Each 2^`.0` words of shared memory are followed by a gap of 2^`.1`: with it, neighbouring invocations write the points
    /// of the first stage to different ones of 32 banks.
    pub(super) fn pad(self) -> [u32; 2] {
        let width = if self.is_rows { 0 } else { self.columns };
        [(self.stages()[0].radix + width).max(5), width]
    }

    /// Where a word of the exchange is, by its number.
    pub(super) fn padded(self, at: u32) -> u32 {
        let [pad, width] = self.pad();
        at + (at >> pad << width)
    }

    /// What shared memory has: points, or a part of each.
    pub(super) fn shared(self) -> u32 {
        self.padded((1 << (self.bits + self.columns)) - 1) + 1
    }

    /// Bytes of shared memory.
    fn shared_bytes(self) -> u32 {
        self.shared() * if self.has_whole_points { 8 } else { 4 }
    }

    /// A number that differs from that of passes with another kernel.
    pub(super) fn key(self) -> u32 {
        let flags = [self.is_rows, self.before > 0, self.has_whole_points].map(u32::from);
        (self.bits << 4 | self.columns) << 3 | flags[0] << 2 | flags[1] << 1 | flags[2]
    }

    fn fits(self, limits: &Limits) -> bool {
        let invocations = limits.max_workgroup_invocations.min(limits.max_workgroup_size[0]);
        self.lanes() <= MOST_LANES.min(invocations.max(1).ilog2())
            && self.shared_bytes() <= limits.max_shared_bytes.saturating_sub(SANITIZER_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::machine;

    /// The length, the columns, the invocations and the bytes of shared memory of each pass.
    fn plan(device: &DeviceInfo, bits: u32) -> Vec<[u32; 4]> {
        let of = |pass: &FftPass| [1 << pass.bits, 1 << pass.columns, 1 << pass.lanes(), pass.shared_bytes()];
        FftPass::all(device, bits).iter().map(of).collect()
    }

    /// The figures of decision 079.
    #[test]
    fn large_devices_take_one_pass_to_8192_and_two_to_2_to_the_22() {
        let h100 = machine("h100_580.159");
        let cases: [(u32, &[[u32; 4]]); 8] = [
            (1, &[[2, 128, 128, 2104]]),
            (4, &[[16, 32, 128, 4216]]),
            (12, &[[4096, 1, 256, 33_784]]),
            (13, &[[8192, 1, 512, 33_788]]),
            (14, &[[128, 16, 256, 24_448], [128, 16, 256, 24_448]]),
            (20, &[[1024, 4, 256, 36_832], [1024, 4, 256, 36_832]]),
            (21, &[[2048, 4, 512, 36_848], [1024, 4, 256, 36_832]]),
            (24, &[[256, 16, 256, 34_688], [256, 16, 256, 34_688], [256, 16, 256, 34_688]]),
        ];
        for (bits, passes) in cases {
            assert_eq!(plan(&h100, bits), passes, "2^{bits}");
        }
    }

    #[test]
    fn every_length_has_passes_that_fit_every_device() {
        let h100 = machine("h100_580.159");
        let mut devices = vec![h100.clone(), machine("lavapipe_22.3.6"), machine("swiftshader_5.0.0")];
        for (kibibytes, invocations) in [(16, 128), (16, 256), (32, 128), (32, 1024), (16, 64)] {
            let mut device = h100.clone();
            device.limits.max_compute_shared_memory_size = kibibytes << 10;
            device.limits.max_compute_work_group_invocations = invocations;
            devices.push(device);
        }
        for device in &devices {
            let limits = &device.limits;
            for bits in 1..=MOST_BITS {
                let (passes, mut before) = (FftPass::all(device, bits), 0);
                for pass in &passes {
                    assert_eq!((pass.before, pass.is_rows), (before, passes.len() == 1), "2^{bits}: {passes:?}");
                    before += pass.bits;
                    assert!(1 << pass.lanes() <= limits.max_compute_work_group_invocations, "2^{bits}: {passes:?}");
                    assert!(pass.shared_bytes() <= limits.max_compute_shared_memory_size, "2^{bits}: {passes:?}");
                    // Columns of a workgroup are of one row, and neighbours in what the pass writes, if it is not the first.
                    assert!(pass.is_rows || pass.columns <= bits - pass.bits, "2^{bits}: {passes:?}");
                    assert!(pass.before == 0 || pass.columns <= pass.before, "2^{bits}: {passes:?}");
                }
                assert_eq!(before, bits, "{passes:?}");
                assert!(passes.len() <= 3, "2^{bits}: {passes:?}");
            }
        }
    }

    #[test]
    fn stages_multiply_to_the_length() {
        let stages = |bits| {
            let pass = FftPass { bits, columns: 0, is_rows: true, before: 0, has_whole_points: false };
            pass.stages().iter().map(|stage| [stage.before, stage.radix]).collect::<Vec<_>>()
        };
        assert_eq!(stages(1), [[0, 1]]);
        assert_eq!(stages(5), [[0, 1], [1, 2], [3, 2]]);
        assert_eq!(stages(11), [[0, 3], [3, 4], [7, 4]]);
        assert_eq!(stages(12), [[0, 4], [4, 4], [8, 4]]);
    }
}
