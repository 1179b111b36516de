//! Writes the arguments that are numbers into the block of push constants.
//!
//! Read next: `call/packing.rs` for where the members of a struct lie.

use smallvec::{SmallVec, smallvec};

use super::refusal;
use crate::call::mismatch::Mismatch;
use crate::call::packing::Placement;
use crate::call::shape::ArgShape;
use crate::error::Result;
use crate::signature::{ElementType, Leaf, PushConstants, PushMember, ScalarValue};

/// Writes a push constant's numbers to their places in the block.
pub(super) fn pack(kernel: &str, member: &PushMember, values: &[ScalarValue], block: &mut [u8]) -> Result<()> {
    // The usual case, without a list on the heap.
    let leaves: SmallVec<[Leaf; 4]> = match member.ty {
        ElementType::Scalar(dtype) => smallvec![(0, dtype)],
        ref ty => ty.leaves().into(),
    };
    if leaves.len() != values.len() {
        let (ty, expected, given) = (member.ty.to_string(), leaves.len(), values.len());
        return Err(refusal(kernel, &member.name, Mismatch::ScalarCount { ty, expected, given }));
    }
    for (&(offset, dtype), value) in leaves.iter().zip(values) {
        if value.dtype() != dtype {
            let (ty, given) = (member.ty.to_string(), ArgShape::Scalar(*value).to_string());
            return Err(refusal(kernel, &member.name, Mismatch::ScalarType { ty, given }));
        }
        value.write_to(&mut block[(member.offset + offset) as usize..]);
    }
    Ok(())
}

/// Fills the block of push constants with a struct that lies as it does, or has its numbers without the padding.
pub(super) fn pack_whole(kernel: &str, push: &PushConstants, given: &[u8], block: &mut [u8]) -> Result<()> {
    if given.len() == block.len() {
        block.copy_from_slice(given);
        return Ok(());
    }
    let placement = Placement::of_block(push);
    let packed = placement.packed_bytes();
    if given.len() != packed as usize {
        let (ty, expected, given) = (push.ty.clone(), push.bytes, given.len());
        return Err(refusal(kernel, &push.name, Mismatch::BlockSize { ty, expected, packed, given }));
    }
    block.copy_from_slice(&placement.lay_out(given));
    Ok(())
}
