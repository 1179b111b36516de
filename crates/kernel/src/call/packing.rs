//! From the host's packed numbers to the shader's padded layout: [`Packing`]. Pure.
//!
//! A shader's elements may have padding: std140 puts the floats of an array 16 bytes apart, and every `vec3` takes the room
//! of four numbers. Constant memory, and push constants that come as one struct, are copied by the library in any case, so
//! the padding is added during that copy. `check.rs` asks whether a constant fits, `constant.rs` copies it.

use vkarray_shader::{DType, ElementType, Leaf, Param, PushConstants, PushMember};

use crate::call::shape::{ArrayShape, has_rows_of};

/// How packed elements are laid out on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    /// Bytes from element to element on the device.
    stride: usize,
    /// Bytes of an element on the host.
    packed: usize,
    /// The pieces of an element, in memory order.
    pieces: Vec<Piece>,
    /// Whether each byte of the host becomes a number of four bytes.
    widens: bool,
}

/// Bytes that stay together: their offset on the device, their offset on the host, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    at: usize,
    from: usize,
    len: usize,
}

impl Packing {
    /// How the constant is laid out for the parameter; `None` if it is copied unchanged, or does not fit.
    ///
    /// It is copied unchanged where the parameter has no padding, where the array's elements are as long as the parameter's
    /// stride, or where several numbers make an element and the last axes already have its padding. Truth values become
    /// numbers of four bytes, since no shader language stores them otherwise.
    pub(crate) fn of(param: &Param, array: &ArrayShape<'_>) -> Option<Self> {
        let (element, stride, is_array) = match &param.ty {
            ElementType::Array { element, stride, .. } => (&**element, *stride, true),
            ty if ty.runtime_array().is_some() => return None,
            ty => (ty, u32::try_from(param.fixed_bytes).ok()?, false),
        };
        let widens = array.dtype == DType::Bool && matches!(element.scalar(), Some(DType::U32 | DType::I32));
        let used = element.used_bytes();
        let has_padding = used != u64::from(stride);
        if !(widens || (has_padding && is_packed(element, stride, is_array, array))) {
            return None;
        }
        Some(Self::of_leaves(element.leaves(), stride, widens))
    }

    /// How the numbers of a struct without padding become the block of push constants.
    pub(crate) fn of_block(push: &PushConstants) -> Self {
        Self::of_leaves(push.members.iter().flat_map(PushMember::leaves), push.bytes, false)
    }

    fn of_leaves(leaves: impl IntoIterator<Item = Leaf>, stride: u32, widens: bool) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut packed = 0;
        for (at, dtype) in leaves {
            let (at, len) = (at as usize, dtype.itemsize() as usize);
            match pieces.last_mut() {
                Some(last) if last.at + last.len == at && !widens => last.len += len,
                _ => pieces.push(Piece { at, from: packed, len }),
            }
            packed += if widens { 1 } else { len };
        }
        Self { stride: stride as usize, packed, pieces, widens }
    }

    /// Bytes on the device of so many on the host, in whole elements.
    pub(crate) fn nbytes(&self, given: u64) -> u64 {
        given.div_ceil(self.packed as u64).saturating_mul(self.stride as u64)
    }

    /// Bytes on the host of so many on the device.
    pub(crate) fn host_bytes(&self, padded: u64) -> u64 {
        padded / self.stride as u64 * self.packed as u64
    }

    /// Bytes of the last element that are given, if it is not whole.
    pub(crate) fn rest(&self, given: u64) -> u64 {
        given % self.packed as u64
    }

    /// Bytes of an element on the host.
    pub(crate) fn packed_bytes(&self) -> u32 {
        u32::try_from(self.packed).unwrap_or(u32::MAX)
    }

    /// The bytes as the shader reads them. Padding, and what the last element lacks, is zero.
    pub(crate) fn pad(&self, values: &[u8]) -> Vec<u8> {
        let mut padded = vec![0; values.len().div_ceil(self.packed) * self.stride];
        for (device, host) in padded.chunks_mut(self.stride).zip(values.chunks(self.packed)) {
            for piece in &self.pieces {
                let host = host.get(piece.from..).unwrap_or_default();
                if self.widens {
                    let truth = host.first().is_some_and(|&byte| byte != 0);
                    device[piece.at..piece.at + piece.len].copy_from_slice(&u32::from(truth).to_ne_bytes());
                } else {
                    let len = piece.len.min(host.len());
                    device[piece.at..piece.at + len].copy_from_slice(&host[..len]);
                }
            }
        }
        padded
    }
}

/// Whether the array has no padding where the shader's elements have some.
fn is_packed(element: &ElementType, stride: u32, is_array: bool, array: &ArrayShape<'_>) -> bool {
    match array.dtype {
        DType::Record(bytes) => element.has_struct() && u64::from(bytes) == element.used_bytes(),
        DType::U8 if element.has_struct() => false, // Raw bytes lie as they are.
        dtype if dtype.scalar().is_none() || dtype.scalar() != element.scalar() || dtype.itemsize() == stride => false,
        // Each number is an element, whatever the axes.
        dtype if u64::from(dtype.itemsize()) == element.used_bytes() => true,
        dtype => {
            let axes = &array.shape[usize::from(is_array).min(array.shape.len())..];
            !has_rows_of(stride, axes, dtype.itemsize())
        }
    }
}

#[cfg(test)]
mod tests;
