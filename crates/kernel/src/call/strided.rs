//! Arrays with strides: what the shader's push constants are told of their elements, and from which byte on they are bound.
//!
//! A shader asks for the strides of its buffer `x` by push constants named `x_first`, `x_shape` and `x_strides`, or by a
//! struct named `x_layout` with the fields `first`, `shape` and `strides`. All of them count elements. `first` is the place of
//! element (0, 0, …) among the elements that are bound: elements with a negative stride lie before it, and so do those from
//! the aligned byte on that the device can bind.
//!
//! No number given here is trusted for the safety of memory: a shader reaches the bytes that are bound and no others.

use smallvec::SmallVec;
use vkarray_shader::{DType, ElementType, Param, PushMember, ScalarValue, Signature};

use crate::call::check::refusal;
use crate::call::rules::ArrayRule;
use crate::call::shape::ArrayShape;
use crate::error::Mismatch;
use crate::error::Result;

/// What a push constant asks of the array of a parameter: one of its facts, or `layout` for a struct of them.
pub(crate) fn asked<'a>(signature: &Signature, member: &'a PushMember, param: &Param) -> Option<&'a str> {
    fn fact<'n>(name: &'n str, param: &Param) -> Option<&'n str> {
        name.rsplit_once('_').filter(|(buffer, _)| param.is_called(buffer)).map(|(_, fact)| fact)
    }
    if signature.push_constants.as_ref().is_some_and(|push| fact(&push.name, param) == Some("layout")) {
        return Some(&member.name);
    }
    fact(&member.name, param).filter(|fact| matches!(*fact, "first" | "shape" | "strides" | "layout"))
}

/// Whether a call gives a number for a push constant, if it gives the arrays of some parameters with their strides: it asks
/// for nothing of these arrays.
pub(crate) fn is_given(signature: &Signature, member: &PushMember, strided: &[&Param]) -> bool {
    !strided.iter().any(|param| asked(signature, member, param).is_some())
}

/// The push constants that a call gives numbers for, if it gives the arrays of some parameters with their strides: what
/// callers need that convert numbers to the types of the shader.
pub fn given_numbers<'a>(
    signature: &'a Signature,
    strided: &'a [&'a Param],
) -> impl Iterator<Item = &'a PushMember> + use<'a> {
    signature.push_members().iter().filter(|member| is_given(signature, member, strided))
}

