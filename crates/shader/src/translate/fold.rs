//! Splits a launch along x that is longer than a device allows over several axes: [`Fold`].
//!
//! A device may count no further than 65,535 workgroups on an axis. A longer launch is laid out like the digits of a
//! number: whole planes, then whole rows, then the rest, each a dispatch with a base of its own, so that exactly
//! the requested workgroups run. `binary/folded.rs` of `vkarray-spirv` changes the words of a kernel for it, whatever
//! language it was. `docs/decisions/028` has the reasons. `module.rs` asks for it; when a launch is folded is
//! `pipeline/variants.rs`'s.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How a launch along x is spread over the axes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fold {
    /// Workgroups that fit each axis.
    pub axes: [u32; 3],
    /// Workgroups in all, for a kernel that reads their number; `None` for others.
    pub n_workgroups: Option<u32>,
}

/// One dispatch of a folded launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of its first workgroup.
    pub base: [u32; 3],
    /// Workgroups on x, y and z.
    pub counts: [u32; 3],
}

impl Fold {
    /// The most workgroups that can be folded: as many as the axes have and 32 bits number.
    #[doc(hidden)]
    pub fn capacity([x, y, z]: [u32; 3]) -> u32 {
        x.saturating_mul(y).saturating_mul(z)
    }

    /// The dispatches of a launch of `n` workgroups, which together are those and no more.
    #[doc(hidden)]
    pub fn parts(&self, n: u32) -> SmallVec<[Part; 3]> {
        let [row, n_rows, _] = self.axes;
        let (rows, rest) = (n / row, n % row);
        let (planes, rows) = (rows / n_rows, rows % n_rows);
        let parts = [
            Part { base: [0, 0, 0], counts: [row, n_rows, planes] },
            Part { base: [0, 0, planes], counts: [row, rows, 1] },
            Part { base: [0, rows, planes], counts: [rest, 1, 1] },
        ];
        parts.into_iter().filter(|part| !part.counts.contains(&0)).collect()
    }
}

#[cfg(test)]
mod tests;
