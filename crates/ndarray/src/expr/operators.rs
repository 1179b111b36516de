//! Rust's operators on arrays and expressions. The right operand is an array, an expression or a number; a number on the
//! left needs the type written out where Rust cannot find it: `2.0_f32 / &x`.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use half::{bf16, f16};
use vkarray_kernel::{Complex32, Complex64, Element};

use super::kinds::{Bitwise, Floating, Integral, Numeric};
use super::{Expr, IntoExpr, Op};
use crate::array::{DeviceNDArray, Number};

/// A binary operator for each form of the left operand.
macro_rules! binary {
    ($($trait:ident $method:ident $kind:path => $op:ident;)*) => {$(
        binary!(@left $trait $method $kind, $op: &DeviceNDArray<T>, DeviceNDArray<T>, Expr<T>, &Expr<T>);
    )*};
    (@left $trait:ident $method:ident $kind:path, $op:ident: $($left:ty),*) => {$(
        impl<T: Element + $kind, R: IntoExpr<T>> $trait<R> for $left {
            type Output = Expr<T>;

            fn $method(self, right: R) -> Expr<T> {
                self.into_expr().apply_with(Op::$op, right.into_expr())
            }
        }
    )*};
}

binary! {
    Add add Numeric => Add;
    Sub sub Numeric => Subtract;
    Mul mul Numeric => Multiply;
    Div div Floating => Divide;
    Rem rem Number => Remainder;
    BitAnd bitand Bitwise => BitwiseAnd;
    BitOr bitor Bitwise => BitwiseOr;
    BitXor bitxor Bitwise => BitwiseXor;
    Shl shl Integral => BitwiseLeftShift;
    Shr shr Integral => BitwiseRightShift;
}

macro_rules! unary {
    ($($trait:ident $method:ident $kind:path => $op:ident;)*) => {$(
        unary!(@operand $trait $method $kind, $op: &DeviceNDArray<T>, DeviceNDArray<T>, Expr<T>, &Expr<T>);
    )*};
    (@operand $trait:ident $method:ident $kind:path, $op:ident: $($operand:ty),*) => {$(
        impl<T: Element + $kind> $trait for $operand {
            type Output = Expr<T>;

            fn $method(self) -> Expr<T> {
                self.into_expr().apply(Op::$op)
            }
        }
    )*};
}

unary! {
    Neg neg Numeric => Negative;
    Not not Bitwise => BitwiseInvert;
}

/// Operators with a number on the left.
macro_rules! number_first {
    ($($number:ty),*: $trait:ident $method:ident $op:ident) => {
        $(number_first!(@right $number, $trait $method $op: &DeviceNDArray<$number>, Expr<$number>, &Expr<$number>);)*
    };
    (@right $number:ty, $trait:ident $method:ident $op:ident: $($right:ty),*) => {$(
        impl $trait<$right> for $number {
            type Output = Expr<$number>;

            fn $method(self, right: $right) -> Expr<$number> {
                Expr::scalar(self).apply_with(Op::$op, right.into_expr())
            }
        }
    )*};
}

number_first!(i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, Complex32, Complex64: Add add Add);
number_first!(i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, Complex32, Complex64: Sub sub Subtract);
number_first!(i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, Complex32, Complex64: Mul mul Multiply);
number_first!(f16, bf16, f32, f64: Div div Divide);
