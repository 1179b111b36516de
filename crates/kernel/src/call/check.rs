//! Checks a call's arguments against the kernel's [`Signature`], and packs them: [`check()`].
//!
//! Pure: it sees descriptions of arrays ([`ArrayShape`]), not their memory; `dispatch/launch.rs` checks devices and aliasing.
//! Nothing is converted: a number or element type that differs is an error.
//!
//! What fits an array parameter:
//! - of scalars, vectors, matrices or atomics of `f32`: arrays of `f32`, and of complex numbers, in whole elements;
//! - of any type: untyped bytes, such as those of a memory object, in whole elements;
//! - of several variables with different numbers, which share a binding: any array, in whole elements of the smallest;
//! - of structs: records of exactly the struct's stride, raw bytes (`u8`), or the struct's scalar when it has only one;
//! - with padding inside its elements (`vec3`): arrays whose rows have the same padding;
//! - without a length, where the shader asks for strides: arrays of any strides, whose elements have the size of its own;
//! - in constant memory: arrays of the declared size, and shorter ones if they are [padded](ArrayShape::is_padded).
//!
//! Read next: `check/order.rs` for which argument is for which parameter, `check/pack.rs` for push constants.

use smallvec::{SmallVec, smallvec};
use vkarray_shader::{DType, ElementType, Limits, Param, ParamKind, Parameter, Signature};

use crate::call::packing::Packing;
use crate::call::shape::{ArgShape, Argument, ArrayShape, ToArgument};
use crate::call::strided;
use crate::error::Mismatch;
use crate::error::{Error, Result};

mod order;
mod pack;

use order::{Target, bind_arguments};
pub(crate) use order::{not_recorded, parameter_name};
use pack::{pack, pack_struct};

/// A call that fits, as it is to be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The block of push constants. Its padding is zero, or that of the struct that was given.
    pub push_constants: SmallVec<[u8; 128]>,
    /// For each of [`Signature::params`], the index of its array among the arguments.
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
/// use vkarray::prelude::*;
/// use vkarray::kernel::{ArgShape, Argument, ArrayShape, Limits, Module, Options, ScalarValue, check};
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
    check_arguments(signature, arguments, limits)
}

/// As [`check()`], of arguments in any form.
pub(crate) fn check_arguments(signature: &Signature, arguments: &[impl ToArgument], limits: &Limits) -> Result<Packed> {
    let (targets, order) = bind_arguments(signature, arguments)?;
    let kernel = &signature.entry;
    let block_bytes = signature.push_constants.as_ref().map_or(0, |push| push.bytes as usize);
    let mut packed = Packed { push_constants: smallvec![0; block_bytes], arrays: SmallVec::new(), empty: None };
    for (target, &index) in targets.iter().zip(&order) {
        let shape = arguments[index].to_argument().shape;
        let block = &mut packed.push_constants;
        match (target, &shape) {
            (Target::One(Parameter::Array(param)), ArgShape::Array(array) | ArgShape::Constant(array)) => {
                let is_constant = matches!(shape, ArgShape::Constant(_));
                let packing = if is_constant { Packing::of(param, array) } else { None };
                ArrayCheck { kernel, param, array, packing }.run(limits)?;
                if let Some(strides) = array.strides {
                    strided::pack(signature, (param, array, strides), limits, block)?;
                }
                if array.nbytes == 0 && !param.is_constant {
                    packed.empty = packed.empty.or(Some(packed.arrays.len()));
                }
                packed.arrays.push(index);
            }
            (Target::One(Parameter::Scalar(member)), ArgShape::Scalar(value)) => {
                pack(kernel, member, std::slice::from_ref(value), block)?;
            }
            (Target::One(Parameter::Scalar(member)), ArgShape::Scalars(values)) => pack(kernel, member, values, block)?,
            (Target::Block(push), &ArgShape::Block(bytes)) => pack_struct(kernel, push, bytes, block)?,
            (target, given) => return Err(wrong_kind(kernel, target, given)),
        }
    }
    Ok(packed)
}

