//! [`Teams`]: the invocations of a workgroup, in teams that exchange words without shared memory.

use vkarray_driver::DeviceInfo;
use vkarray_kernel::{Kernel, KernelBuilder, Source};
use vkarray_shaders::functions;

use crate::context::Context;
use crate::error::Result;

/// `VkSubgroupFeatureFlagBits` of the operations that `team_subgroup.wgsl` uses: basic, arithmetic, ballot, shuffle and
/// relative shuffle.
const OPERATIONS: u32 = 1 | 4 | 8 | 16 | 32;

/// The teams of a workgroup. A team is a subgroup, half of one of 64 invocations, or one invocation on devices without the
/// operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Teams {
    /// Invocations of a subgroup, if teams use its operations.
    subgroup: Option<u32>,
    /// The number of teams.
    count: u32,
}

impl Teams {
    /// The fewest teams of these numbers, in ascending order, whose invocations suffice, or the most. A workgroup has whole
    /// subgroups, and no more invocations than the device allows.
    pub(crate) fn new<const N: usize>(device: &DeviceInfo, counts: [u32; N], suffice: impl Fn(usize) -> bool) -> Self {
        let info = &device.subgroup;
        let has_operations = info.in_compute && info.operations & OPERATIONS == OPERATIONS;
        let is_full = device.features.compute_full_subgroups && device.features.subgroup_size_control;
        let subgroup = Some(info.size).filter(|size| has_operations && is_full && (4..=64).contains(size));
        let least = Self { subgroup, count: subgroup.map_or(1, |size| size.div_ceil(32)) };
        let most = device.limits.max_compute_work_group_invocations as usize;
        let all = counts.map(|count| Self { subgroup, count }).into_iter();
        let mut allowed = all.filter(|teams| teams.count % least.count == 0 && teams.n_threads() <= most);
        allowed.clone().find(|teams| suffice(teams.n_threads())).or_else(|| allowed.next_back()).unwrap_or(least)
    }

    /// Invocations of a team.
    pub(crate) fn lanes(self) -> usize {
        self.subgroup.unwrap_or(1).min(32) as usize
    }

    pub(crate) fn count(self) -> usize {
        self.count as usize
    }

    /// Invocations of a workgroup.
    pub(crate) fn n_threads(self) -> usize {
        self.count() * self.lanes()
    }

    /// The text that defines teams, and TEAMS, their number.
    pub(crate) fn text(self) -> String {
        let team = match self.subgroup {
            Some(size) => [&format!("const SUBGROUP = {size}u;\n"), functions::TEAM_SUBGROUP].concat(),
            None => functions::TEAM_ALONE.to_owned(),
        };
        format!("{team}const TEAMS = {}u;\n", self.count)
    }

    /// The kernel with this text, which has that of [`Teams::text`].
    pub(crate) fn kernel(self, ctx: &Context, name: &'static str, text: String, entry: &str) -> Result<Kernel> {
        Ok(self.builder(ctx, name, text, entry).build()?)
    }

    /// What builds [`Teams::kernel`].
    pub(crate) fn builder(self, ctx: &Context, name: &'static str, text: String, entry: &str) -> KernelBuilder {
        let builder = ctx.kernel(Source::wgsl(text).named(name)).entry(entry);
        match self.subgroup {
            Some(size) => builder.subgroup_size(size).full_subgroups(true),
            None => builder,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::machine;

    #[test]
    fn teams_are_whole_subgroups_and_no_more_invocations_than_devices_allow() {
        for name in ["h100_580.159", "lavapipe_22.3.6", "swiftshader_5.0.0"] {
            for (subgroup, invocations) in [(4, 128), (8, 256), (32, 128), (64, 128), (64, 1024), (128, 1024)] {
                let mut device = machine(name);
                device.subgroup.size = subgroup;
                device.limits.max_compute_work_group_invocations = invocations;
                for n in [1, 100, 100_000] {
                    let teams = Teams::new(&device, [1, 2, 4, 8], |n_threads| n_threads * 4 >= n);
                    let size = teams.subgroup.unwrap_or(1);
                    let threads = u32::try_from(teams.n_threads()).unwrap();
                    assert!(threads.is_multiple_of(size) && threads <= invocations, "{teams:?}");
                    assert_eq!(size, if subgroup == 128 { 1 } else { subgroup });
                }
            }
        }
    }
}
