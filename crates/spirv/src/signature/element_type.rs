//! The types that a shader declares: [`ElementType`], a scalar, vector, matrix, array or struct with offsets.
//!
//! Plain data without naga, so that other front ends can make it and a cache can store it. Sizes and offsets are those of the
//! shader; they are not recomputed here.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::signature::{DType, ImageType};

/// A type as a shader declares it.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_spirv::{DType, ElementType};
///
/// // `array<vec3<f32>>`: twelve bytes of data in sixteen.
/// let vec3 = ElementType::Vector { len: 3, scalar: DType::F32 };
/// let points = ElementType::Array { element: Box::new(vec3.clone()), len: None, stride: 16 };
/// assert_eq!(points.to_string(), "array<vec3<f32>>");
/// assert_eq!(points.runtime_array(), Some((&vec3, 16)));
/// assert_eq!((points.bytes(), points.used_bytes(), points.scalar()), (0, 12, Some(DType::F32)));
/// assert_eq!(vec3.leaves(), [(0, DType::F32), (4, DType::F32), (8, DType::F32)]);
/// assert!(!points.has_struct());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ElementType {
    /// One number or truth value.
    Scalar(DType),
    /// One number that is updated atomically.
    Atomic(DType),
    /// Two to four numbers.
    Vector {
        /// How many.
        len: u8,
        /// Of what.
        scalar: DType,
    },
    /// A matrix.
    Matrix {
        /// Number of columns.
        columns: u8,
        /// Length of a column.
        rows: u8,
        /// Of what.
        scalar: DType,
        /// Bytes from one column to the next, or from one row to the next.
        stride: u32,
        /// Whether rows, not columns, lie in one piece.
        is_row_major: bool,
    },
    /// Equal elements at a fixed distance.
    Array {
        /// The type of an element.
        element: Box<ElementType>,
        /// How many; `None` is as many as the buffer holds.
        len: Option<u32>,
        /// Bytes from one to the next.
        stride: u32,
    },
    /// Named fields.
    Struct {
        /// The struct's name in the shader.
        name: String,
        /// In order of offset.
        fields: Vec<Field>,
        /// Whole size with trailing padding; counts one element of a trailing runtime array.
        bytes: u32,
    },
    /// An image or a buffer of texels. It has no bytes of its own: the format of its texels depends on the array.
    Image(ImageType),
    /// A sampler.
    Sampler,
    /// The address of memory, eight bytes, which count as a number: of what it leads to, the name of the type.
    Address(String),
}

/// One field of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Bytes from the start of the struct.
    pub offset: u32,
    /// Its type.
    pub ty: ElementType,
}

/// Where one scalar lies inside a value: bytes from the start, and what it is.
pub type Leaf = (u32, DType);

