//! [`Logic`]: comparisons, tests of floats, logic and bits.

use vkarray_kernel::{Bool, Element};

use super::functions::{Operand, two};
use super::kinds::{Bitwise, Floating, Integral, Numeric};
use super::{Expr, IntoExpr, Op};
use crate::array::Number;

/// Methods of one operand with truth values as results.
macro_rules! test {
    ($($kind:ident $name:ident $op:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        #[must_use]
        fn $name(&self) -> Expr<Bool>
        where
            Self::Item: $kind,
        {
            self.expr().apply(Op::$op)
        }
    )*};
}

/// Methods of two operands with truth values as results.
macro_rules! compare {
    ($($kind:ident $name:ident $op:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        #[must_use]
        fn $name(&self, other: impl IntoExpr<Self::Item>) -> Expr<Bool>
        where
            Self::Item: $kind,
        {
            self.expr().apply_with(Op::$op, other.into_expr())
        }
    )*};
}

/// Methods with the names of Rust's comparisons, which return one truth value and not one for each element. Without
/// these methods, `x.gt(&y)` would be `Iterator::gt`, and the compiler would say that an array is not an iterator.
macro_rules! refer {
    ($($kind:ident $name:ident $named:ident $note:literal;)*) => {$(
        #[doc(hidden)]
        #[deprecated(note = $note)]
        fn $name(&self, other: impl IntoExpr<Self::Item>) -> Expr<Bool>
        where
            Self::Item: $kind,
        {
            self.$named(other)
        }
    )*};
}

/// Comparisons, tests and operations on bits. Like the methods of [`Operand`], each builds an expression.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.slice_to_device(&[1.0_f32, f32::NAN, 3.0])?;
/// let is_large = x.greater(2.0) | x.isnan();
/// assert_eq!(is_large.select::<f32>(0.0, &x).eval()?.to_vec()?, [1.0, 0.0, 0.0]);
/// # anyhow::Ok(())
/// ```
pub trait Logic: Operand {
    compare! {
        Element equal Equal "`a == b`; false if one is NaN.";
        Element not_equal NotEqual "`a != b`; true if one is NaN.";
        Number less Less "`a < b`; false if one is NaN.";
        Number less_equal LessEqual "`a <= b`; false if one is NaN.";
        Number greater Greater "`a > b`; false if one is NaN.";
        Number greater_equal GreaterEqual "`a >= b`; false if one is NaN.";
        Element logical_and LogicalAnd "Both are true; all but zero is true.";
        Element logical_or LogicalOr "One is true; all but zero is true.";
        Element logical_xor LogicalXor "Exactly one is true; all but zero is true.";
    }

    test! {
        Element logical_not LogicalNot "It is false; all but zero is true.";
        Numeric isfinite Isfinite "Neither infinite nor NaN.";
        Numeric isinf Isinf "Infinite.";
        Numeric isnan Isnan "NaN.";
        Floating signbit Signbit "The sign bit is set, also that of zero and NaN.";
    }

    two! {
        Bitwise bitwise_and BitwiseAnd "The bits that both have.";
        Bitwise bitwise_or BitwiseOr "The bits that one has.";
        Bitwise bitwise_xor BitwiseXor "The bits that exactly one has.";
        Integral bitwise_left_shift BitwiseLeftShift "Shifted left; 0 where `other` is negative or at least the number of bits.";
        Integral bitwise_right_shift BitwiseRightShift "Shifted right, keeping the sign; all sign where `other` is negative or at least the number of bits.";
    }

    refer! {
        Element eq equal "the comparison of each element is `equal`";
        Element ne not_equal "the comparison of each element is `not_equal`";
        Number lt less "the comparison of each element is `less`";
        Number le less_equal "the comparison of each element is `less_equal`";
        Number gt greater "the comparison of each element is `greater`";
        Number ge greater_equal "the comparison of each element is `greater_equal`";
    }

    /// All bits inverted; a truth value becomes the other truth value.
    #[must_use]
    fn bitwise_invert(&self) -> Expr<Self::Item>
    where
        Self::Item: Bitwise,
    {
        self.expr().apply(Op::BitwiseInvert)
    }
}

impl<O: Operand + ?Sized> Logic for O {}
