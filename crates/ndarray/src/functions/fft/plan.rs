//! [`FftPass`]: in which passes a transform is computed, and by which workgroups. Pure.
//!
//! All lengths are powers of two, named by their binary logarithms. `text.rs` writes the kernel of a pass.

use vkarray_driver::DeviceInfo;
use vkarray_kernel::{Limits, limits_of};

use crate::generate::SANITIZER_BYTES;

/// The longest transform: the kernel counts parts of a circle in `f32`, which has 24 bits.
pub(super) const MOST_BITS: u32 = 24;

/// An invocation has at most 2^5 points, which take 64 registers. 2^20 points ran with 1,711 GB/s, with 2^4 an invocation
/// 1,326 (H200, driver 580.159.04, 2026-11-28).
const MOST_RADIX: u32 = 5;

/// A workgroup has at most 2^13 points: an NVIDIA multiprocessor has registers for two such workgroups. With 2^14, 2^20
/// points ran with 1,055 GB/s (the same device and day).
const MOST_POINTS: u32 = 13;

/// A workgroup that transforms short rows has 2^7 invocations, as many as every device allows.
const ROW_LANES: u32 = 7;

/// A pass over columns reads and writes 2^`.0` neighbouring elements, which are 64 or 32 bytes, in a time that is a multiple
/// of `.1`: two passes of 2^9 run with 1,876 GB/s, of 2^11 with 1,168. Runs of 128 bytes take longer than 64: two passes of
/// 2^8 run with 1,437 and 1,908 GB/s (H200, driver 580.159.04, 2026-11-28).
const COLUMNS: [(u32, u32); 2] = [(3, 5), (2, 8)];

/// The most passes of [`MOST_BITS`], on a device with 64 invocations a workgroup.
const MOST_PASSES: u32 = 4;

/// One pass over all elements, as `fft.wgsl` describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FftPass {
    /// The length of its transforms.
    pub(super) bits: u32,
    /// Transforms of a workgroup.
    pub(super) columns: u32,
    /// The distance of neighbouring points. With a distance of 2^0, transforms are whole rows.
    pub(super) stride: u32,
    /// The product of the lengths of the passes before.
    pub(super) before: u32,
    /// Whether invocations exchange whole points, with half of the barriers, or their parts one after the other. Rows of 4096
    /// ran with 4,133 and 3,997 GB/s so, columns of 512, of which half as many workgroups fit, with 1,680 and 1,876 (H200,
    /// driver 580.159.04, 2026-11-28).
    pub(super) has_whole_points: bool,
}

/// A step of a pass without an exchange: transforms of 2^`radix` points behind transforms of 2^`before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) before: u32,
    pub(super) radix: u32,
}

impl FftPass {
    /// The passes for rows of 2^`bits` elements: one if a row fits into a workgroup, else passes of nearly the same length,
    /// the longest first, that take the least time.
    pub(super) fn all(device: &DeviceInfo, bits: u32) -> Vec<Self> {
        let limits = limits_of(device);
        let fitting = |pass: Self| {
            let forms = [pass.is_rows(), false].map(|has_whole_points| Self { has_whole_points, ..pass });
            forms.into_iter().find(|pass| pass.fits(&limits))
        };
        let row = Self { bits, columns: 0, stride: 0, before: 0, has_whole_points: false };
        let most = (ROW_LANES + row.points()).saturating_sub(bits);
        if let Some(pass) = (0..=most).rev().find_map(|columns| fitting(Self { columns, ..row })) {
            return vec![pass];
        }
        let of_columns = |length: u32, before: u32| {
            let pass = Self { bits: length, stride: bits - length, before, ..row };
            COLUMNS.iter().find_map(|&(columns, time)| Some((fitting(Self { columns, ..pass })?, time)))
        };
        let of = |n_passes: u32| {
            let ends = (0..=n_passes).map(|pass| (pass * bits).div_ceil(n_passes)).collect::<Vec<_>>();
            ends.windows(2).map(|ends| of_columns(ends[1] - ends[0], ends[0])).collect::<Option<Vec<_>>>()
        };
        let passes =
            (2..=MOST_PASSES).filter_map(of).min_by_key(|passes| passes.iter().map(|(_, time)| time).sum::<u32>());
        passes.unwrap_or_default().into_iter().map(|(pass, _)| pass).collect()
    }

    /// Whether its transforms are whole rows.
    pub(super) fn is_rows(self) -> bool {
        self.stride == 0
    }

    /// Points of an invocation, for the fewest stages. There are two at least, so that invocations read neighbouring elements
    /// of short transforms.
    pub(super) fn points(self) -> u32 {
        self.bits.div_ceil(self.bits.div_ceil(MOST_RADIX).max(2))
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
        let width = self.first_bit();
        [(self.stages()[0].radix + width).max(5), width]
    }

