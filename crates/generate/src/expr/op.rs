//! [`Op`]: the operations of expressions, with their names in the array API standard.

macro_rules! operations {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal,)*) => {
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
        }
    };
}

operations! {
    /// `a + b`; integers wrap around.
    Add = "add",
    /// `a - b`; integers wrap around.
    Subtract = "subtract",
    /// `a * b`; integers wrap around.
    Multiply = "multiply",
    /// `a / b` of floats.
    Divide = "divide",
    /// `a / b`, rounded down; 0 for an integer divided by zero.
    FloorDivide = "floor_divide",
    /// The remainder of `floor_divide`, with the sign of `b`; 0 for an integer divided by zero.
    Remainder = "remainder",
    /// `a` to the power of `b`; integers wrap around, and a negative exponent of an integer gives 0 but for 1 and -1.
    Pow = "pow",
    /// The smaller operand; NaN if one is NaN.
    Minimum = "minimum",
    /// The larger operand; NaN if one is NaN.
    Maximum = "maximum",
    /// The angle of the point (b, a).
    Atan2 = "atan2",
    /// `sqrt(a² + b²)` without overflow on the way.
    Hypot = "hypot",
    /// `a` with the sign of `b`.
    Copysign = "copysign",
    /// The next float after `a` towards `b`.
    Nextafter = "nextafter",
    /// `log(exp(a) + exp(b))` without overflow on the way.
    Logaddexp = "logaddexp",
    /// `a == b`.
    Equal = "equal",
    /// `a != b`; true if one is NaN.
    NotEqual = "not_equal",
    /// `a < b`.
    Less = "less",
    /// `a <= b`.
    LessEqual = "less_equal",
    /// `a > b`.
    Greater = "greater",
    /// `a >= b`.
    GreaterEqual = "greater_equal",
    /// Both operands are true.
    LogicalAnd = "logical_and",
    /// At least one operand is true.
    LogicalOr = "logical_or",
    /// Exactly one operand is true.
    LogicalXor = "logical_xor",
    /// The operand is false.
    LogicalNot = "logical_not",
    /// `a & b`.
    BitwiseAnd = "bitwise_and",
    /// `a | b`.
    BitwiseOr = "bitwise_or",
    /// `a ^ b`.
    BitwiseXor = "bitwise_xor",
    /// `!a`.
    BitwiseInvert = "bitwise_invert",
    /// `a << b`; 0 where `b` is negative or at least the number of bits.
    BitwiseLeftShift = "bitwise_left_shift",
    /// `a >> b`; only copies of the sign bit where `b` is negative or at least the number of bits.
    BitwiseRightShift = "bitwise_right_shift",
    /// `-a`.
    Negative = "negative",
    /// The magnitude. The magnitude of the least integer is the least integer.
    Abs = "abs",
    /// The sign as -1, 0 or 1; NaN for NaN.
    Sign = "sign",
    /// Whether the sign bit is set.
    Signbit = "signbit",
    /// `a * a`.
    Square = "square",
    /// `1 / a`.
    Reciprocal = "reciprocal",
    /// The square root.
    Sqrt = "sqrt",
    /// The number, rounded down.
    Floor = "floor",
    /// The number, rounded up.
    Ceil = "ceil",
    /// The number, rounded towards zero.
    Trunc = "trunc",
    /// The number, rounded to the nearest integer, ties to even.
    Round = "round",
    /// e to the power of `a`.
    Exp = "exp",
    /// `exp(a) - 1`, exact near 0.
    Expm1 = "expm1",
    /// The natural logarithm.
    Log = "log",
    /// `log(1 + a)`, exact near 0.
    Log1p = "log1p",
    /// The logarithm to base 2.
    Log2 = "log2",
    /// The logarithm to base 10.
    Log10 = "log10",
    /// The sine.
    Sin = "sin",
    /// The cosine.
    Cos = "cos",
    /// The tangent.
    Tan = "tan",
    /// The inverse of the sine.
    Asin = "asin",
    /// The inverse of the cosine.
    Acos = "acos",
    /// The inverse of the tangent.
    Atan = "atan",
    /// The hyperbolic sine.
    Sinh = "sinh",
    /// The hyperbolic cosine.
    Cosh = "cosh",
    /// The hyperbolic tangent.
    Tanh = "tanh",
    /// The inverse of the hyperbolic sine.
    Asinh = "asinh",
    /// The inverse of the hyperbolic cosine.
    Acosh = "acosh",
    /// The inverse of the hyperbolic tangent.
    Atanh = "atanh",
    /// Whether the number is neither infinite nor NaN.
    Isfinite = "isfinite",
    /// Whether the number is infinite.
    Isinf = "isinf",
    /// Whether the number is NaN.
    Isnan = "isnan",
    /// The real part.
    Real = "real",
    /// The imaginary part.
    Imag = "imag",
    /// The complex conjugate.
    Conj = "conj",
    /// `b` where `a` is true, otherwise `c`.
    Select = "where",
    /// The number, converted to another type.
    Cast = "astype",
}
