//! A signature digested to numbers: whether a call surely fits, found out in one pass over its arguments.
//!
//! `check.rs` is the judge of every call and the author of every error. This file answers for it where the answer is a
//! few comparisons, which is what repeated dispatches are made of: what is said to fit here, [`check`](crate::check())
//! accepts, with the same push constants. Of all else nothing is said, and the caller asks `check`: names, constant
//! memory that is padded, structs given as anything but records or their one scalar, rows that need padding, push
//! constants as a whole.
//! Read next: `dispatch/launch.rs`, which makes the pass.

use crate::call::args::Arg;
use crate::call::check::used_bytes;
use crate::call::shape::ArrayShape;
use crate::requirements::Limits;
use crate::signature::{DType, Leaf, Param, ParamKind, PushMember, ScalarValue, Signature};

/// The rules of one signature on one device.
#[derive(Debug)]
pub(crate) struct Digest {
    pub(crate) arrays: Vec<ArrayRule>,
    pub(crate) numbers: Vec<NumberRule>,
}

impl Digest {
    /// Nothing if some parameter has no simple rule.
    pub(crate) fn new(signature: &Signature, limits: &Limits) -> Option<Self> {
        let arrays = signature.params.iter().map(|param| ArrayRule::new(param, limits)).collect::<Option<_>>()?;
        let numbers = signature.push_members().iter().map(NumberRule::new).collect::<Option<_>>()?;
        Some(Self { arrays, numbers })
    }
}

/// What arrays surely fit a parameter. Bytes.
#[derive(Debug)]
pub(crate) struct ArrayRule {
    dtype: DType,
    least: u64,
    most: u64,
    /// The bits that must be zero in what is longer than `least_whole`.
    partial: u64,
    /// Bytes before the elements.
    fixed: u64,
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
        let is_opaque = matches!(dtype, DType::Record(_));
        if let Some(stride) = param.stride
            && !is_opaque
            && dtype.itemsize() != stride
            && used_bytes(param, stride) != u64::from(stride)
        {
            return None; // It has padding.
        }
        let (limit, alignment) = match param.kind {
            ParamKind::Storage => (limits.max_storage_buffer_range, limits.min_storage_buffer_offset_alignment),
            ParamKind::Uniform => (limits.max_uniform_buffer_range, limits.min_uniform_buffer_offset_alignment),
        };
        let (most, partial) = match (param.kind, param.ty.runtime_array()) {
            (ParamKind::Storage, Some((_, stride))) => (limit, multiples_of(u64::from(stride))?),
            _ => (fixed.min(limit), 0),
        };
        let misaligned = multiples_of(alignment.max(1))?;
        Some(Self {
            dtype,
            least: fixed.max(1),
            most,
            partial,
            fixed,
            misaligned,
            kind: param.kind,
            writes: param.writes,
        })
    }

    /// Whether the array surely fits.
    #[inline]
    pub(crate) fn takes(&self, array: &ArrayShape<'_>) -> bool {
        let rest = array.nbytes.wrapping_sub(self.fixed) & self.partial | array.offset & self.misaligned;
        // As one comparison: a branch for each costs more than all of them.
        (array.dtype == self.dtype)
            & (self.least <= array.nbytes)
            & (array.nbytes <= self.most)
            & (rest == 0)
            & array.is_contiguous
            & (array.is_writable | !self.writes)
    }
}

/// The bits that are zero in multiples of a power of two.
fn multiples_of(size: u64) -> Option<u64> {
    size.is_power_of_two().then(|| size - 1)
}

/// The numbers of one push constant, with their places in the block.
#[derive(Debug)]
pub(crate) struct NumberRule {
    first: Leaf,
    rest: Vec<Leaf>, // Of a vector, a matrix or an array.
}

impl NumberRule {
    fn new(member: &PushMember) -> Option<Self> {
        let mut leaves = member.leaves();
        Some(Self { first: leaves.next()?, rest: leaves.collect() })
    }

    /// Writes the argument's numbers to their places if it surely fits. Returns whether it does.
    #[inline]
    pub(crate) fn pack(&self, arg: &Arg<'_>, block: &mut [u8]) -> bool {
        let mut put = |leaf, value| put(leaf, value, block);
        match arg {
            Arg::Scalar(value) => self.rest.is_empty() && put(&self.first, value),
            Arg::Scalars(values) => match &values[..] {
                [first, rest @ ..] if rest.len() == self.rest.len() => {
                    put(&self.first, first) && self.rest.iter().zip(rest).all(|(leaf, value)| put(leaf, value))
                }
                _ => false,
            },
            Arg::Array(_) | Arg::Constant(_) | Arg::Block(_) => false,
        }
    }
}

/// Writes a number to its place if it is of the type there. Returns whether it is.
#[inline]
fn put(leaf: &Leaf, value: &ScalarValue, block: &mut [u8]) -> bool {
    let &(at, dtype) = leaf;
    // Nearly all that is passed, without a look at how many bytes it has.
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