/// Checks an array with strides, and writes what the shader asks of it to the block of push constants.
pub(crate) fn pack(
    signature: &Signature,
    rule: &ArrayRule,
    (param, array, strides): (&Param, &ArrayShape<'_>, &[isize]),
    block: &mut [u8],
) -> Result<()> {
    let refuse = |name: &str, problem| refusal(&signature.entry, name, problem);
    let first = first(param, rule, array, strides).map_err(|problem| refuse(&param.name, problem))?;
    let (mut has_first, mut has_strides) = (false, false);
    let mut fill = |member: &PushMember, fact: &str, at: u32, ty: &ElementType| {
        let values: SmallVec<[i128; 4]> = match fact {
            "first" => std::iter::once(i128::from(first)).collect(),
            "shape" => array.shape.iter().map(|&len| len as i128).collect(),
            "strides" => strides.iter().map(|&stride| stride as i128).collect(),
            _ => return Err(refuse(&member.name, Mismatch::NoLayout { ty: member.ty.to_string() })),
        };
        has_first |= fact == "first";
        has_strides |= fact == "strides";
        put(ty, &values, &mut block[at as usize..]).map_err(|problem| refuse(&member.name, problem))
    };
    for member in signature.push_members() {
        match (asked(signature, member, param), &member.ty) {
            (None, _) => {}
            (Some("layout"), ElementType::Struct { fields, .. }) => {
                for field in fields {
                    fill(member, &field.name, member.offset + field.offset, &field.ty)?;
                }
            }
            (Some(fact), ty) => fill(member, fact, member.offset, ty)?,
        }
    }
    if has_first && has_strides {
        return Ok(());
    }
    Err(refuse(&param.name, Mismatch::NoStrides { name: param.name.clone(), given: array.to_string() }))
}

/// The number of bound elements before element (0, 0, …).
fn first(
    param: &Param,
    rule: &ArrayRule,
    array: &ArrayShape<'_>,
    strides: &[isize],
) -> std::result::Result<u64, Mismatch> {
    let (itemsize, given) = (u64::from(array.dtype.itemsize()), || array.to_string());
    let is_plain = param.fixed_bytes == 0 && param.ty.runtime_array().is_some() && !param.is_constant;
    if !is_plain || param.stride.map(u64::from) != Some(itemsize) {
        return Err(Mismatch::StridedElements { ty: param.ty.to_string(), given: given() });
    }
    if array.shape.contains(&0) {
        return Ok(0);
    }
    let reached = reach(array.shape, strides);
    let Some((before, _)) = reached.filter(|(_, n)| n.checked_mul(itemsize).is_some_and(|n| n <= array.nbytes)) else {
        return Err(Mismatch::StridesReach { given: given(), nbytes: array.nbytes });
    };
    if param.writes && may_overlap(array.shape, strides) {
        return Err(Mismatch::SharedElements { given: given() });
    }
    let lead = rule.lead(array);
    let bound = array.nbytes.saturating_add(lead);
    if let Some(problem) = rule.too_short(param, bound).or_else(|| rule.out_of_range(bound)) {
        return Err(problem);
    }
    Ok(lead / itemsize + before)
}

/// The number of elements before element (0, 0, …), and of all from the lowest to the highest. No axis is empty.
fn reach(shape: &[usize], strides: &[isize]) -> Option<(u64, u64)> {
    let (mut before, mut after) = (0_u64, 0_u64);
    for (&len, &stride) in shape.iter().zip(strides) {
        let side = if stride < 0 { &mut before } else { &mut after };
        *side = side.checked_add((len as u64 - 1).checked_mul(stride.unsigned_abs() as u64)?)?;
    }
    let n_elements = before.checked_add(after)?.checked_add(1)?;
    (shape.len() == strides.len()).then_some((before, n_elements))
}

/// Whether elements may share memory: some stride is no longer than what the axes with shorter strides reach. Never so for
/// an array of which slices, transposed and reversed views were taken.
fn may_overlap(shape: &[usize], strides: &[isize]) -> bool {
    let mut axes: SmallVec<[(u64, u64); 4]> =
        shape.iter().zip(strides).map(|(&len, &stride)| (stride.unsigned_abs() as u64, len as u64)).collect();
    axes.retain(|&mut (_, len)| len > 1);
    axes.sort_unstable();
    let mut reached = 0;
    axes.iter().any(|&(stride, len)| {
        let is_short = stride <= reached;
        reached += stride * (len - 1);
        is_short
    })
}

/// The fewest whole elements, in bytes, before an array with strides from which on the device can bind it. Zero for other
/// arrays, and if there are none: the array is then copied, as every array is that cannot be bound at its offset.
pub(crate) fn lead(array: &ArrayShape<'_>, alignment: u64) -> u64 {
    let itemsize = u64::from(array.dtype.itemsize());
    let mut leads = (0..alignment).map(|n| n * itemsize).take_while(|lead| *lead <= array.offset);
    let aligned = array.strides.and_then(|_| leads.find(|lead| (array.offset - lead).is_multiple_of(alignment)));
    aligned.unwrap_or(0)
}

/// Writes integers as the shader's type has them. `block` starts with the value.
fn put(ty: &ElementType, values: &[i128], block: &mut [u8]) -> std::result::Result<(), Mismatch> {
    let leaves = ty.leaves();
    if leaves.len() != values.len() {
        return Err(Mismatch::ScalarCount { ty: ty.to_string(), expected: leaves.len(), given: values.len() });
    }
    for ((at, dtype), &value) in leaves.into_iter().zip(values) {
        let number = match dtype {
            DType::U32 => u32::try_from(value).ok().map(ScalarValue::U32),
            DType::I32 => i32::try_from(value).ok().map(ScalarValue::I32),
            DType::U64 => u64::try_from(value).ok().map(ScalarValue::U64),
            DType::I64 => i64::try_from(value).ok().map(ScalarValue::I64),
            _ => None,
        };
        let number = number.ok_or_else(|| Mismatch::ScalarType { ty: ty.to_string(), given: value.to_string() })?;
        number.write_to(&mut block[at as usize..]);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
