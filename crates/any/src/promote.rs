//! The common type of operands: the tables of the [array API standard](https://data-apis.org/array-api/2025.12/), and for
//! operands of different kinds the type of the higher kind. Plain data.

use vkarray_kernel::DType;

/// A kind of element types, in ascending order: an operand of a higher kind decides the kind of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Truth values.
    Bool,
    /// Integers.
    Integer,
    /// Floats.
    Float,
    /// Complex numbers.
    Complex,
}

impl Category {
    /// The kind of a type; `None` for a struct of the program.
    pub fn of(dtype: DType) -> Option<Self> {
        use DType::{BF16, Bool, Complex32, Complex64, F16, F32, F64, Record};
        Some(match dtype {
            Bool => Self::Bool,
            F16 | BF16 | F32 | F64 => Self::Float,
            Complex32 | Complex64 => Self::Complex,
            Record(_) => return None,
            _ => Self::Integer,
        })
    }

    /// The type of this kind where nothing else decides: NumPy's for truth values and integers, and for floats the one
    /// that every device computes.
    pub fn default_dtype(self) -> DType {
        match self {
            Self::Bool => DType::Bool,
            Self::Integer => DType::I64,
            Self::Float => DType::F32,
            Self::Complex => DType::Complex32,
        }
    }
}

/// The type that has the values of both, or `None` where there is none: between `u64` and a signed integer, and for a
/// struct of the program.
///
/// Two integers give the standard's type. A float beside an integer or a truth value keeps its type, since a wider one
/// is slow on most devices; NumPy gives `f64` for some of these. `f16` and `bf16` give `f32`.
///
/// ```
/// use vkarray::array::promote;
/// use vkarray::prelude::*;
///
/// assert_eq!(promote(DType::U8, DType::I8), Some(DType::I16));
/// assert_eq!(promote(DType::I64, DType::F32), Some(DType::F32));
/// assert_eq!(promote(DType::I64, DType::U64), None);
/// ```
pub fn promote(a: DType, b: DType) -> Option<DType> {
    use DType::{Complex32, Complex64, F32, F64};
    let (low, high) = if Category::of(a)? <= Category::of(b)? { (a, b) } else { (b, a) };
    if low == high || low == DType::Bool {
        return Some(high);
    }
    match (Category::of(low)?, Category::of(high)?) {
        (Category::Integer, Category::Integer) => common_integer(low, high),
        (Category::Float, Category::Float) if low.itemsize() == high.itemsize() => Some(F32),
        (Category::Float | Category::Complex, Category::Complex) => {
            let is_double = [low, high].iter().any(|dtype| matches!(dtype, F64 | Complex64));
            Some(if is_double { Complex64 } else { Complex32 })
        }
        (Category::Float, Category::Float) if low.itemsize() > high.itemsize() => Some(low),
        _ => Some(high),
    }
}

fn common_integer(a: DType, b: DType) -> Option<DType> {
    let is_signed = |dtype| matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    if is_signed(a) == is_signed(b) {
        return Some(if a.itemsize() >= b.itemsize() { a } else { b });
    }
    let (signed, unsigned) = if is_signed(a) { (a, b) } else { (b, a) };
    match signed.itemsize().max(2 * unsigned.itemsize()) {
        2 => Some(DType::I16),
        4 => Some(DType::I32),
        8 => Some(DType::I64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_type_is_the_standards() {
        use DType::*;
        let cases = [
            (I8, I16, Some(I16)),
            (U8, U64, Some(U64)),
            (I8, U8, Some(I16)),
            (I64, U8, Some(I64)),
            (I16, U16, Some(I32)),
            (I8, U32, Some(I64)),
            (I8, U64, None),
            (F32, F64, Some(F64)),
            (F16, BF16, Some(F32)),
            (F16, F32, Some(F32)),
            (Bool, F16, Some(F16)),
            (Bool, Bool, Some(Bool)),
            (I64, F16, Some(F16)),
            (F32, Complex32, Some(Complex32)),
            (F64, Complex32, Some(Complex64)),
            (Complex64, Complex32, Some(Complex64)),
            (I32, Complex32, Some(Complex32)),
            (Record(4), I32, None),
        ];
        for (a, b, expected) in cases {
            assert_eq!((promote(a, b), promote(b, a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn the_common_type_of_three_does_not_depend_on_their_order() {
        for &a in DType::ALL {
            for &b in DType::ALL {
                assert_eq!(promote(a, a), Some(a));
                assert_eq!(promote(a, b), promote(b, a));
            }
        }
    }
}
