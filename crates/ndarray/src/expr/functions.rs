//! [`Operand`]: the elementwise functions of the array API standard, on arrays and expressions.
//!
//! The operators of Rust are in `operators.rs`, the next file to read.

use smallvec::smallvec;
use vkarray_kernel::{Bool, DType, Element};

use super::kinds::{Bitwise, Complex, Floating, Integral, Numeric};
use super::{Expr, IntoExpr, Node, Op};
use crate::array::{DeviceNDArray, Number};

/// Methods of one operand, with results of a type.
macro_rules! one {
    ($result:ty; $($kind:ident $name:ident $op:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        #[must_use]
        fn $name(&self) -> Expr<$result>
        where
            Self::Item: $kind,
        {
            self.expr().apply(Op::$op)
        }
    )*};
}

/// Methods of two operands of one type, with results of a type.
macro_rules! two {
    ($result:ty; $($kind:ident $name:ident $op:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        #[must_use]
        fn $name(&self, other: impl IntoExpr<Self::Item>) -> Expr<$result>
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

/// Functions that build an expression from an array or from another expression. None runs anything.
///
/// Names and special cases follow the [Python array API standard](https://data-apis.org/array-api/2025.12/), and NumPy
/// where the standard is silent. The guide's page on arrays that compute states how exact each function is.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.slice_to_device(&[3.0_f32, -4.0])?;
/// let y = x.square().sqrt().maximum(3.5);
/// assert_eq!(y.eval()?.to_vec()?, [3.5, 4.0]);
/// # anyhow::Ok(())
/// ```
pub trait Operand {
    /// The type of the elements.
    type Item: Element;

    /// The array or expression as an expression.
    #[must_use]
    fn expr(&self) -> Expr<Self::Item>;

    /// The elements converted to another type; see [`DeviceNDArray::astype`] for what a conversion gives.
    #[must_use]
    fn cast<U: Element>(&self) -> Expr<U> {
        self.expr().apply(Op::Cast)
    }

    /// `clip`: the elements, at least `low` and at most `high`.
    #[must_use]
    fn clip(&self, low: impl IntoExpr<Self::Item>, high: impl IntoExpr<Self::Item>) -> Expr<Self::Item>
    where
        Self::Item: Number,
    {
        self.maximum(low).minimum(high)
    }

    /// `a` where the elements are true, otherwise `b`: NumPy's `where`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(-2, 3, 1)?;
    /// let y = x.less(0).select::<i32>(0, &x * 10);
    /// assert_eq!(y.eval()?.to_vec()?, [0, 0, 0, 10, 20]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    #[doc(alias = "where")]
    fn select<U: Element>(&self, a: impl IntoExpr<U>, b: impl IntoExpr<U>) -> Expr<U>
    where
        Self: Operand<Item = Bool>,
    {
        let (condition, a, b) = (self.expr(), a.into_expr(), b.into_expr());
        let stream = condition.stream.or(a.stream).or(b.stream);
        Expr::new(Node::apply(Op::Select, DType::of::<U>(), smallvec![condition.node, a.node, b.node]), stream)
    }

    one! {
        <Self::Item as Numeric>::Real;
        Numeric abs Abs "The magnitude. The magnitude of a complex number is real; the magnitude of the least integer is the least integer.";
        Complex real Real "The real part.";
        Complex imag Imag "The imaginary part.";
    }

    one! {
        Self::Item;
        Numeric square Square "The square.";
        Number sign Sign "-1, 0 or 1; NaN of NaN.";
        Complex conj Conj "The complex conjugate.";
        Floating reciprocal Reciprocal "`1 / a`.";
        Floating sqrt Sqrt "The square root.";
        Number floor Floor "Rounded down.";
        Number ceil Ceil "Rounded up.";
        Number trunc Trunc "Rounded towards zero.";
        Number round Round "Rounded to the nearest, ties to even.";
        Floating exp Exp "e to the power of each element.";
        Floating expm1 Expm1 "`exp(a) - 1`, exact near 0.";
        Floating log Log "The natural logarithm.";
        Floating log1p Log1p "`log(1 + a)`, exact near 0.";
        Floating log2 Log2 "The logarithm to base 2.";
        Floating log10 Log10 "The logarithm to base 10.";
        Floating sin Sin "The sine.";
        Floating cos Cos "The cosine.";
        Floating tan Tan "The tangent.";
        Floating asin Asin "The inverse of the sine.";
        Floating acos Acos "The inverse of the cosine.";
        Floating atan Atan "The inverse of the tangent.";
        Floating sinh Sinh "The hyperbolic sine.";
        Floating cosh Cosh "The hyperbolic cosine.";
        Floating tanh Tanh "The hyperbolic tangent.";
        Floating asinh Asinh "The inverse of the hyperbolic sine.";
        Floating acosh Acosh "The inverse of the hyperbolic cosine.";
        Floating atanh Atanh "The inverse of the hyperbolic tangent.";
        Bitwise bitwise_invert BitwiseInvert "All bits inverted; a truth value becomes the other truth value.";
    }

    two! {
        Self::Item;
        Number floor_divide FloorDivide "`a / b`, rounded down; 0 for an integer divided by zero.";
        Number remainder Remainder "What `floor_divide` leaves, with the sign of `other`; 0 for an integer divided by zero.";
        Number pow Pow "To the power of `other`. Integers wrap around; 0 for a negative power of an integer other than 1 and -1.";
        Number minimum Minimum "The smaller; NaN if one is NaN.";
        Number maximum Maximum "The larger; NaN if one is NaN.";
        Floating atan2 Atan2 "The angle of the point whose first coordinate is `other`.";
        Floating hypot Hypot "`sqrt(a² + b²)` without overflow on the way.";
        Floating copysign Copysign "The magnitude with the sign of `other`.";
        Floating nextafter Nextafter "The next float towards `other`.";
        Floating logaddexp Logaddexp "`log(exp(a) + exp(b))` without overflow on the way.";
    }

    two! {
        Bool;
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

    one! {
        Bool;
        Element logical_not LogicalNot "It is false; all but zero is true.";
        Numeric isfinite Isfinite "Neither infinite nor NaN.";
        Numeric isinf Isinf "Infinite.";
        Numeric isnan Isnan "NaN.";
        Floating signbit Signbit "The sign bit is set, also that of zero and NaN.";
    }

    two! {
        Self::Item;
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

    /// Whether elements are close: `|a - b| <= atol + rtol * |b|`, NumPy's `isclose`. Equal infinities are close; NaN is
    /// close to nothing.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (x, y) = (ctx.full(2, 1.0_f32)?, ctx.slice_to_device(&[1.000_001_f32, 1.1])?);
    /// let close = x.isclose(&y, 1e-5, 1e-8).eval()?.to_vec()?;
    /// assert_eq!(close.into_iter().map(bool::from).collect::<Vec<_>>(), [true, false]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    fn isclose(&self, other: impl IntoExpr<Self::Item>, rtol: Self::Item, atol: Self::Item) -> Expr<Bool>
    where
        Self::Item: Floating + Numeric<Real = Self::Item> + Number,
    {
        let (a, b) = (self.expr(), other.into_expr());
        let bound = b.abs() * rtol + atol;
        ((&a - &b).abs().less_equal(bound) & b.isfinite()) | a.equal(&b)
    }
}

impl<T: Element> Operand for DeviceNDArray<T> {
    type Item = T;

    fn expr(&self) -> Expr<T> {
        self.into_expr()
    }
}

impl<T: Element> Operand for Expr<T> {
    type Item = T;

    fn expr(&self) -> Expr<T> {
        self.clone()
    }
}
