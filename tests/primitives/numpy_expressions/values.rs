//! [`Value`]: the element types of random programs, with their operations by name. `numpy_expressions.rs` runs the programs.

use vkarray::array::{Bitwise, Bool, Integral, Number, Numeric};
use vkarray::half::f16;
use vkarray::prelude::*;
use vkarray::primitives::{Axes, Precise, Reducible};

use super::text;

/// An element type of the programs.
pub(super) trait Value: Reducible<Sum: Bits> + Bits {
    /// A value made from a small number in halves, or from a special value. Most numbers of 64 bits are wide.
    fn made(raw: i64, is_wide: bool, special: Option<f32>) -> Self;
    fn unary(name: &str, a: &Expr<Self>) -> Option<Expr<Self>>;
    fn binary(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Expr<Self>;
    fn compared(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Option<Expr<Bool>>;

    /// A reduction of `x`, or of its product with `other`; `None` for types that lack it.
    fn reduced(name: &str, x: &Expr<Self>, other: &Expr<Self>, axes: Axes) -> Option<String>;
}

/// A type of results, with the bytes that enter the check sum.
pub(super) trait Bits: Element {
    fn canonical(self) -> Vec<u8>;
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Bits for $ty {
            fn canonical(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}

macro_rules! integer_values {
    ($($ty:ident)*) => {$(
        impl Value for $ty {
            fn made(raw: i64, is_wide: bool, _: Option<f32>) -> Self {
                let raw = if $ty::MIN == 0 { raw + 30 } else { raw };
                let raw = if is_wide && size_of::<$ty>() == 8 { raw * 0x1_0000_0003 } else { raw };
                raw.try_into().unwrap()
            }

            fn unary(name: &str, a: &Expr<Self>) -> Option<Expr<Self>> {
                if name == "bitwise_invert" { Some(!a) } else { any_unary(name, a) }
            }

            fn binary(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Expr<Self> {
                of_bits(name, a, b).or_else(|| of_integers(name, a, b)).unwrap_or_else(|| any_binary(name, a, b))
            }

            fn compared(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Option<Expr<Bool>> {
                any_compared(name, a, b)
            }

            fn reduced(name: &str, x: &Expr<Self>, other: &Expr<Self>, axes: Axes) -> Option<String> {
                (name == "vecdot").then(|| text(&x.vecdot(other, axes).unwrap()))
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ident $of:expr;)*) => {$(
        impl Bits for $ty {
            fn canonical(self) -> Vec<u8> {
                let value = if self.is_nan() { $ty::NAN } else { self + $of(0.0) };
                value.to_le_bytes().to_vec()
            }
        }

        impl Value for $ty {
            fn made(raw: i64, is_wide: bool, special: Option<f32>) -> Self {
                let more = if is_wide && size_of::<$ty>() == 8 { raw as f64 / f64::from(1 << 20) } else { 0.0 };
                $of(special.map_or(raw as f64 / 2.0 + more, f64::from))
            }

            fn unary(name: &str, a: &Expr<Self>) -> Option<Expr<Self>> {
                any_unary(name, a)
            }

            fn binary(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Expr<Self> {
                any_binary(name, a, b)
            }

            fn compared(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Option<Expr<Bool>> {
                any_compared(name, a, b)
            }

            fn reduced(name: &str, x: &Expr<Self>, other: &Expr<Self>, axes: Axes) -> Option<String> {
                of_floats(name, x, other, axes)
            }
        }
    )*};
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 }
integer_values! { i8 u8 i16 u16 i32 u32 i64 u64 }
#[expect(clippy::cast_possible_truncation, reason = "the numbers are exact")]
fn to_f32(value: f64) -> f32 {
    value as f32
}

floats! { f16 f16::from_f64; f32 to_f32; f64 |value: f64| value; }

impl Bits for Bool {
    fn canonical(self) -> Vec<u8> {
        vec![u8::from(bool::from(self))]
    }
}

impl Value for Bool {
    fn made(raw: i64, _: bool, _: Option<f32>) -> Self {
        (raw % 3 == 0).into()
    }

    fn unary(name: &str, a: &Expr<Self>) -> Option<Expr<Self>> {
        match name {
            "logical_not" => Some(a.logical_not()),
            "bitwise_invert" => Some(!a),
            _ => None,
        }
    }

    fn binary(name: &str, a: &Expr<Self>, b: &Expr<Self>) -> Expr<Self> {
        let found = of_bits(name, a, b).or_else(|| logical(name, a, b));
        found.unwrap_or_else(|| first_true(name, a, b))
    }

    fn compared(_: &str, _: &Expr<Self>, _: &Expr<Self>) -> Option<Expr<Bool>> {
        None // Operations of two values, whose results have their type, are elsewhere.
    }

    fn reduced(_: &str, _: &Expr<Self>, _: &Expr<Self>, _: Axes) -> Option<String> {
        None
    }
}

fn any_unary<T: Number + Numeric<Real = T>>(name: &str, a: &Expr<T>) -> Option<Expr<T>> {
    Some(match name {
        "negative" => -a,
        "abs" => a.abs(),
        "square" => a.square(),
        "sign" => a.sign(),
        "floor" => a.floor(),
        "ceil" => a.ceil(),
        "trunc" => a.trunc(),
        "round" => a.round(),
        _ => return None,
    })
}

fn any_binary<T: Number + Numeric>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Expr<T> {
    match name {
        "add" => a + b,
        "subtract" => a - b,
        "multiply" => a * b,
        "minimum" => a.minimum(b),
        "maximum" => a.maximum(b),
        "larger" => a.less(b).select::<T>(b, a),
        "equal_or_zero" => a.equal(b).select::<T>(a, T::zeroed()),
        other => first_true(other, a, b),
    }
}

fn first_true<T: Element>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Expr<T> {
    assert_eq!(name, "first_true");
    a.logical_not().select::<T>(b, a)
}

fn of_integers<T: Integral>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Option<Expr<T>> {
    Some(match name {
        "floor_divide" => a.floor_divide(b),
        "remainder" => a % b,
        "bitwise_left_shift" => a << b,
        "bitwise_right_shift" => a >> b,
        _ => return None,
    })
}

fn of_bits<T: Bitwise>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Option<Expr<T>> {
    Some(match name {
        "bitwise_and" => a & b,
        "bitwise_or" => a | b,
        "bitwise_xor" => a ^ b,
        _ => return None,
    })
}

fn any_compared<T: Number>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Option<Expr<Bool>> {
    Some(match name {
        "less" => a.less(b),
        "less_equal" => a.less_equal(b),
        "greater" => a.greater(b),
        "greater_equal" => a.greater_equal(b),
        _ => return logical(name, a, b),
    })
}

fn logical<T: Element>(name: &str, a: &Expr<T>, b: &Expr<T>) -> Option<Expr<Bool>> {
    Some(match name {
        "equal" => a.equal(b),
        "not_equal" => a.not_equal(b),
        "logical_and" => a.logical_and(b),
        "logical_or" => a.logical_or(b),
        "logical_xor" => a.logical_xor(b),
        _ => return None,
    })
}

fn of_floats<T: Precise + Bits>(name: &str, x: &Expr<T>, other: &Expr<T>, axes: Axes) -> Option<String> {
    let result = match name {
        "vecdot" => x.vecdot(other, axes),
        "mean" => x.mean(axes),
        "var0" => x.var(axes),
        "var1" => x.var_with_correction(axes, 1),
        "nansum" => x.nansum(axes),
        "nanprod" => x.nanprod(axes),
        "nanmean" => x.nanmean(axes),
        "nanmin" => x.nanmin(axes),
        "nanmax" => x.nanmax(axes),
        _ => return None,
    };
    Some(text(&result.unwrap()))
}