/// An array where numbers belong, or the other way round.
fn wrong_kind(kernel: &str, target: Target<'_>, given: &ArgShape<'_>) -> Error {
    let (ty, given) = (target.ty(), given.to_string());
    let problem = match target {
        Target::One(Parameter::Array(_)) => Mismatch::WantsArray { ty, given },
        Target::One(Parameter::Scalar(_)) => Mismatch::WantsScalar { ty, given },
        Target::Block(_) => Mismatch::WantsBlock { ty, given },
    };
    refusal(kernel, target.name(), problem)
}

pub(crate) fn refusal(kernel: &str, param: &str, problem: Mismatch) -> Error {
    Error::Argument { kernel: kernel.to_owned(), param: param.to_owned(), problem: Box::new(problem) }
}

/// One array against its parameter.
struct ArrayCheck<'a> {
    kernel: &'a str,
    param: &'a Param,
    array: &'a ArrayShape<'a>,
    packing: Option<Packing>, // Of constant memory that gets padding.
}

impl ArrayCheck<'_> {
    fn run(&self, limits: &Limits) -> Result<()> {
        let has_strides = self.array.strides.is_some();
        if !self.array.is_contiguous && !has_strides {
            return Err(self.refuse(Mismatch::NotContiguous { given: self.array.to_string() }));
        }
        match &self.packing {
            Some(packing) => self.check_whole_elements(packing)?,
            None => self.check_dtype()?,
        }
        // `strided.rs` checks the bytes of an array with strides.
        if !has_strides {
            self.check_length()?;
            self.check_padding()?;
            self.check_range(limits)?;
        }
        if self.param.writes && !self.array.is_writable {
            return Err(self.refuse(Mismatch::ReadOnly { given: self.array.to_string() }));
        }
        Ok(())
    }

    fn refuse(&self, problem: Mismatch) -> Error {
        refusal(self.kernel, &self.param.name, problem)
    }

    /// The number of its bytes as they are bound.
    fn nbytes(&self) -> u64 {
        self.packing.as_ref().map_or(self.array.nbytes, |packing| packing.nbytes(self.array.nbytes))
    }

    fn check_whole_elements(&self, packing: &Packing) -> Result<()> {
        let (given, rest) = (self.array.nbytes, packing.rest(self.array.nbytes));
        if rest == 0 || self.param.is_constant {
            return Ok(()); // `check_length` reports constant memory that is too short.
        }
        let (ty, stride, after) = (self.param.ty.to_string(), packing.packed_bytes(), String::new());
        Err(self.refuse(Mismatch::PartialElement { ty, stride, given, rest, after }))
    }

    /// Whether only the array's bytes are known, which then have the layout of the shader's struct.
    fn is_opaque(&self) -> bool {
        let has_bytes = self.array.is_untyped || self.param.is_bytes();
        has_bytes || self.param.ty.has_struct() && matches!(self.array.dtype, DType::Record(_) | DType::U8)
    }

    fn check_dtype(&self) -> Result<()> {
        let (ty, dtype) = (&self.param.ty, self.array.dtype);
        let item_bytes = self.param.stride.map_or(self.param.fixed_bytes, u64::from);
        let fits = match dtype {
            _ if self.array.is_untyped || self.param.is_bytes() => true,
            DType::Record(bytes) => ty.has_struct() && u64::from(bytes) == item_bytes,
            DType::U8 if ty.has_struct() => true,
            _ => dtype.scalar().is_some() && dtype.scalar() == ty.scalar(),
        };
        if fits {
            return Ok(());
        }
        let advice = match (dtype, ty.scalar()) {
            (DType::Record(_) | DType::U8, _) | (_, None) if ty.has_struct() => {
                format!("; pass records of {item_bytes} bytes, or bytes")
            }
            (DType::U8 | DType::I8, Some(scalar)) if scalar.is_integer() => {
                format!("; convert it to {scalar}, or view it as {scalar} if the kernel unpacks bytes")
            }
            (DType::Record(_), Some(scalar)) => format!("; view it as {scalar}"),
            (_, Some(scalar)) => format!("; convert it to {scalar}"),
            (_, None) => String::new(),
        };
        Err(self.refuse(Mismatch::DType { ty: ty.to_string(), given: self.array.to_string(), advice }))
    }

    fn check_length(&self) -> Result<()> {
        let (param, given, fixed) = (self.param, self.nbytes(), self.param.fixed_bytes);
        let ty = || param.ty.to_string();
        let problem = match param.ty.runtime_array() {
            _ if param.is_constant && given > fixed => Mismatch::TooLong { ty: ty(), limit: fixed, given },
            None if param.is_constant => {
                let (given, needed) = (self.array.nbytes, self.constant_bytes());
                if given >= needed || self.array.is_padded {
                    return Ok(());
                }
                Mismatch::TooFew { ty: ty(), needed, given }
            }
            None if given == fixed => return Ok(()),
            None => Mismatch::FixedLength { ty: ty(), expected: fixed, given },
            Some(_) if given < fixed => Mismatch::TooShort { ty: ty(), needed: fixed, given },
            Some((_, stride)) => {
                let (given, rest) = (given - fixed, (given - fixed) % u64::from(stride));
                if rest == 0 {
                    return Ok(());
                }
                let after = if fixed > 0 { format!(" after the first {fixed}") } else { String::new() };
                Mismatch::PartialElement { ty: ty(), stride, given, rest, after }
            }
        };
        Err(self.refuse(problem))
    }

    /// The number of bytes of an array that fills constant memory: all data that the shader declares, without the padding that
    /// is added later.
    fn constant_bytes(&self) -> u64 {
        let fixed = self.param.fixed_bytes;
        if let Some(packing) = &self.packing {
            return packing.host_bytes(fixed);
        }
        let (element, stride) = match &self.param.ty {
            ElementType::Array { element, stride, .. } => (&**element, u64::from(*stride)),
            ty => (ty, fixed),
        };
        let ends = element.leaves().into_iter().map(|(at, dtype)| u64::from(at) + u64::from(dtype.itemsize()));
        // Padding behind the last number need not be given.
        fixed - ends.max().map_or(0, |end| stride.saturating_sub(end))
    }

    /// Refuses `(n, 3)` floats for `array<vec3<f32>>`, whose elements are 16 bytes apart: for every fourth `n` the total length
    /// would fit, and the shader would read the wrong numbers.
    fn check_padding(&self) -> Result<()> {
        let Some(stride) = self.param.stride.filter(|_| self.packing.is_none() && !self.is_opaque()) else {
            return Ok(());
        };
        // Elements with the shader's stride include the padding.
        if self.array.dtype.itemsize() == stride {
            return Ok(());
        }
        let used = self.param.used_bytes(stride);
        if used == u64::from(stride) || self.array.nbytes == 0 {
            return Ok(());
        }
        let itemsize = u64::from(self.array.dtype.itemsize());
        let row = self.array.shape.last().map_or(itemsize, |&len| (len as u64).saturating_mul(itemsize));
        let mut trailing = itemsize;
        let is_element = self.array.shape.iter().rev().any(|&len| {
            trailing = trailing.saturating_mul(len as u64);
            trailing == u64::from(stride)
        });
        if is_element || row.is_multiple_of(u64::from(stride)) {
            return Ok(());
        }
        Err(self.refuse(Mismatch::Padding { ty: self.param.ty.to_string(), stride, used, given: row }))
    }

    fn check_range(&self, limits: &Limits) -> Result<()> {
        let limit = limits.max_range(self.param.kind);
        let kind = match self.param.kind {
            ParamKind::Storage => "storage",
            ParamKind::Uniform => "constant memory",
        };
        // Constant memory is bound at its declared size, however short the array.
        let given = self.nbytes().max(self.param.fixed_bytes);
        if given > limit {
            return Err(self.refuse(Mismatch::RangeLimit { given, limit, kind }));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
