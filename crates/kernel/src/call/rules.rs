//! The rules for the arguments of one kernel on one device: [`Rules`], made once, when the kernel is built.
//!
//! [`ArrayRule::accepts`] and [`NumberRule::pack`] accept common calls with a few comparisons: `dispatch/launch.rs` asks
//! them in one pass over the arguments. Every other call, right or wrong, goes to `check.rs`, which asks the same rules:
//! [`ArrayRule::refusal`] reads the same fields, and words what does not fit.
//!
//! What fits an array parameter:
//! - of scalars, vectors, matrices or atomics of `f32`: arrays of `f32`, and of complex numbers, in whole elements;
//! - of any type: untyped bytes, such as those of a memory object, in whole elements;
//! - of several variables with different numbers, which share a binding: any array, in whole elements of the smallest;
//! - of structs: records of exactly the struct's stride, raw bytes (`u8`), or the struct's scalar when it has only one;
//! - with padding inside its elements (`vec3`): arrays whose rows have the same padding;
//! - without a length, where the shader asks for strides: arrays of any strides, whose elements have the size of its own;
//! - that is an array of bindings: a list of arrays, each of which fits the type of one;
//! - that is an address: arrays that begin at a multiple of what the shader says;
//! - in constant memory: arrays of the declared size, and shorter ones if they are [padded](ArrayShape::is_padded).
//!
//! A [`NumberRule`] is the only code that writes a number into the push constants.

use std::iter;

use vkarray_shader::{DType, ElementType, Leaf, Limits, Param, ParamKind, PushMember, ScalarValue, Signature};

use crate::call::image::ImageRule;
use crate::call::packing::Packing;
use crate::call::shape::{ArrayShape, has_rows_of};
use crate::call::strided::lead;
use crate::error::Mismatch;

/// The rules of one signature on one device.
#[derive(Debug)]
pub(crate) struct Rules {
    /// For each of [`Signature::params`].
    pub(crate) arrays: Vec<ArrayRule>,
    /// For each of [`Signature::push_members`].
    pub(crate) numbers: Vec<NumberRule>,
}

impl Rules {
    /// The rules of a kernel, which clamps indices into buffers or does not.
    pub(crate) fn new(signature: &Signature, limits: &Limits, clamps: bool) -> Self {
        let arrays = signature.params.iter().map(|param| ArrayRule::new(param, limits, clamps)).collect();
        Self { arrays, numbers: signature.push_members().iter().map(NumberRule::new).collect() }
    }

    /// The rule of a push constant, by its index among [`Signature::arguments`].
    pub(crate) fn number(&self, index: usize) -> &NumberRule {
        &self.numbers[index - self.arrays.len()]
    }
}

/// Which arrays a parameter takes. Sizes in bytes.
#[derive(Debug)]
pub(crate) struct ArrayRule {
    /// The type of its numbers; a record where its elements are structs of several types.
    dtype: DType,
    /// The fewest and the most bytes that [`ArrayRule::accepts`] takes: none if an element has padding, if `partial` cannot
    /// say where elements end, or if the parameter takes a list of arrays.
    fast: [u64; 2],
    /// Bytes before the elements of a runtime array; all bytes where there is none.
    fixed: u64,
    /// The fewest bytes of an array that is not empty: with an element where the kernel clamps indices to the last one.
    least: u64,
    /// The bits that must be zero in the length behind those, if the element's stride is a power of two.
    partial: u64,
    /// The bits that must be zero in the offset.
    misaligned: u64,
    pub(crate) kind: ParamKind,
    pub(crate) writes: bool,
    is_constant: bool,
    /// Whether any array is taken as its bytes.
    is_bytes: bool,
    /// Bytes from element to element of a runtime array.
    stride: Option<u32>,
    /// Bytes from element to element, and how many of them hold data, if not all do.
    padding: Option<(u32, u64)>,
    /// The bytes of a record that is taken for an element.
    record: Option<u64>,
    /// The bytes of an array that fills constant memory.
    filled: u64,
    /// The most bytes that the device binds.
    limit: u64,
    /// What decides instead, for an image or a buffer of texels.
    pub(crate) image: Option<ImageRule>,
}