impl ElementType {
    /// Bytes the value takes, without padding after it. A runtime array counts no element.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Scalar(dtype) | Self::Atomic(dtype) => u64::from(dtype.itemsize()),
            Self::Vector { len, scalar } => u64::from(*len) * u64::from(scalar.itemsize()),
            Self::Matrix { stride, .. } => u64::from(self.lines().0) * u64::from(*stride),
            Self::Array { len, stride, .. } => u64::from(len.unwrap_or(0)) * u64::from(*stride),
            Self::Struct { fields, bytes, .. } => match self.runtime_array() {
                Some(_) => fields.last().map_or(0, |last| u64::from(last.offset) + last.ty.bytes()),
                None => u64::from(*bytes),
            },
            Self::Address(_) => 8,
            Self::Image(_) | Self::Sampler => 0,
        }
    }

    /// Bytes up to the end of the last number. A runtime array counts no element.
    pub(crate) fn tight_bytes(&self) -> u64 {
        match self {
            Self::Matrix { scalar, stride, .. } => {
                let (lines, len) = self.lines();
                u64::from(lines - 1) * u64::from(*stride) + u64::from(len) * u64::from(scalar.itemsize())
            }
            Self::Array { element, len: Some(len @ 1..), stride } => {
                u64::from(len - 1) * u64::from(*stride) + element.tight_bytes()
            }
            Self::Struct { fields, .. } => {
                fields.last().map_or(0, |last| u64::from(last.offset) + last.ty.tight_bytes())
            }
            _ => self.bytes(),
        }
    }

    /// The type itself and all types inside it: of an array one element, of a struct every field.
    fn nested(&self) -> Vec<&Self> {
        let (mut found, mut next) = (vec![self], 0);
        while let Some(&ty) = found.get(next) {
            match ty {
                Self::Array { element, .. } => found.push(element),
                Self::Struct { fields, .. } => found.extend(fields.iter().map(|field| &field.ty)),
                _ => {}
            }
            next += 1;
        }
        found
    }

    /// Bytes of the largest number in the value.
    pub(crate) fn largest_scalar_bytes(&self) -> u64 {
        self.nested().into_iter().filter_map(Self::own_scalar).map(|scalar| scalar.itemsize().into()).max().unwrap_or(1)
    }

    /// The number of columns of a matrix, or rows if it is row-major, and the numbers in one; zeros for other types.
    fn lines(&self) -> (u8, u8) {
        match self {
            Self::Matrix { columns, rows, is_row_major: false, .. } => (*columns, *rows),
            Self::Matrix { columns, rows, is_row_major: true, .. } => (*rows, *columns),
            _ => (0, 0),
        }
    }

    /// The array without a length that the value ends in, if it does: its element and stride in bytes.
    pub fn runtime_array(&self) -> Option<(&Self, u32)> {
        match self {
            Self::Array { element, len: None, stride } => Some((element, *stride)),
            Self::Struct { fields, .. } => fields.last().and_then(|last| last.ty.runtime_array()),
            _ => None,
        }
    }

    /// Every scalar in the value with its offset, in memory order. A runtime array counts as one element.
    ///
    /// The list has an entry for each scalar, so it is meant for parameters, not for large fixed arrays.
    #[must_use]
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.push_leaves(0, &mut leaves);
        leaves
    }

    fn push_leaves(&self, base: u32, leaves: &mut Vec<Leaf>) {
        match self {
            Self::Scalar(dtype) | Self::Atomic(dtype) => leaves.push((base, *dtype)),
            Self::Vector { len, scalar } => {
                leaves.extend((0..u32::from(*len)).map(|i| (base + i * scalar.itemsize(), *scalar)));
            }
            Self::Matrix { scalar, stride, .. } => {
                let (lines, len) = self.lines();
                for line in 0..u32::from(lines) {
                    Self::Vector { len, scalar: *scalar }.push_leaves(base + line * stride, leaves);
                }
            }
            Self::Array { element, len, stride } => {
                for i in 0..len.unwrap_or(1) {
                    element.push_leaves(base + i * stride, leaves);
                }
            }
            Self::Struct { fields, .. } => {
                for field in fields {
                    field.ty.push_leaves(base + field.offset, leaves);
                }
            }
            Self::Address(_) => leaves.push((base, DType::U64)),
            Self::Image(_) | Self::Sampler => {}
        }
    }

    /// The one scalar the whole value is made of, however nested; `None` when a struct mixes several.
    pub fn scalar(&self) -> Option<DType> {
        let mut scalars = self.nested().into_iter().filter_map(Self::own_scalar);
        let first = scalars.next()?;
        scalars.all(|scalar| scalar == first).then_some(first)
    }

    /// The scalar of a type that holds no other type.
    fn own_scalar(&self) -> Option<DType> {
        match self {
            Self::Scalar(scalar) | Self::Atomic(scalar) => Some(*scalar),
            Self::Vector { scalar, .. } | Self::Matrix { scalar, .. } => Some(*scalar),
            Self::Image(ty) => Some(ty.scalar),
            Self::Address(_) => Some(DType::U64),
            Self::Array { .. } | Self::Struct { .. } | Self::Sampler => None,
        }
    }

    /// Whether an address is anywhere in the value.
    pub(crate) fn has_address(&self) -> bool {
        self.nested().into_iter().any(|ty| matches!(ty, Self::Address(_)))
    }

    /// Whether a struct is anywhere in the value.
    pub fn has_struct(&self) -> bool {
        self.nested().into_iter().any(|ty| matches!(ty, Self::Struct { .. }))
    }

    /// Bytes of the value that hold data, the rest being padding. A runtime array counts as one element.
    pub fn used_bytes(&self) -> u64 {
        match self {
            Self::Scalar(_) | Self::Atomic(_) | Self::Vector { .. } | Self::Address(_) => self.bytes(),
            Self::Matrix { columns, rows, scalar, .. } => {
                u64::from(*columns) * u64::from(*rows) * u64::from(scalar.itemsize())
            }
            Self::Array { element, len, .. } => u64::from(len.unwrap_or(1)) * element.used_bytes(),
            Self::Struct { fields, .. } => fields.iter().map(|field| field.ty.used_bytes()).sum(),
            Self::Image(_) | Self::Sampler => 0,
        }
    }
}

