//! Checks a call's arguments against the kernel's [`Signature`], and packs them: [`check()`].
//!
//! Pure: it sees what arrays look like ([`ArrayShape`]), never their memory; aliasing and devices are left to the layer that
//! holds it. Nothing is converted: a number or element type that differs is an error.
//!
//! What fits an array parameter:
//! - of scalars, vectors, matrices or atomics of `f32`: arrays of `f32`, and of complex numbers, whole elements only;
//! - of structs: records of exactly the struct's stride, raw bytes (`u8`), or the struct's scalar when it has only one;
//! - with padding inside its elements (`vec3`): arrays whose rows have the same padding;
//! - in constant memory: arrays of the declared size, and shorter ones if they are [padded](ArrayShape::is_padded).
//!
//! Read next: `check/order.rs` for which argument is for which parameter, `check/pack.rs` for push constants, `requirements/limits.rs`
//! for the checks that need no arguments, `groups.rs` for the launch's size.

use smallvec::{SmallVec, smallvec};

use crate::call::mismatch::Mismatch;
use crate::call::packing::Placement;
use crate::call::shape::{ArgShape, Argument, ArrayShape, Given};
use crate::error::{Error, Result};
use crate::requirements::Limits;
use crate::signature::{DType, ElementType, Param, ParamKind, Parameter, Signature};

mod order;
mod pack;

pub(crate) use order::not_recorded;
use order::{Target, bind_names};
use pack::{pack, pack_whole};

/// A call that fits: how to bind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The push-constant block; padding is zero, but in a struct that came with its own.
    pub push_constants: SmallVec<[u8; 128]>,
    /// For each of [`Signature::params`], the index of its array among the arguments.
    pub arrays: SmallVec<[usize; 8]>,
    /// The first of [`Signature::params`] whose array has no bytes. Vulkan binds no empty range: a launch that has work to do
    /// is then an [`Error::EmptyArray`].
    pub empty: Option<usize>,
}

/// Checks a call and packs it. Reads nothing of the arrays' memory.
///
/// Arguments stand in the order of [`Signature::arguments`]; from the first that is named on, all are.
///
/// # Errors
///
/// The first thing that does not fit, in this order: names and count, kinds and element types, lengths, limits, access. Each
/// names the kernel and the parameter.
pub fn check(signature: &Signature, arguments: &[Argument<'_>], limits: &Limits) -> Result<Packed> {
    check_given(signature, arguments, limits)
}

/// As [`check()`], of arguments in whatever form.
pub(crate) fn check_given(signature: &Signature, arguments: &[impl Given], limits: &Limits) -> Result<Packed> {
    let (slots, order) = bind_names(signature, arguments)?;
    let block_bytes = signature.push_constants.as_ref().map_or(0, |push| push.bytes as usize);
    let mut packed = Packed { push_constants: smallvec![0; block_bytes], arrays: SmallVec::new(), empty: None };
    for (position, slot) in slots.iter().enumerate() {
        let index = order.index(position);
        let shape = arguments[index].argument().shape;
        let parameter = match (slot, &shape) {
            (Target::One(parameter), _) => parameter,
            (Target::Whole(push), &ArgShape::Block(bytes)) => {
                pack_whole(&signature.entry, push, bytes, &mut packed.push_constants)?;
                continue;
            }
            (Target::Whole(push), given) => {
                let (ty, given) = (push.ty.clone(), given.to_string());
                return Err(refusal(&signature.entry, &push.name, Mismatch::WantsBlock { ty, given }));
            }
        };
        match (parameter, &shape) {
            (Parameter::Array(param), ArgShape::Array(array) | ArgShape::Constant(array)) => {
                let is_constant = matches!(shape, ArgShape::Constant(_));
                let placement = if is_constant { Placement::of(param, array) } else { None };
                ArrayCheck { kernel: &signature.entry, param, array, placement }.run(limits)?;
                if array.nbytes == 0 && !param.is_constant {
                    packed.empty = packed.empty.or(Some(packed.arrays.len()));
                }
                packed.arrays.push(index);
            }
            (Parameter::Array(_), given) => {
                let (ty, given) = (parameter.ty().to_string(), given.to_string());
                return Err(refusal(&signature.entry, parameter.name(), Mismatch::WantsArray { ty, given }));
            }
            (Parameter::Scalar(member), ArgShape::Scalar(value)) => {
                pack(&signature.entry, member, std::slice::from_ref(value), &mut packed.push_constants)?;
            }
            (Parameter::Scalar(member), ArgShape::Scalars(values)) => {
                pack(&signature.entry, member, values, &mut packed.push_constants)?;
            }
            (Parameter::Scalar(_), given @ (ArgShape::Array(_) | ArgShape::Constant(_) | ArgShape::Block(_))) => {
                let (ty, given) = (parameter.ty().to_string(), given.to_string());
                return Err(refusal(&signature.entry, parameter.name(), Mismatch::WantsScalar { ty, given }));
            }
        }
    }
    Ok(packed)
}

pub(crate) fn refusal(kernel: &str, param: &str, problem: Mismatch) -> Error {
    Error::Argument { kernel: kernel.to_owned(), param: param.to_owned(), problem: Box::new(problem) }
}

/// Bytes of the parameter's elements that hold data, the rest being padding. Elements are `stride` bytes apart.
pub(crate) fn used_bytes(param: &Param, stride: u32) -> u64 {
    match &param.ty {
        ElementType::Array { element, .. } => element.used_bytes(),
        ty => ty.runtime_array().map_or(u64::from(stride), |(element, _)| element.used_bytes()),
    }
}

/// One array against its parameter.
struct ArrayCheck<'a> {
    kernel: &'a str,
    param: &'a Param,
    array: &'a ArrayShape<'a>,
    placement: Option<Placement>, // How it is laid out on the way, if it is.
}