impl ArrayRule {
    pub(crate) fn new(param: &Param, limits: &Limits, clamps: bool) -> Self {
        let &Param { kind, writes, is_constant, fixed_bytes: fixed, .. } = param;
        let least = if clamps { fixed.max(bytes_with_element(param)) } else { fixed };
        let item_bytes = param.stride.map_or(fixed, u64::from);
        let dtype = param.ty.scalar().unwrap_or(DType::Record(u32::try_from(item_bytes).unwrap_or(u32::MAX)));
        let used = param.stride.map(|stride| (stride, param.used_bytes(stride)));
        let padding = used.filter(|&(stride, used)| used != u64::from(stride) && !param.is_bytes());
        let stride = param.ty.runtime_array().filter(|_| !is_constant).map(|(_, stride)| stride);
        let limit = limits.max_range(kind);
        let most = if stride.is_some() { limit } else { fixed.min(limit) };
        let has_mask = stride.is_none_or(u32::is_power_of_two);
        let is_simple = has_mask && padding.is_none_or(|(stride, _)| dtype.itemsize() == stride);
        Self {
            dtype,
            image: param.image().map(|ty| ImageRule::new(ty, writes)),
            fast: if is_simple && !param.bindings.is_list() && is_buffer(param) {
                [least.max(1), most]
            } else {
                [1, 0]
            },
            fixed,
            least,
            partial: if has_mask { stride.map_or(0, |stride| u64::from(stride) - 1) } else { 0 },
            misaligned: limits.offset_alignment(kind).max(param.alignment.into()) - 1,
            kind,
            writes,
            is_constant,
            is_bytes: param.is_bytes(),
            stride,
            padding,
            record: param.ty.has_struct().then_some(item_bytes),
            filled: if is_constant { filled_bytes(param) } else { fixed },
            limit,
        }
    }

    /// Whether the array is of the usual type, fits, and can be bound where it lies. `false` decides nothing.
    #[inline]
    pub(crate) fn accepts(&self, array: &ArrayShape<'_>) -> bool {
        let rest = array.nbytes.wrapping_sub(self.fixed) & self.partial | array.offset & self.misaligned;
        let [least, most] = self.fast;
        // Combined without branches, which would cost more than the comparisons.
        (array.dtype == self.dtype)
            & (least <= array.nbytes)
            & (array.nbytes <= most)
            & (rest == 0)
            & array.is_contiguous
            & (array.is_writable | !self.writes)
    }

    /// Why the array does not fit the parameter of this rule; `None` if it fits. `packing` is that of constant memory which
    /// gets its padding when it is copied.
    pub(crate) fn refusal(&self, param: &Param, array: &ArrayShape<'_>, packing: Option<&Packing>) -> Option<Mismatch> {
        let given = || array.to_string();
        if let Some(image) = &self.image {
            return image.refusal(array);
        }
        if !array.is_contiguous && array.strides.is_none() {
            return Some(Mismatch::NotContiguous { given: given() });
        }
        if packing.is_none() && !self.takes(array) {
            let (ty, advice) = (param.ty.to_string(), self.advice(array.dtype));
            return Some(Mismatch::DType { ty, given: given(), advice });
        }
        let length = || {
            let bound = packing.map_or(array.nbytes, |packing| packing.nbytes(array.nbytes));
            let found = self.wrong_length(param, array, bound, packing);
            found.or_else(|| self.wrong_rows(param, array, packing)).or_else(|| self.out_of_range(bound))
        };
        let is_read_only = self.writes && !array.is_writable;
        // `strided.rs` checks the bytes of an array with strides.
        let found = if array.strides.is_none() { length() } else { None };
        let found = found.or_else(|| is_read_only.then(|| Mismatch::ReadOnly { given: given() }));
        let is_off = self.kind == ParamKind::Address && self.is_misaligned(array);
        let (alignment, offset) = (self.misaligned + 1, array.offset);
        found.or_else(|| is_off.then(|| Mismatch::Misaligned { alignment, given: given(), offset }))
    }

