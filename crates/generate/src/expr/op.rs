//! [`Op`]: the operations of expressions, with their names in the array API standard.

macro_rules! operations {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal of $arity:literal,)*) => {
        /// An operation of an expression. Its name and its special cases are the array API standard's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            $($(#[doc = $doc])* $name,)*
        }

        impl Op {
            /// Every operation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name of the operation in the array API standard.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// How many operands the operation takes.
            pub const fn arity(self) -> usize {
                match self {
                    $(Self::$name => $arity,)*
                }
            }
        }
    };
}

operations! {
    /// `a + b`; integers wrap around.
    Add = "add" of 2,
    /// `a - b`; integers wrap around.
    Subtract = "subtract" of 2,
    /// `a * b`; integers wrap around.
    Multiply = "multiply" of 2,
    /// `a / b` of floats.
    Divide = "divide" of 2,
    /// `a / b`, rounded down; 0 for an integer divided by zero.
    FloorDivide = "floor_divide" of 2,
    /// The remainder of `floor_divide`, with the sign of `b`; 0 for an integer divided by zero.
    Remainder = "remainder" of 2,
    /// `a` to the power of `b`; integers wrap around, and a negative exponent of an integer gives 0 but for 1 and -1.
    Pow = "pow" of 2,
    /// The smaller operand; NaN if one is NaN.
    Minimum = "minimum" of 2,
    /// The larger operand; NaN if one is NaN.
    Maximum = "maximum" of 2,
    /// The angle of the point (b, a).
    Atan2 = "atan2" of 2,
    /// `sqrt(a² + b²)` without overflow on the way.
    Hypot = "hypot" of 2,
    /// `a` with the sign of `b`.
    Copysign = "copysign" of 2,
    /// The next float after `a` towards `b`.
    Nextafter = "nextafter" of 2,
    /// `log(exp(a) + exp(b))` without overflow on the way.
    Logaddexp = "logaddexp" of 2,
    /// `a == b`.
    Equal = "equal" of 2,
    /// `a != b`; true if one is NaN.
    NotEqual = "not_equal" of 2,
    /// `a < b`.
    Less = "less" of 2,
    /// `a <= b`.
    LessEqual = "less_equal" of 2,
    /// `a > b`.
    Greater = "greater" of 2,
    /// `a >= b`.
    GreaterEqual = "greater_equal" of 2,
    /// Both operands are true.
    LogicalAnd = "logical_and" of 2,
    /// At least one operand is true.
    LogicalOr = "logical_or" of 2,
    /// Exactly one operand is true.
    LogicalXor = "logical_xor" of 2,
    /// The operand is false.
    LogicalNot = "logical_not" of 1,
    /// `a & b`.
    BitwiseAnd = "bitwise_and" of 2,
    /// `a | b`.
    BitwiseOr = "bitwise_or" of 2,
    /// `a ^ b`.
    BitwiseXor = "bitwise_xor" of 2,
    /// `!a`.
    BitwiseInvert = "bitwise_invert" of 1,
    /// `a << b`; 0 where `b` is negative or at least the number of bits.
    BitwiseLeftShift = "bitwise_left_shift" of 2,
    /// `a >> b`; only copies of the sign bit where `b` is negative or at least the number of bits.
    BitwiseRightShift = "bitwise_right_shift" of 2,
    /// `-a`.
    Negative = "negative" of 1,
    /// The magnitude. The magnitude of the least integer is the least integer.
    Abs = "abs" of 1,
    /// The sign as -1, 0 or 1; NaN for NaN.
    Sign = "sign" of 1,
    /// Whether the sign bit is set.
    Signbit = "signbit" of 1,
    /// `a * a`.
    Square = "square" of 1,
    /// `1 / a`.
    Reciprocal = "reciprocal" of 1,
    /// The square root.
    Sqrt = "sqrt" of 1,
    /// The number, rounded down.
    Floor = "floor" of 1,
    /// The number, rounded up.
    Ceil = "ceil" of 1,
    /// The number, rounded towards zero.
    Trunc = "trunc" of 1,
    /// The number, rounded to the nearest integer, ties to even.
    Round = "round" of 1,
    /// e to the power of `a`.
    Exp = "exp" of 1,
    /// `exp(a) - 1`, exact near 0.
    Expm1 = "expm1" of 1,
    /// The natural logarithm.
    Log = "log" of 1,
    /// `log(1 + a)`, exact near 0.
    Log1p = "log1p" of 1,
    /// The logarithm to base 2.
    Log2 = "log2" of 1,
    /// The logarithm to base 10.
    Log10 = "log10" of 1,
    /// The sine.
    Sin = "sin" of 1,
    /// The cosine.
    Cos = "cos" of 1,
    /// The tangent.
    Tan = "tan" of 1,
    /// The inverse of the sine.
    Asin = "asin" of 1,
    /// The inverse of the cosine.
    Acos = "acos" of 1,
    /// The inverse of the tangent.
    Atan = "atan" of 1,
    /// The hyperbolic sine.
    Sinh = "sinh" of 1,
    /// The hyperbolic cosine.
    Cosh = "cosh" of 1,
    /// The hyperbolic tangent.
    Tanh = "tanh" of 1,
    /// The inverse of the hyperbolic sine.
    Asinh = "asinh" of 1,
    /// The inverse of the hyperbolic cosine.
    Acosh = "acosh" of 1,
    /// The inverse of the hyperbolic tangent.
    Atanh = "atanh" of 1,
    /// Whether the number is neither infinite nor NaN.
    Isfinite = "isfinite" of 1,
    /// Whether the number is infinite.
    Isinf = "isinf" of 1,
    /// Whether the number is NaN.
    Isnan = "isnan" of 1,
    /// The real part.
    Real = "real" of 1,
    /// The imaginary part.
    Imag = "imag" of 1,
    /// The complex conjugate.
    Conj = "conj" of 1,
    /// `b` where `a` is true, otherwise `c`.
    Select = "where" of 3,
    /// The number, converted to another type.
    Cast = "astype" of 1,
}
