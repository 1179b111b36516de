//! [`Class`]: how values of an element type are computed in a kernel.
//!
//! Integers of 8 and 16 bits are computed in 32 bits and cut to their size after each operation; `f16` and `bf16` are
//! computed in `f32` and rounded when they are stored or cast. Kernels therefore need no short types of the device.

use vkarray_shader::DType;

/// The kind of arithmetic of an element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Bool,
    /// The bits of the element type, and whether values are computed in 64 bits.
    Signed {
        bits: u32,
    },
    Unsigned {
        bits: u32,
    },
    /// Values are computed in `f32`.
    Float,
    Double,
    /// A value is two `f32`.
    Complex,
    /// A value is two `f64`.
    DoubleComplex,
}

impl Class {
    /// The class of an element type; records have none.
    pub(crate) fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::Bool => Self::Bool,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Self::Signed { bits: 8 * dtype.itemsize() },
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Self::Unsigned { bits: 8 * dtype.itemsize() },
            DType::F16 | DType::BF16 | DType::F32 => Self::Float,
            DType::F64 => Self::Double,
            DType::Complex32 => Self::Complex,
            DType::Complex64 => Self::DoubleComplex,
            _ => return None,
        })
    }

    /// The type of a value in WGSL.
    pub(crate) fn value_type(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Signed { bits: 64 } => "i64",
            Self::Signed { .. } => "i32",
            Self::Unsigned { bits: 64 } => "u64",
            Self::Unsigned { .. } => "u32",
            Self::Float => "f32",
            Self::Double => "f64",
            Self::Complex => "vec2<f32>",
            Self::DoubleComplex => "vec2<f64>",
        }
    }
}

/// The type of a value of this element type in WGSL.
pub fn value_type(dtype: DType) -> &'static str {
    Class::of(dtype).map_or("u32", Class::value_type)
}