    /// Whether arrays of this type are taken.
    fn takes(&self, array: &ArrayShape<'_>) -> bool {
        self.is_bytes
            || array.is_untyped
            || array.dtype == self.dtype
            || match (array.dtype, self.record) {
                (DType::U8, Some(_)) => true,
                (DType::Record(bytes), record) => record == Some(bytes.into()),
                (dtype, _) => dtype.scalar() == Some(self.dtype),
            }
    }

    /// What to do with an array of a type that is not taken.
    fn advice(&self, dtype: DType) -> String {
        match (dtype, self.dtype, self.record) {
            (DType::Record(_) | DType::U8, _, Some(bytes)) | (_, DType::Record(_), Some(bytes)) => {
                format!("; pass records of {bytes} bytes, or bytes")
            }
            (DType::U8 | DType::I8, scalar, _) if scalar.is_integer() => {
                format!("; convert it to {scalar}, or view it as {scalar} if the kernel unpacks bytes")
            }
            (DType::Record(_), scalar, _) => format!("; view it as {scalar}"),
            (_, scalar, _) => format!("; convert it to {scalar}"),
        }
    }

    /// Refuses an array, of which `bound` bytes are bound, without what precedes its elements, or without the element that
    /// clamped indices reach.
    pub(crate) fn too_short(&self, param: &Param, bound: u64) -> Option<Mismatch> {
        let is_short = bound < self.fixed || 0 < bound && bound < self.least;
        is_short.then(|| Mismatch::TooShort { ty: param.ty.to_string(), needed: self.least, given: bound })
    }

    /// Refuses a length that is not the shader's. `bound` is the length with the padding of `packing`.
    fn wrong_length(
        &self,
        param: &Param,
        array: &ArrayShape<'_>,
        bound: u64,
        packing: Option<&Packing>,
    ) -> Option<Mismatch> {
        let (&Self { fixed, stride, .. }, given, ty) = (self, array.nbytes, || param.ty.to_string());
        let partial = |stride, given, rest, after| Mismatch::PartialElement { ty: ty(), stride, given, rest, after };
        let rest = packing.map_or(0, |packing| packing.rest(given));
        match (stride, packing) {
            _ if self.is_constant && bound > fixed => Some(Mismatch::TooLong { ty: ty(), limit: fixed, given: bound }),
            _ if self.is_constant => {
                let needed = packing.map_or(self.filled, |packing| packing.host_bytes(fixed));
                (given < needed && !array.is_padded).then(|| Mismatch::TooFew { ty: ty(), needed, given })
            }
            (_, Some(packing)) if rest > 0 => Some(partial(packing.packed_bytes(), given, rest, String::new())),
            (None, _) => (bound != fixed).then(|| Mismatch::FixedLength { ty: ty(), expected: fixed, given: bound }),
            (Some(stride), _) => self.too_short(param, bound).or_else(|| {
                let (given, rest) = (bound - fixed, (bound - fixed) % u64::from(stride));
                let after = if fixed > 0 { format!(" after the first {fixed}") } else { String::new() };
                (rest > 0).then(|| partial(stride, given, rest, after))
            }),
        }
    }

