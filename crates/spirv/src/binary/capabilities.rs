//! The capabilities that SPIR-V declares, as what a device must have: [`declared`] and [`capabilities`]. Pure.
//!
//! They are read from the finished words, so a kernel that naga translated with a capability that the device lacks is
//! refused by `fits/capabilities.rs` of `vkarray-kernel`, with the feature's name.

use std::collections::BTreeSet;

use spirv::Op;

use super::atomics::atomics;
use super::words::{instructions, op};
use crate::signature::{Capability, FloatAtomic};

/// The capabilities that finished SPIR-V declares: they come first, two words each.
pub fn declared(spirv: &[u32]) -> Vec<u32> {
    let number = |words: &[u32]| words.get(1).copied().filter(|_| op(words) == Some(Op::Capability));
    instructions(spirv).map_while(number).collect()
}

/// What the device must have for SPIR-V that declares these capabilities, in order, without what every device has.
pub fn capabilities(numbers: &[u32], spirv: &[u32]) -> Vec<Capability> {
    let by_instructions = atomics(spirv);
    // The declaration does not say which memory the floats are in; where instructions do, it says nothing.
    let is_said = |declared: &Capability| match declared {
        Capability::FloatAtomic(atomic) => [false, true]
            .iter()
            .any(|&is_shared| by_instructions.contains(&Capability::FloatAtomic(FloatAtomic { is_shared, ..*atomic }))),
        _ => false,
    };
    let declared = numbers.iter().filter_map(|&number| Capability::of_spirv(number));
    let found: BTreeSet<_> = declared.filter(|declared| !is_said(declared)).chain(by_instructions.clone()).collect();
    found.into_iter().collect()
}
