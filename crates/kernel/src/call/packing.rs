//! Where the numbers of a constant go: packed as the host has them, laid out as the shader declares ([`Placement`]).
//!
//! A shader's elements may have padding: std140 puts the floats of an array 16 bytes apart, every `vec3` fills the room of
//! four. What is copied to the device on its own anyway can be laid out on the way, so nobody counts padding by hand. So
//! are push constants that come as one struct. Pure; `check.rs` asks whether a constant fits, `constant.rs` lays it out.

use crate::call::shape::ArrayShape;
use crate::signature::{DType, ElementType, Leaf, Param, PushConstants, PushMember};

/// How packed elements are laid out. Equal placements lay out equally.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Bytes from element to element on the device.
    stride: usize,
    /// Bytes of an element on the host.
    packed: usize,
    /// The pieces of an element, in memory order.
    pieces: Vec<Piece>,
    /// Whether each byte of the host becomes a number of four.
    widens: bool,
}

/// Bytes that stay together: where they lie on the device, where on the host, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    at: usize,
    from: usize,
    len: usize,
}

impl Placement {
    /// How the constant is laid out for the parameter; `None` if it lies as it is, or does not fit anyway.
    ///
    /// It lies as it is where the parameter has no padding, where its elements are as long as the parameter's are apart, or
    /// where several numbers make an element and the last axes have its padding. Truth values become numbers of four bytes: no shader language stores
    /// them otherwise.
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

    /// Bytes of so many, laid out: whole elements.
    pub(crate) fn nbytes(&self, given: u64) -> u64 {
        given.div_ceil(self.packed as u64).saturating_mul(self.stride as u64)
    }

    /// Bytes on the host of what takes so many on the device.
    pub(crate) fn host_bytes(&self, laid: u64) -> u64 {
        laid / self.stride as u64 * self.packed as u64
    }

    /// Bytes of the last element that are given, if it is not whole.
    pub(crate) fn rest(&self, given: u64) -> u64 {
        given % self.packed as u64
    }

    /// Bytes of an element on the host.
    pub(crate) fn packed_bytes(&self) -> u32 {
        u32::try_from(self.packed).unwrap_or(u32::MAX)
    }

    /// The bytes as the shader reads them. What the last element lacks, and the padding, is zero.
    pub(crate) fn lay_out(&self, values: &[u8]) -> Vec<u8> {
        let mut laid = vec![0; values.len().div_ceil(self.packed) * self.stride];
        for (device, host) in laid.chunks_mut(self.stride).zip(values.chunks(self.packed)) {
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
        laid
    }
}

/// Whether the elements come without the padding that the shader's have.
fn is_packed(element: &ElementType, stride: u32, is_array: bool, array: &ArrayShape<'_>) -> bool {
    match array.dtype {
        DType::Record(bytes) => element.has_struct() && u64::from(bytes) == element.used_bytes(),
        DType::U8 if element.has_struct() => false, // Raw bytes lie as they are.
        dtype if dtype.scalar().is_none() || dtype.scalar() != element.scalar() || dtype.itemsize() == stride => false,
        // Each number is an element, whatever the axes.
        dtype if u64::from(dtype.itemsize()) == element.used_bytes() => true,
        dtype => {
            let mut trailing = u64::from(dtype.itemsize());
            let axes = &array.shape[usize::from(is_array).min(array.shape.len())..];
            !axes.iter().rev().any(|&len| {
                trailing = trailing.saturating_mul(len as u64);
                trailing == u64::from(stride)
            })
        }
    }
}

#[cfg(test)]
mod tests;
