//! Writes the numbers of a call into the block of push constants, and words what does not fit.
//!
//! `fast_check.rs` writes them; `packing.rs` decides where the members of a struct without padding go.

use vkarray_shader::{PushConstants, PushMember, ScalarValue};

use super::refusal;
use crate::call::fast_check::NumberRule;
use crate::call::packing::Packing;
use crate::call::shape::ArgShape;
use crate::error::Mismatch;
use crate::error::Result;

/// Writes the numbers of one push constant to their offsets in the block.
pub(super) fn pack(kernel: &str, member: &PushMember, values: &[ScalarValue], block: &mut [u8]) -> Result<()> {
    if NumberRule::new(member).is_some_and(|rule| rule.pack(values, block)) {
        return Ok(());
    }
    let (ty, expected) = (member.ty.to_string(), member.leaves().count());
    let other = member.leaves().zip(values).find(|((_, dtype), value)| value.dtype() != *dtype);
    let problem = match other {
        Some((_, value)) if expected == values.len() => {
            Mismatch::ScalarType { ty, given: ArgShape::Scalar(*value).to_string() }
        }
        _ => Mismatch::ScalarCount { ty, expected, given: values.len() },
    };
    Err(refusal(kernel, &member.name, problem))
}

/// Fills the block with a struct that is laid out as the shader's, or has the same numbers without padding.
pub(super) fn pack_struct(kernel: &str, push: &PushConstants, given: &[u8], block: &mut [u8]) -> Result<()> {
    if given.len() == block.len() {
        block.copy_from_slice(given);
        return Ok(());
    }
    let packing = Packing::of_block(push);
    let packed = packing.packed_bytes();
    if given.len() != packed as usize {
        let (ty, expected, given) = (push.ty.clone(), push.bytes, given.len());
        return Err(refusal(kernel, &push.name, Mismatch::BlockSize { ty, expected, packed, given }));
    }
    block.copy_from_slice(&packing.pad(given));
    Ok(())
}