impl ArrayCheck<'_> {
    fn run(&self, limits: &Limits) -> Result<()> {
        if !self.array.is_contiguous {
            return Err(self.refuse(Mismatch::NotContiguous { given: self.array.to_string() }));
        }
        match &self.placement {
            Some(placement) => self.check_whole(placement)?,
            None => self.check_dtype()?,
        }
        self.check_length()?;
        self.check_padding()?;
        self.check_range(limits)?;
        if self.param.writes && !self.array.is_writable {
            return Err(self.refuse(Mismatch::ReadOnly { given: self.array.to_string() }));
        }
        Ok(())
    }

    fn refuse(&self, problem: Mismatch) -> Error {
        refusal(self.kernel, &self.param.name, problem)
    }

    /// Its bytes as they are bound.
    fn nbytes(&self) -> u64 {
        self.placement.as_ref().map_or(self.array.nbytes, |placement| placement.nbytes(self.array.nbytes))
    }

    fn check_whole(&self, placement: &Placement) -> Result<()> {
        let (given, rest) = (self.array.nbytes, placement.rest(self.array.nbytes));
        if rest == 0 || self.param.is_constant {
            return Ok(()); // `check_length` judges constant memory that is too short.
        }
        let (ty, stride, after) = (self.param.ty.to_string(), placement.packed_bytes(), String::new());
        Err(self.refuse(Mismatch::PartialElement { ty, stride, given, rest, after }))
    }

    /// Whether the array is known by its bytes alone, so that it lies as the shader's struct does.
    fn is_opaque(&self) -> bool {
        self.param.ty.has_struct() && matches!(self.array.dtype, DType::Record(_) | DType::U8)
    }

    fn check_dtype(&self) -> Result<()> {
        let (ty, dtype) = (&self.param.ty, self.array.dtype);
        let item_bytes = self.param.stride.map_or(self.param.fixed_bytes, u64::from);
        let fits = match dtype {
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

    /// Bytes of an array that fill constant memory: all the data that the shader declares, as the array has it.
    fn constant_bytes(&self) -> u64 {
        let fixed = self.param.fixed_bytes;
        if let Some(placement) = &self.placement {
            return placement.host_bytes(fixed);
        }
        let (element, stride) = match &self.param.ty {
            ElementType::Array { element, stride, .. } => (&**element, u64::from(*stride)),
            ty => (ty, fixed),
        };
        let ends = element.leaves().into_iter().map(|(at, dtype)| u64::from(at) + u64::from(dtype.itemsize()));
        // Behind the last number there may be padding, which the array need not have.
        fixed - ends.max().map_or(0, |end| stride.saturating_sub(end))
    }

    /// Refuses `(n, 3)` floats for `array<vec3<f32>>`, whose elements are 16 bytes apart: for every fourth `n` the total length
    /// would fit, and the numbers would land in the wrong places.
    fn check_padding(&self) -> Result<()> {
        let Some(stride) = self.param.stride.filter(|_| self.placement.is_none() && !self.is_opaque()) else {
            return Ok(());
        };
        // Elements that follow each other at the shader's own distance leave no room for padding.
        if self.array.dtype.itemsize() == stride {
            return Ok(());
        }
        let used = used_bytes(self.param, stride);
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
        let (limit, kind) = match self.param.kind {
            ParamKind::Storage => (limits.max_storage_buffer_range, "storage"),
            ParamKind::Uniform => (limits.max_uniform_buffer_range, "constant memory"),
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