    /// Refuses `(n, 3)` floats for `array<vec3<f32>>`, whose elements are 16 bytes apart: for every fourth `n` the total
    /// length would fit, and the shader would read the wrong numbers.
    fn wrong_rows(&self, param: &Param, array: &ArrayShape<'_>, packing: Option<&Packing>) -> Option<Mismatch> {
        let (stride, used) = self.padding.filter(|_| packing.is_none() && array.nbytes > 0)?;
        let is_record = self.record.is_some() && matches!(array.dtype, DType::Record(_) | DType::U8);
        // Records, bytes and elements with the shader's stride include the padding.
        if is_record || array.is_untyped || array.dtype.itemsize() == stride {
            return None;
        }
        let itemsize = array.dtype.itemsize();
        let row = array.shape.last().map_or(1, |&len| len as u64).saturating_mul(itemsize.into());
        let has_padding = has_rows_of(stride, array.shape, itemsize) || row.is_multiple_of(stride.into());
        (!has_padding).then(|| Mismatch::Padding { ty: param.ty.to_string(), stride, used, given: row })
    }

    /// Refuses more bytes than the device binds.
    pub(crate) fn out_of_range(&self, bound: u64) -> Option<Mismatch> {
        let kind = match self.kind {
            ParamKind::Storage => "storage",
            ParamKind::Uniform => "constant memory",
            ParamKind::Texels | ParamKind::Image | ParamKind::Sampler | ParamKind::Address => return None,
        };
        // Constant memory is bound at its declared size, however short the array.
        let (given, limit) = (bound.max(self.fixed), self.limit);
        (given > limit).then_some(Mismatch::RangeLimit { given, limit, kind })
    }

    /// Whether the array is shorter than the constant memory that it is for.
    pub(crate) fn is_short(&self, array: &ArrayShape<'_>) -> bool {
        self.is_constant && array.nbytes < self.fixed
    }

    /// Bytes before the array from which on the device can bind it, as [`lead`] says.
    pub(crate) fn lead(&self, array: &ArrayShape<'_>) -> u64 {
        lead(array, self.misaligned + 1)
    }

    /// Whether the device can bind the array neither at its offset nor at the bytes that lead in an array with strides.
    pub(crate) fn is_misaligned(&self, array: &ArrayShape<'_>) -> bool {
        let misaligned = match self.image.filter(ImageRule::is_copied) {
            // A copy to an image begins with a whole texel.
            Some(image) => image.plan(array).map_or(0, |plan| u64::from(plan.format.bytes()) - 1),
            None => self.misaligned,
        };
        (array.offset - self.lead(array)) & misaligned != 0
    }
}

/// Whether it is bound as a buffer, with nothing to be made or written for it.
fn is_buffer(param: &Param) -> bool {
    matches!(param.kind, ParamKind::Storage | ParamKind::Uniform)
}

/// The bytes that every variable of a parameter needs for an element of its runtime array.
fn bytes_with_element(param: &Param) -> u64 {
    let types = iter::once(&param.ty).chain(param.aliases.iter().map(|alias| &alias.ty));
    types.filter_map(|ty| Some(ty.bytes() + u64::from(ty.runtime_array()?.1))).max().unwrap_or(0)
}

/// The number of bytes of an array that fills constant memory. Padding behind the last number need not be given.
fn filled_bytes(param: &Param) -> u64 {
    let (element, stride) = match &param.ty {
        ElementType::Array { element, stride, .. } => (&**element, u64::from(*stride)),
        ty => (ty, param.fixed_bytes),
    };
    let ends = element.leaves().into_iter().map(|(at, dtype)| u64::from(at) + u64::from(dtype.itemsize()));
    param.fixed_bytes.saturating_sub(ends.max().map_or(0, |end| stride.saturating_sub(end)))
}

/// The numbers of one push constant, with their offsets in the block.
#[derive(Debug)]
pub(crate) struct NumberRule {
    first: Leaf,
    rest: Vec<Leaf>, // Of a vector, a matrix or an array.
}

impl NumberRule {
    fn new(member: &PushMember) -> Self {
        let mut leaves = member.leaves();
        // No value is a record, so a push constant without numbers takes none.
        Self { first: leaves.next().unwrap_or((0, DType::Record(0))), rest: leaves.collect() }
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
