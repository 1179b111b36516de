//! Checks a call's arguments against the kernel's [`Signature`], and packs them: [`check()`].
//!
//! Pure: it sees descriptions of arrays (`ArrayShape`), not their memory; `dispatch/launch.rs` checks devices and aliasing.
//! Nothing is converted: a number or element type that differs is an error. `rules.rs` has what fits one parameter.
//!
//! Read next: `check/order.rs` for which argument is for which parameter.

use std::slice;

use smallvec::{SmallVec, smallvec};
use vkarray_shader::{
    Bindings, Limits, Param, ParamKind, Parameter, PushConstants, PushMember, ScalarValue, Signature,
};

use crate::call::packing::Packing;
use crate::call::rules::{ArrayRule, NumberRule, Rules};
use crate::call::shape::{ArgShape, Argument, ArrayShape};
use crate::call::strided;
use crate::error::Mismatch;
use crate::error::{Error, Result};

mod order;

use order::{Target, bind_arguments};
pub(crate) use order::{not_recorded, parameter_name};

/// A call that fits, as it is to be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The block of push constants. Its padding is zero, or that of the struct that was given.
    pub push_constants: SmallVec<[u8; 128]>,
    /// For each of [`Signature::params`], the index of its array or sampler among the arguments.
    pub arrays: SmallVec<[usize; 8]>,
    /// The first of [`Signature::params`] whose array has no bytes. Vulkan binds no empty range: a launch that has work to do
    /// is then an [`Error::EmptyArray`].
    pub empty: Option<usize>,
}