    /// The lowest bit of a point's number in its place in shared memory: columns lie side by side, rows one after the other.
    pub(super) fn first_bit(self) -> u32 {
        if self.is_rows() { 0 } else { self.columns }
    }

    /// The axes of shared memory, the slowest first, as ranges of the bits of a place. On an axis, indices are constants or
    /// the same for all points of an invocation, so that few of them are clamped. The first stage alone may have both on one
    /// axis, if its radix is short.
    pub(super) fn axes(self) -> Vec<(u32, u32)> {
        let (first, [pad, _]) = (self.first_bit(), self.pad());
        let stages = self.stages();
        let of = |Stage { before, radix }: &Stage| [*before, before + radix, self.threads() + radix];
        let exchanges = stages[..stages.len() - 1].iter().flat_map(of);
        let inner = exchanges.chain([0, self.threads(), self.bits]).map(|bit| bit + first);
        let mut cuts: Vec<u32> = inner.filter(|&cut| cut == first || cut >= pad).collect();
        cuts.extend([0, pad, self.bits + self.columns]);
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2).rev().map(|cut| (cut[0], cut[1])).collect()
    }

    /// Words of shared memory: points, or a part of each, and the gaps.
    fn shared(self) -> u32 {
        let ([pad, width], words) = (self.pad(), 1 << (self.bits + self.columns));
        words + (words >> pad << width)
    }

    /// Bytes of shared memory.
    fn shared_bytes(self) -> u32 {
        self.shared() * if self.has_whole_points { 8 } else { 4 }
    }

    /// A number that differs from that of passes with another kernel.
    pub(super) fn key(self) -> u32 {
        let flag = u32::from(self.has_whole_points);
        [self.bits, self.stride, self.before, self.columns].into_iter().fold(flag, |key, part| key << 5 | part)
    }

    fn fits(self, limits: &Limits) -> bool {
        let invocations = limits.max_workgroup_invocations.min(limits.max_workgroup_size[0]);
        self.bits + self.columns <= MOST_POINTS
            && self.lanes() <= invocations.max(1).ilog2()
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
    fn large_devices_take_one_pass_to_8192_and_two_to_2_to_the_21() {
        let h100 = machine("h100_580.159");
        let cases: [(u32, &[[u32; 4]]); 8] = [
            (1, &[[2, 128, 128, 2112]]),
            (4, &[[16, 32, 128, 4224]]),
            (12, &[[4096, 1, 256, 33_792]]),
            (13, &[[8192, 1, 256, 33_792]]),
            (14, &[[128, 8, 64, 4608], [128, 8, 64, 4608]]),
            (20, &[[1024, 8, 256, 33_792], [1024, 8, 256, 33_792]]),
            (21, &[[2048, 4, 512, 36_864], [1024, 8, 256, 33_792]]),
            (24, &[[256, 8, 128, 8704], [256, 8, 128, 8704], [256, 8, 128, 8704]]),
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
                    assert_eq!((pass.before, pass.is_rows()), (before, passes.len() == 1), "2^{bits}: {passes:?}");
                    before += pass.bits;
                    assert!(1 << pass.lanes() <= limits.max_compute_work_group_invocations, "2^{bits}: {passes:?}");
                    assert!(pass.shared_bytes() <= limits.max_compute_shared_memory_size, "2^{bits}: {passes:?}");
                    // Columns of a workgroup are of one row, and neighbours in what the pass writes, if it is not the first.
                    assert!(pass.is_rows() || pass.columns <= bits - pass.bits, "2^{bits}: {passes:?}");
                    assert!(pass.before == 0 || pass.columns <= pass.before, "2^{bits}: {passes:?}");
                }
                assert_eq!(before, bits, "{passes:?}");
                assert!(passes.len() <= 4, "2^{bits}: {passes:?}");
            }
        }
    }

    #[test]
    fn stages_multiply_to_the_length() {
        let stages = |bits| {
            let pass = FftPass { bits, columns: 0, stride: 0, before: 0, has_whole_points: false };
            pass.stages().iter().map(|stage| [stage.before, stage.radix]).collect::<Vec<_>>()
        };
        assert_eq!(stages(1), [[0, 1]]);
        assert_eq!(stages(5), [[0, 2], [2, 3]]);
        assert_eq!(stages(10), [[0, 5], [5, 5]]);
        assert_eq!(stages(11), [[0, 3], [3, 4], [7, 4]]);
        assert_eq!(stages(12), [[0, 4], [4, 4], [8, 4]]);
    }
}
