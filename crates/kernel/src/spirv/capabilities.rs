//! The capabilities that SPIR-V declares, as what a device must have: [`declared`] and [`capabilities`]. Pure.
//!
//! They are read from the finished words, so a kernel that naga translated with a capability that the device lacks is
//! refused by `requirements/capabilities.rs`, with the feature's name.

use spirv::Op;

use super::shared_atomics::has_wide_shared_atomics;
use super::words::{instructions, op};
use crate::signature::Capability;

/// The capabilities that finished SPIR-V declares: they come first, two words each.
pub(crate) fn declared(spirv: &[u32]) -> Vec<u32> {
    let number = |words: &[u32]| words.get(1).copied().filter(|_| op(words) == Some(Op::Capability));
    instructions(spirv).map_while(number).collect()
}

/// What the device must have for SPIR-V that declares these capabilities, in order, without what every device has.
pub(crate) fn capabilities(numbers: &[u32], spirv: &[u32]) -> Vec<Capability> {
    let mut found: Vec<_> = numbers.iter().filter_map(|&number| Capability::of_spirv(number)).collect();
    if found.contains(&Capability::Int64Atomics) && has_wide_shared_atomics(spirv) {
        found.push(Capability::Int64SharedAtomics);
    }
    found.sort_unstable();
    found.dedup();
    found
}
