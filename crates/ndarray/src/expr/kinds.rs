//! Which element types an operation takes: the kinds of the array API standard, as traits without methods.

use half::{bf16, f16};
use vkarray_kernel::{Bool, Complex32, Complex64, Element};

use crate::array::Number;

mod sealed {
    pub trait Computed {}
}

/// Types with addition and multiplication: integers, floats and complex numbers.
pub trait Numeric: Element + sealed::Computed {
    /// The real type of the parts of a complex number; for others the type itself.
    type Real: Element;
}

/// Floats, not complex: `f16`, `bf16`, `f32`, `f64`.
pub trait Floating: Numeric {}

/// Integers.
pub trait Integral: Numeric + Number + Bitwise {}

/// Types with bits and truth values: integers and [`Bool`].
pub trait Bitwise: Element + sealed::Computed {}

/// Complex numbers.
pub trait Complex: Numeric {}

macro_rules! kinds {
    ($($ty:ty: $real:ty, $($kind:ident)*;)*) => {$(
        impl sealed::Computed for $ty {}
        impl Numeric for $ty {
            type Real = $real;
        }
        $(impl $kind for $ty {})*
    )*};
}

kinds! {
    i8: i8, Integral Bitwise;
    u8: u8, Integral Bitwise;
    i16: i16, Integral Bitwise;
    u16: u16, Integral Bitwise;
    i32: i32, Integral Bitwise;
    u32: u32, Integral Bitwise;
    i64: i64, Integral Bitwise;
    u64: u64, Integral Bitwise;
    f16: f16, Floating;
    bf16: bf16, Floating;
    f32: f32, Floating;
    f64: f64, Floating;
    Complex32: f32, Complex;
    Complex64: f64, Complex;
}

impl sealed::Computed for Bool {}
impl Bitwise for Bool {}
