//! Which element types an operation takes: the kinds of the array API standard, as traits without methods.

use half::{bf16, f16};
use vkarray_kernel::{Bool, Complex32, Complex64, Element};

use crate::array::Number;

mod sealed {
    pub trait Computed {}
}

/// Types with addition and multiplication: integers, floats and complex numbers.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` have no arithmetic",
    label = "not an integer, a float or a complex number",
    note = "cast the array first, as in `x.cast::<f32>()`"
)]
pub trait Numeric: Element + sealed::Computed {
    /// The real type of the parts of a complex number; for other types, the type itself.
    type Real: Element;
}

/// Floats, not complex: `f16`, `bf16`, `f32`, `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of floats",
    label = "this operation takes `f16`, `bf16`, `f32` and `f64`",
    note = "cast the array first, as in `x.cast::<f32>()`; integers divide with `floor_divide`"
)]
pub trait Floating: Numeric {}

/// Integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of integers",
    label = "this operation takes integers",
    note = "cast the array first, as in `x.cast::<i32>()`"
)]
pub trait Integral: Numeric + Number + Bitwise {}

/// Types with bits and truth values: integers and [`Bool`].
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` have no operations on bits",
    label = "this operation takes integers and `Bool`",
    note = "cast the array first, as in `x.cast::<u32>()`; a power is `pow(y)`"
)]
pub trait Bitwise: Element + sealed::Computed {}

/// Complex numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of complex numbers",
    label = "this operation takes `Complex32` and `Complex64`",
    note = "cast the array first, as in `x.cast::<Complex32>()`"
)]
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
