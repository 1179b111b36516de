//! [`SubgroupTeam`]: invocations that exchange words without shared memory.

use vkarray_driver::DeviceInfo;
use vkarray_kernel::{Kernel, Source};
use vkarray_shaders::functions;

use crate::context::Context;
use crate::error::Result;

/// `VkSubgroupFeatureFlagBits` of the operations that `team_subgroup.wgsl` uses: basic, arithmetic, ballot, shuffle and
/// relative shuffle.
const OPERATIONS: u32 = 1 | 4 | 8 | 16 | 32;

/// A team is a subgroup, half of one of 64 invocations, or one invocation on devices without the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubgroupTeam {
    /// Invocations of a subgroup, if teams use its operations.
    pub(crate) subgroup: Option<u32>,
}

impl SubgroupTeam {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        let info = &device.subgroup;
        let has_operations = info.in_compute && info.operations & OPERATIONS == OPERATIONS;
        let is_full = device.features.compute_full_subgroups && device.features.subgroup_size_control;
        Self { subgroup: Some(info.size).filter(|size| has_operations && is_full && (4..=64).contains(size)) }
    }

    /// Invocations of a team.
    pub(crate) fn lanes(self) -> u32 {
        self.subgroup.unwrap_or(1).min(32)
    }

    /// Which of these numbers of teams a workgroup can have, in order: whole subgroups, as the device allows.
    pub(crate) fn allowed<const N: usize>(
        self,
        device: &DeviceInfo,
        teams: [u32; N],
    ) -> impl DoubleEndedIterator<Item = u32> + Clone + use<N> {
        let (lanes, most) = (self.lanes(), device.limits.max_compute_work_group_invocations);
        let at_least = self.subgroup.map_or(1, |size| size / lanes);
        teams.into_iter().filter(move |teams| teams % at_least == 0 && teams * lanes <= most)
    }

    /// The text that defines teams, and TEAMS, their number in a workgroup.
    pub(crate) fn text(self, teams: u32) -> String {
        let team = match self.subgroup {
            Some(size) => [&format!("const SUBGROUP = {size}u;\n"), functions::TEAM_SUBGROUP].concat(),
            None => functions::TEAM_ALONE.to_owned(),
        };
        format!("{team}const TEAMS = {teams}u;\n")
    }

    /// The kernel with this text, which has that of [`SubgroupTeam::text`].
    pub(crate) fn kernel(self, ctx: &Context, name: &'static str, text: String, entry: &str) -> Result<Kernel> {
        let builder = ctx.kernel(Source::wgsl(text).named(name)).entry(entry);
        Ok(match self.subgroup {
            Some(size) => builder.subgroup_size(size).full_subgroups(true),
            None => builder,
        }
        .build()?)
    }
}
