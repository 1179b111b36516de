//! [`AnyScalar`]: a number without a type of its own.

use half::{bf16, f16};
use num_traits::AsPrimitive;
use vkarray_kernel::{Bool, Complex32, Complex64, DType, Element};
use vkarray_ndarray::{Error, Result};

use super::promote::Category;

/// A number that takes the type of the array beside it, as a Python number does: it decides the kind of the result and not
/// its width.
///
/// ```
/// use vkarray::array::AnyScalar;
/// use vkarray::prelude::*;
///
/// assert_eq!(AnyScalar::Int(3).dtype_beside(DType::U8), DType::U8);
/// assert_eq!(AnyScalar::Float(0.5).dtype_beside(DType::U8), DType::F32);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnyScalar {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
}

impl AnyScalar {
    fn category(self) -> Category {
        match self {
            Self::Bool(_) => Category::Bool,
            Self::Int(_) => Category::Integer,
            Self::Float(_) => Category::Float,
            Self::Complex(..) => Category::Complex,
        }
    }

    /// The type of the number where no array is beside it.
    pub fn default_dtype(self) -> DType {
        self.category().default_dtype()
    }

    /// The type of the result beside an array of `dtype`: that type, or the least of the number's kind.
    pub fn dtype_beside(self, dtype: DType) -> DType {
        match (self.category(), Category::of(dtype)) {
            (Category::Complex, _) if dtype == DType::F64 => DType::Complex64,
            (own, Some(category)) if category < own => own.default_dtype(),
            _ => dtype,
        }
    }

    /// The number in a type.
    ///
    /// # Errors
    ///
    /// [`Error::ScalarRange`] for an integer that the type does not have, and for a fraction or a complex number in a type
    /// without.
    pub(super) fn value<T: FromScalar>(self) -> Result<T> {
        T::from_scalar(self).ok_or_else(|| Error::ScalarRange { value: self.to_string(), dtype: T::DTYPE })
    }
}

impl std::fmt::Display for AnyScalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Complex(re, im) => write!(f, "{re:?}{im:+?}i"),
        }
    }
}

/// Element types between which and [`AnyScalar`] numbers are converted.
pub(super) trait FromScalar: Element {
    fn from_scalar(scalar: AnyScalar) -> Option<Self>;

    fn to_scalar(self) -> AnyScalar;
}

macro_rules! integers {
    ($($ty:ty)*) => { $(impl FromScalar for $ty {
        fn from_scalar(scalar: AnyScalar) -> Option<Self> {
            match scalar {
                AnyScalar::Bool(value) => Some(Self::from(value)),
                AnyScalar::Int(value) => Self::try_from(value).ok(),
                AnyScalar::Float(_) | AnyScalar::Complex(..) => None,
            }
        }

        fn to_scalar(self) -> AnyScalar {
            AnyScalar::Int(self.into())
        }
    })* };
}
integers!(i8 u8 i16 u16 i32 u32 i64 u64);

#[expect(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
fn float(scalar: AnyScalar) -> Option<f64> {
    match scalar {
        AnyScalar::Bool(value) => Some(f64::from(u8::from(value))),
        AnyScalar::Int(value) => Some(value as f64),
        AnyScalar::Float(value) => Some(value),
        AnyScalar::Complex(..) => None,
    }
}

/// The conversion to each type gives the nearest number.
macro_rules! floats {
    ($($ty:ty)*) => { $(impl FromScalar for $ty {
        fn from_scalar(scalar: AnyScalar) -> Option<Self> {
            float(scalar).map(f64::as_)
        }

        fn to_scalar(self) -> AnyScalar {
            AnyScalar::Float(self.into())
        }
    })* };
}
floats!(f16 bf16 f32 f64);

macro_rules! complex {
    ($($ty:ty)*) => { $(impl FromScalar for $ty {
        fn from_scalar(scalar: AnyScalar) -> Option<Self> {
            let (re, im) = match scalar {
                AnyScalar::Complex(re, im) => (re, im),
                real => (float(real)?, 0.0),
            };
            Some(Self { re: re.as_(), im: im.as_() })
        }

        fn to_scalar(self) -> AnyScalar {
            AnyScalar::Complex(self.re.into(), self.im.into())
        }
    })* };
}
complex!(Complex32 Complex64);

impl FromScalar for Bool {
    fn from_scalar(scalar: AnyScalar) -> Option<Self> {
        match scalar {
            AnyScalar::Bool(value) => Some(value.into()),
            _ => None,
        }
    }

    fn to_scalar(self) -> AnyScalar {
        AnyScalar::Bool(self.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_converted_only_where_the_type_has_them() {
        assert_eq!(AnyScalar::Int(255).value::<u8>().unwrap(), 255);
        let error = AnyScalar::Int(256).value::<u8>().unwrap_err();
        assert_eq!(error.to_string(), "256 is no value of u8");
        assert_eq!(AnyScalar::Float(1.5).value::<i32>().unwrap_err().to_string(), "1.5 is no value of i32");
        assert!(AnyScalar::Int(1).value::<Bool>().is_err());
        assert_eq!(AnyScalar::Int(1 << 60).value::<f32>().unwrap(), 2.0_f32.powi(60));
        assert_eq!(AnyScalar::Bool(true).value::<i64>().unwrap().to_scalar(), AnyScalar::Int(1));
        assert_eq!(
            AnyScalar::Complex(1.0, -2.0).value::<f64>().unwrap_err().to_string(),
            "1.0-2.0i is no value of f64"
        );
    }
}