/// Bytes from one column of a matrix to the next as WGSL lays it out: a column of three as four.
pub fn column_stride(rows: u8, scalar: DType) -> u32 {
    let rows = if rows == 3 { 4 } else { rows };
    u32::from(rows) * scalar.itemsize()
}

impl fmt::Display for ElementType {
    /// Spells the type as WGSL does: `array<vec4<f32>, 16>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Scalar(dtype) => dtype.to_string(),
            Self::Atomic(dtype) => format!("atomic<{dtype}>"),
            Self::Vector { len, scalar } => format!("vec{len}<{scalar}>"),
            Self::Matrix { columns, rows, scalar, .. } => format!("mat{columns}x{rows}<{scalar}>"),
            Self::Array { element, len: Some(len), .. } => format!("array<{element}, {len}>"),
            Self::Array { element, len: None, .. } => format!("array<{element}>"),
            Self::Struct { name, .. } => name.clone(),
            Self::Image(ty) => ty.to_string(),
            Self::Sampler => "sampler".to_owned(),
            Self::Address(to) => format!("address<{to}>"),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(len: u8) -> ElementType {
        ElementType::Vector { len, scalar: DType::F32 }
    }

    fn matrix(columns: u8, rows: u8, scalar: DType) -> ElementType {
        ElementType::Matrix { columns, rows, scalar, stride: column_stride(rows, scalar), is_row_major: false }
    }

    fn array(element: ElementType, len: Option<u32>, stride: u32) -> ElementType {
        ElementType::Array { element: Box::new(element), len, stride }
    }

    #[test]
    fn types_know_their_bytes() {
        let mat3 = matrix(3, 3, DType::F32);
        let cases = [
            (ElementType::Scalar(DType::F16), 2, 2, "f16"),
            (ElementType::Atomic(DType::U32), 4, 4, "atomic<u32>"),
            (vector(3), 12, 12, "vec3<f32>"),
            (mat3, 48, 36, "mat3x3<f32>"), // Columns of three sit 16 bytes apart.
            (array(vector(3), Some(5), 16), 80, 60, "array<vec3<f32>, 5>"),
            (array(vector(4), None, 16), 0, 16, "array<vec4<f32>>"), // One element counts as used.
        ];
        for (ty, bytes, used, text) in cases {
            assert_eq!((ty.bytes(), ty.used_bytes(), ty.to_string().as_str()), (bytes, used, text));
        }
    }

    #[test]
    fn a_matrix_lies_as_it_is_declared() {
        let lie = |stride, is_row_major| {
            let ty = ElementType::Matrix { columns: 2, rows: 3, scalar: DType::F32, stride, is_row_major };
            (ty.bytes(), ty.tight_bytes(), ty.leaves().iter().map(|leaf| leaf.0).collect::<Vec<_>>())
        };
        assert_eq!(lie(16, false), (32, 28, vec![0, 4, 8, 16, 20, 24])); // std430: columns of three.
        assert_eq!(lie(12, false), (24, 24, vec![0, 4, 8, 12, 16, 20])); // Scalar layout.
        assert_eq!(lie(16, true), (48, 40, vec![0, 4, 16, 20, 32, 36])); // std140: three rows of two.
    }

    #[test]
    fn a_struct_ends_where_its_runtime_array_starts() {
        let fields = vec![
            Field { name: "count".into(), offset: 0, ty: ElementType::Scalar(DType::U32) },
            Field { name: "items".into(), offset: 16, ty: array(vector(3), None, 16) },
        ];
        let list = ElementType::Struct { name: "List".into(), fields, bytes: 32 };
        assert_eq!(list.bytes(), 16);
        assert_eq!(list.runtime_array(), Some((&vector(3), 16)));
        assert_eq!(list.scalar(), None); // u32 and f32.
        let f = DType::F32;
        assert_eq!(list.leaves(), [(0, DType::U32), (16, f), (20, f), (24, f)]);
    }

    #[test]
    fn leaves_skip_padding() {
        let ty = array(matrix(2, 3, DType::F16), Some(2), 16);
        let offsets: Vec<_> = ty.leaves().iter().map(|leaf| leaf.0).collect();
        assert_eq!(offsets, [0, 2, 4, 8, 10, 12, 16, 18, 20, 24, 26, 28]);
    }
}
