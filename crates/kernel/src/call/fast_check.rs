//! The fast check of a call: accepts common calls in one pass over their arguments ([`FastCheck`]).
//!
//! What is accepted here, [`check`](crate::check()) accepts too, with the same push constants. Every other call, right or
//! wrong, goes to `check.rs`, which decides and words the error: names, constant memory that is shorter than declared,
//! structs given as anything but records or their one scalar, elements with padding, push constants as a struct.
//!
//! A [`NumberRule`] is the only code that writes a number into the push constants. An [`ArrayRule`] repeats the rules of
//! `check.rs` for arrays without padding, as precomputed numbers; `tests.rs` compares the two.
//! `dispatch/launch.rs` makes the pass.

use vkarray_shader::{DType, Leaf, Limits, Param, ParamKind, PushMember, ScalarValue, Signature};

use crate::call::shape::ArrayShape;

/// The rules of one signature on one device.
#[derive(Debug)]
pub(crate) struct FastCheck {
    pub(crate) arrays: Vec<ArrayRule>,
    pub(crate) numbers: Vec<NumberRule>,
}

impl FastCheck {
    /// `None` if some parameter has no simple rule.
    pub(crate) fn new(signature: &Signature, limits: &Limits) -> Option<Self> {
        let arrays = signature.params.iter().map(|param| ArrayRule::new(param, limits)).collect::<Option<_>>()?;
        let numbers = signature.push_members().iter().map(NumberRule::new).collect::<Option<_>>()?;
        Some(Self { arrays, numbers })
    }
}

/// Which arrays a parameter takes without further checks. Sizes in bytes.
#[derive(Debug)]
pub(crate) struct ArrayRule {
    dtype: DType,
    least: u64,
    most: u64,
    /// Bytes before the elements of a runtime array; all bytes where there is none.
    fixed: u64,
    /// The bits that must be zero in the length behind those: the element's stride is a power of two.
    partial: u64,
    /// The bits that must be zero in the offset.
    misaligned: u64,
    pub(crate) kind: ParamKind,
    pub(crate) writes: bool,
}

impl ArrayRule {
    fn new(param: &Param, limits: &Limits) -> Option<Self> {
        let fixed = param.fixed_bytes;
        let item_bytes = param.stride.map_or(fixed, u64::from);
        let dtype = match param.ty.scalar() {
            Some(scalar) => scalar,
            None if param.ty.has_struct() => DType::Record(u32::try_from(item_bytes).ok()?),
            None => return None,
        };
        let is_record = matches!(dtype, DType::Record(_));
        if let Some(stride) = param.stride
            && !is_record
            && dtype.itemsize() != stride
            && param.used_bytes(stride) != u64::from(stride)
        {
            return None; // It has padding.
        }
        let limit = limits.max_range(param.kind);
        let (most, partial) = match (param.kind, param.ty.runtime_array()) {
            (ParamKind::Storage, Some((_, stride))) => (limit, low_bits(u64::from(stride))?),
            _ => (fixed.min(limit), 0),
        };
        let misaligned = low_bits(limits.offset_alignment(param.kind))?;
        let (least, kind, writes) = (fixed.max(1), param.kind, param.writes);
        Some(Self { dtype, least, most, fixed, partial, misaligned, kind, writes })
    }

    /// Whether the array fits. `false` says nothing: `check.rs` decides.
    #[inline]
    pub(crate) fn accepts(&self, array: &ArrayShape<'_>) -> bool {
        let rest = array.nbytes.wrapping_sub(self.fixed) & self.partial | array.offset & self.misaligned;
        // Combined without branches, which would cost more than the comparisons.
        (array.dtype == self.dtype)
            & (self.least <= array.nbytes)
            & (array.nbytes <= self.most)
            & (rest == 0)
            & array.is_contiguous
            & (array.is_writable | !self.writes)
    }
}

/// The bits that are zero in multiples of a power of two; `None` for any other number.
fn low_bits(size: u64) -> Option<u64> {
    size.is_power_of_two().then(|| size - 1)
}

/// The numbers of one push constant, with their offsets in the block.
#[derive(Debug)]
pub(crate) struct NumberRule {
    first: Leaf,
    rest: Vec<Leaf>, // Of a vector, a matrix or an array.
}

impl NumberRule {
    /// `None` for a push constant without numbers.
    pub(crate) fn new(member: &PushMember) -> Option<Self> {
        let mut leaves = member.leaves();
        Some(Self { first: leaves.next()?, rest: leaves.collect() })
    }

    /// Writes numbers to their offsets if their count and types are right. Returns whether they are.
    #[inline]
    pub(crate) fn pack(&self, values: &[ScalarValue], block: &mut [u8]) -> bool {
        let mut put = |leaf, value| put(leaf, value, block);
        match values {
            [first, rest @ ..] if rest.len() == self.rest.len() => {
                put(&self.first, first) && self.rest.iter().zip(rest).all(|(leaf, value)| put(leaf, value))
            }
            _ => false,
        }
    }
}

/// Writes a number to its offset if it is of the type there. Returns whether it is.
#[inline]
fn put(leaf: &Leaf, value: &ScalarValue, block: &mut [u8]) -> bool {
    let &(at, dtype) = leaf;
    // The three types that most push constants have, without a match on their size.
    let word = match (dtype, value) {
        (DType::U32, &ScalarValue::U32(value)) => value,
        (DType::I32, &ScalarValue::I32(value)) => value.cast_unsigned(),
        (DType::F32, &ScalarValue::F32(value)) => value.to_bits(),
        _ => return put_other(leaf, value, block),
    };
    let at = at as usize;
    block[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    true
}

#[inline(never)]
fn put_other(&(at, dtype): &Leaf, value: &ScalarValue, block: &mut [u8]) -> bool {
    let fits = value.dtype() == dtype;
    if fits {
        value.write_to(&mut block[at as usize..]);
    }
    fits
}

#[cfg(test)]
mod tests;