/// Checks a call and packs its numbers. Reads nothing of the arrays' memory.
///
/// Arguments without a name go to the parameters of their kind, in the order of [`Signature::arguments`]: arrays to buffers,
/// numbers to push constants. Behind an argument with a name, all have one.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{ArgShape, Argument, ArrayShape, DType, Limits, Module, Options, ScalarValue, Source, check};
///
/// let source = Source::wgsl(
///     "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
///      var<immediate> a: f32;
///      @compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] *= a; }",
/// );
/// let signature = Module::parse(&source)?.translate(None, &Default::default(), &Options::default())?.signature;
/// let array = Argument::from(ArgShape::Array(ArrayShape::new(DType::F32, &[100], 400)));
/// let number = Argument::from(ArgShape::Scalar(ScalarValue::F32(2.0)));
/// let packed = check(&signature, &[array, number], &Limits::MINIMUM)?;
/// assert_eq!(packed.push_constants[..], 2.0_f32.to_ne_bytes());
///
/// let whole = Argument::from(ArgShape::Scalar(ScalarValue::U32(2)));
/// let error = check(&signature, &[array, whole], &Limits::MINIMUM).unwrap_err();
/// assert_eq!(error.to_string(), "kernel `scale`: `a` is f32, got 2 (u32)");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The first thing that does not fit, in this order: names and count, kinds and element types, lengths, limits, access. Each
/// names the kernel and the parameter.
pub fn check(signature: &Signature, arguments: &[Argument<'_>], limits: &Limits) -> Result<Packed> {
    check_arguments(signature, &Rules::new(signature, limits, false), arguments)
}

/// As [`check()`], by the rules of the signature.
pub(crate) fn check_arguments(signature: &Signature, rules: &Rules, arguments: &[Argument<'_>]) -> Result<Packed> {
    let (targets, order) = bind_arguments(signature, arguments)?;
    let kernel = &signature.entry;
    let block_bytes = signature.push_constants.as_ref().map_or(0, |push| push.bytes as usize);
    let mut packed = Packed { push_constants: smallvec![0; block_bytes], arrays: SmallVec::new(), empty: None };
    for (target, &index) in targets.iter().zip(&order) {
        let shape = arguments[index].shape;
        let block = &mut packed.push_constants;
        match (target, &shape) {
            (Target::One(at, Parameter::Array(param)), ArgShape::Arrays(list)) if param.bindings.is_list() => {
                if check_list(kernel, param, &rules.arrays[at], list)? {
                    packed.empty = packed.empty.or(Some(at));
                }
                packed.arrays.push(index);
            }
            (Target::One(_, Parameter::Array(param)), ArgShape::Sampler(sampler))
                if param.kind == ParamKind::Sampler =>
            {
                if let Some(problem) = sampler.problem() {
                    return Err(refusal(kernel, &param.name, Mismatch::Sampler { problem }));
                }
                packed.arrays.push(index);
            }
            (Target::One(at, Parameter::Array(param)), ArgShape::Array(array) | ArgShape::Constant(array))
                if takes(param, &shape) =>
            {
                let is_constant = matches!(shape, ArgShape::Constant(_));
                let packing = if is_constant { Packing::of(param, array) } else { None };
                if let Some(problem) = rules.arrays[at].refusal(param, array, packing.as_ref()) {
                    return Err(refusal(kernel, &param.name, problem));
                }
                if let Some(strides) = array.strides {
                    strided::pack(signature, &rules.arrays[at], (param, array, strides), block)?;
                }
                if array.nbytes == 0 && !param.is_constant {
                    packed.empty = packed.empty.or(Some(at));
                }
                packed.arrays.push(index);
            }
            (Target::One(at, Parameter::Scalar(member)), ArgShape::Scalar(value)) => {
                pack(kernel, rules.number(at), member, slice::from_ref(value), block)?;
            }
            (Target::One(at, Parameter::Scalar(member)), ArgShape::Scalars(values)) => {
                pack(kernel, rules.number(at), member, values, block)?;
            }
            (Target::Block(push), &ArgShape::Block(bytes)) => pack_struct(kernel, push, bytes, block)?,
            (target, given) => return Err(wrong_kind(kernel, target, given)),
        }
    }
    Ok(packed)
}

/// Checks the arrays of an array of bindings. Returns whether one of them has no bytes.
fn check_list(kernel: &str, param: &Param, rule: &ArrayRule, list: &[ArrayShape<'_>]) -> Result<bool> {
    let (ty, given) = (|| param.type_text(), list.len());
    let is_counted = matches!(param.bindings, Bindings::Counted(_));
    let expected = if is_counted { given.max(1) } else { param.bindings.count() as usize };
    if given != expected {
        return Err(refusal(kernel, &param.name, Mismatch::ListLength { ty: ty(), expected, given }));
    }
    for (at, array) in list.iter().enumerate() {
        // The strides of one array of several cannot be asked for.
        let array = ArrayShape { strides: None, ..*array };
        if let Some(problem) = rule.refusal(param, &array, None) {
            return Err(refusal(kernel, &element_name(&param.name, at), problem));
        }
    }
    Ok(list.iter().any(|array| array.nbytes == 0) && !param.is_constant)
}

/// What messages call one array of a list: `b[2]`.
pub(crate) fn element_name(param: &str, at: usize) -> String {
    format!("{param}[{at}]")
}

/// Whether a parameter is for arrays, or for constant memory if it is that.
fn takes(param: &Param, shape: &ArgShape<'_>) -> bool {
    !param.bindings.is_list()
        && param.kind != ParamKind::Sampler
        && (matches!(param.kind, ParamKind::Storage | ParamKind::Uniform) || matches!(shape, ArgShape::Array(_)))
}

/// An array where numbers belong, or the other way round.
fn wrong_kind(kernel: &str, target: Target<'_>, shape: &ArgShape<'_>) -> Error {
    let (ty, given) = (target.ty(), shape.to_string());
    let problem = match target {
        Target::One(_, Parameter::Array(param)) if param.bindings.is_list() => {
            Mismatch::WantsList { ty: param.type_text(), given }
        }
        Target::One(_, Parameter::Array(param)) if param.kind == ParamKind::Sampler => Mismatch::WantsSampler { given },
        Target::One(_, Parameter::Array(_)) if matches!(shape, ArgShape::Constant(_)) => {
            let advice = "; constant memory is bound as a buffer alone, give an array".to_owned();
            Mismatch::DType { ty, given, advice }
        }
        Target::One(_, Parameter::Array(_)) => Mismatch::WantsArray { ty, given },
        Target::One(_, Parameter::Scalar(_)) => Mismatch::WantsScalar { ty, given },
        Target::Block(_) => Mismatch::WantsBlock { ty, given },
    };
    refusal(kernel, target.name(), problem)
}

pub(crate) fn refusal(kernel: &str, param: &str, problem: Mismatch) -> Error {
    Error::Argument { kernel: kernel.to_owned(), param: param.to_owned(), problem: Box::new(problem) }
}

/// Writes the numbers of one push constant into the block.
fn pack(kernel: &str, rule: &NumberRule, member: &PushMember, values: &[ScalarValue], block: &mut [u8]) -> Result<()> {
    if rule.pack(values, block) {
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
fn pack_struct(kernel: &str, push: &PushConstants, given: &[u8], block: &mut [u8]) -> Result<()> {
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

#[cfg(test)]
pub(crate) mod tests;
