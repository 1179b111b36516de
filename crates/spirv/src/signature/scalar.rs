//! One number with its type: [`ScalarValue`], for push constants and constants.
//!
//! Nothing is converted silently. [`ScalarValue::parse`] reads text, [`ScalarValue::from_f64`] the value of a constant; both
//! refuse what the type cannot hold.

use std::fmt;

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::signature::{Bool, DType};

/// One number or truth value with its type.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_spirv::{DType, ScalarValue};
///
/// let value = ScalarValue::parse("0xff", DType::U32)?;
/// assert_eq!(value, ScalarValue::from(255_u32));
/// let mut bytes = [0; 4];
/// value.write_to(&mut bytes);
/// assert_eq!(bytes, 255_u32.to_ne_bytes());
/// assert_eq!(ScalarValue::from_f64(0.5, DType::I32), None); // Not a whole number.
/// assert!(ScalarValue::parse("300", DType::U8).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ScalarValue {
    /// Truth value.
    Bool(bool),
    /// Signed 8-bit integer.
    I8(i8),
    /// Unsigned 8-bit integer.
    U8(u8),
    /// Signed 16-bit integer.
    I16(i16),
    /// Unsigned 16-bit integer.
    U16(u16),
    /// Half precision.
    F16(f16),
    /// Brain float.
    BF16(bf16),
    /// Signed 32-bit integer.
    I32(i32),
    /// Unsigned 32-bit integer.
    U32(u32),
    /// Single precision.
    F32(f32),
    /// Signed 64-bit integer.
    I64(i64),
    /// Unsigned 64-bit integer.
    U64(u64),
    /// Double precision.
    F64(f64),
}

// Each type with its variant, then the variants that are integers.
macro_rules! variants {
    ($($rust:ty => $variant:ident),*; $($integer:ident),*) => {
        $(impl From<$rust> for ScalarValue {
            fn from(value: $rust) -> Self {
                Self::$variant(value)
            }
        })*

        impl ScalarValue {
            /// Its type.
            pub const fn dtype(&self) -> DType {
                match self {
                    Self::Bool(_) => DType::Bool,
                    $(Self::$variant(_) => DType::$variant,)*
                }
            }

            /// Writes the value's bytes, in the machine's order, to the front of `out`.
            ///
            /// # Panics
            ///
            /// If `out` is shorter than the dtype's `itemsize`.
            pub fn write_to(&self, out: &mut [u8]) {
                match self {
                    Self::Bool(value) => out[0] = u8::from(*value),
                    $(Self::$variant(value) => out[..size_of::<$rust>()].copy_from_slice(&value.to_ne_bytes()),)*
                }
            }

            /// The value that the low bits of a number mean; `None` for what is no number of a shader.
            pub(crate) fn from_bits(bits: u64, dtype: DType) -> Option<Self> {
                let bytes = bits.to_le_bytes();
                match dtype {
                    DType::Bool => Some(Self::Bool(bits != 0)),
                    $(DType::$variant => bytes.first_chunk().map(|bytes| <$rust>::from_le_bytes(*bytes).into()),)*
                    _ => None,
                }
            }

            /// The integer, or 0 or 1 for a truth value; `None` for a float.
            pub(crate) fn integer(self) -> Option<i128> {
                match self {
                    Self::Bool(value) => Some(value.into()),
                    $(Self::$integer(value) => Some(value.into()),)*
                    _ => None,
                }
            }

            /// The integer as the given type, or `None` where the type cannot hold it: out of range, or other than 0 and 1
            /// for a truth value. A float is the nearest value the type has.
            ///
            /// ```
            /// use vkarray_spirv::{DType, ScalarValue};
            ///
            /// assert_eq!(ScalarValue::from_integer(255, DType::U8), Some(ScalarValue::U8(255)));
            /// assert_eq!(ScalarValue::from_integer(-1, DType::U8), None);
            /// assert_eq!(ScalarValue::from_integer(3, DType::F32), Some(ScalarValue::F32(3.0)));
            /// ```
            pub fn from_integer(value: i128, dtype: DType) -> Option<Self> {
                #[expect(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
                let (single, double) = (value as f32, value as f64);
                match dtype {
                    DType::Bool if value == 0 || value == 1 => Some(Self::Bool(value == 1)),
                    DType::F32 => Some(Self::F32(single)),
                    DType::F16 | DType::BF16 | DType::F64 => Self::from_f64(double, dtype),
                    $(DType::$integer => value.try_into().ok().map(Self::$integer),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for ScalarValue {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::Bool(value) => value.fmt(f),
                    $(Self::$variant(value) => write!(f, "{value}"),)*
                }
            }
        }
    };
}

variants! {
    i8 => I8, u8 => U8, i16 => I16, u16 => U16, f16 => F16, bf16 => BF16, i32 => I32, u32 => U32, f32 => F32,
    i64 => I64, u64 => U64, f64 => F64; I8, U8, I16, U16, I32, U32, I64, U64
}

impl From<bool> for ScalarValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl ScalarValue {
    /// Reads text as the given type: `3`, `-7`, `0xff`, `1e-3`, `inf`, `nan`, `true`.
    ///
    /// A float is rounded to the nearest value the type has; anything else must fit exactly.
    ///
    /// # Errors
    ///
    /// [`BadScalar`] for text that is no such number, a fraction or an exponent given to an integer, and a number
    /// out of range.
    pub fn parse(text: &str, dtype: DType) -> Result<Self, BadScalar> {
        let bad = |reason: String| BadScalar { text: text.to_owned(), dtype, reason };
        if dtype == DType::Bool {
            return match text {
                "true" | "1" => Ok(Self::Bool(true)),
                "false" | "0" => Ok(Self::Bool(false)),
                _ => Err(bad("expected true, false, 1 or 0".to_owned())),
            };
        }
        if dtype.is_float() {
            return Self::parse_float(text, dtype).map_err(bad);
        }
        if !dtype.is_integer() {
            return Err(bad("not a scalar type".to_owned()));
        }
        let value = parse_integer(text).ok_or_else(|| {
            let is_float = text.parse::<f64>().is_ok();
            bad(if is_float { "not a whole number".to_owned() } else { "not a number".to_owned() })
        })?;
        Self::from_integer(value, dtype).ok_or_else(|| bad(range_of(dtype)))
    }

    /// The value as the given type, or `None` where the type cannot hold it: a fraction for an integer, out of range,
    /// not finite, or other than 0 and 1 for a truth value. A float is rounded to the nearest value the type has.
    pub fn from_f64(value: f64, dtype: DType) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounding is what is asked; overflow gives infinity, refused"
        )]
        let single = value as f32;
        match dtype {
            DType::Bool if value == 0.0 || value == 1.0 => Some(Self::Bool(value == 1.0)),
            DType::F16 => Some(f16::from_f64(value)).filter(|half| half.is_finite()).map(Self::F16),
            DType::BF16 => Some(bf16::from_f64(value)).filter(|half| half.is_finite()).map(Self::BF16),
            DType::F32 => Some(single).filter(|single| single.is_finite()).map(Self::F32),
            DType::F64 => Some(Self::F64(value)),
            _ if dtype.is_integer() && value.fract() == 0.0 && value.abs() < 2f64.powi(65) =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^65 fits an i128 exactly")]
                Self::from_integer(value as i128, dtype)
            }
            _ => None,
        }
    }

    fn parse_float(text: &str, dtype: DType) -> std::result::Result<Self, String> {
        let not_a_number = |_| "not a number".to_owned();
        let value: f64 = text.parse().map_err(not_a_number)?;
        // `1e999` parses to infinity and is refused; `inf` and `nan` are accepted.
        let is_named = !text.contains(|c: char| c.is_ascii_digit());
        let scalar = match dtype {
            DType::F16 if is_named => Some(Self::F16(f16::from_f64(value))),
            DType::BF16 if is_named => Some(Self::BF16(bf16::from_f64(value))),
            DType::F64 if is_named => Some(Self::F64(value)),
            DType::F32 => {
                // From the text: going through f64 would round twice.
                let single: f32 = text.parse().map_err(not_a_number)?;
                (is_named || single.is_finite()).then_some(Self::F32(single))
            }
            _ => Self::from_f64(value, dtype),
        };
        scalar.ok_or_else(|| range_of(dtype))
    }
}

fn parse_integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+')).map(i128::from),
        None => digits.parse().ok().filter(|_| !negative || !digits.starts_with(['-', '+'])),
    }?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Text that is no value of a type.
///
/// ```
/// use vkarray_spirv::{DType, ScalarValue};
///
/// let error = ScalarValue::parse("256", DType::U8).unwrap_err();
/// assert_eq!(error.to_string(), "cannot read `256` as u8: expected a whole number from 0 to 255");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{text}` as {dtype}: {reason}")]
pub struct BadScalar {
    /// What was given.
    pub text: String,
    /// The type that it was to be read as.
    pub dtype: DType,
    /// What was expected instead.
    pub reason: String,
}

/// The range of the type, for a message.
pub fn range_of(dtype: DType) -> String {
    match dtype {
        DType::Bool => "expected 0 or 1".to_owned(),
        DType::F16 => format!("expected a number from -{0} to {0}", f16::MAX),
        DType::BF16 => format!("expected a number from -{0:e} to {0:e}", bf16::MAX.to_f32()),
        DType::F32 => format!("expected a number from -{0:e} to {0:e}", f32::MAX),
        DType::F64 => "expected a finite number".to_owned(),
        _ if dtype.is_integer() => {
            let bits = dtype.itemsize() * 8;
            let is_signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
            let (least, most) =
                if is_signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
            format!("expected a whole number from {least} to {most}")
        }
        _ => "not a scalar type".to_owned(),
    }
}

impl fmt::Display for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bool::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_reads_what_the_type_holds() {
        let cases = [
            ("3", DType::U32, ScalarValue::U32(3)),
            ("-7", DType::I32, ScalarValue::I32(-7)),
            ("0xff", DType::U8, ScalarValue::U8(255)),
            ("-0x80", DType::I8, ScalarValue::I8(-128)),
            ("18446744073709551615", DType::U64, ScalarValue::U64(u64::MAX)), // Beyond what an f64 could carry.
            ("-9223372036854775808", DType::I64, ScalarValue::I64(i64::MIN)),
            ("0.1", DType::F32, ScalarValue::F32(0.1)), // Rounded once, to the nearest.
            ("1e-3", DType::F64, ScalarValue::F64(1e-3)),
            ("65504", DType::F16, ScalarValue::F16(f16::MAX)),
            ("inf", DType::F32, ScalarValue::F32(f32::INFINITY)),
            ("true", DType::Bool, ScalarValue::Bool(true)),
            ("0", DType::Bool, ScalarValue::Bool(false)),
        ];
        for (text, dtype, value) in cases {
            assert_eq!(ScalarValue::parse(text, dtype).unwrap(), value, "{text} as {dtype}");
            assert_eq!(value.dtype(), dtype);
        }
        assert!(matches!(ScalarValue::parse("nan", DType::F16).unwrap(), ScalarValue::F16(value) if value.is_nan()));
    }

    #[test]
    fn parse_refuses_the_rest() {
        let cases = [
            ("1.5", DType::U32, "cannot read `1.5` as u32: not a whole number"),
            ("1e3", DType::I32, "cannot read `1e3` as i32: not a whole number"),
            ("-1", DType::U32, "cannot read `-1` as u32: expected a whole number from 0 to 4294967295"),
            ("256", DType::U8, "cannot read `256` as u8: expected a whole number from 0 to 255"),
            ("-129", DType::I8, "cannot read `-129` as i8: expected a whole number from -128 to 127"),
            ("--1", DType::I32, "cannot read `--1` as i32: not a number"),
            ("0x", DType::I32, "cannot read `0x` as i32: not a number"),
            ("", DType::F32, "cannot read `` as f32: not a number"),
            ("four", DType::F32, "cannot read `four` as f32: not a number"),
            ("70000", DType::F16, "cannot read `70000` as f16: expected a number from -65504 to 65504"),
            ("1e39", DType::F32, "cannot read `1e39` as f32: expected a number from -3.4028235e38 to 3.4028235e38"),
            ("1e999", DType::F64, "cannot read `1e999` as f64: expected a finite number"), // Not infinity.
            ("2", DType::Bool, "cannot read `2` as bool: expected true, false, 1 or 0"),
            ("1", DType::Complex32, "cannot read `1` as complex<f32>: not a scalar type"),
        ];
        for (text, dtype, message) in cases {
            assert_eq!(ScalarValue::parse(text, dtype).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn from_f64_is_exact_for_integers() {
        let cases = [
            (4294967295.0, DType::U32, true),
            (4294967296.0, DType::U32, false),
            (-0.0, DType::U32, true), // Negative zero is zero.
            (-1.0, DType::U32, false),
            (1.5, DType::U32, false),
            (f64::NAN, DType::F32, false),
            (f64::INFINITY, DType::F32, false),
            (f64::MAX, DType::I64, false),
            (2.0, DType::Bool, false),
            (1.0, DType::Bool, true),
            (1e39, DType::F32, false), // Would round to infinity.
        ];
        for (value, dtype, fits) in cases {
            assert_eq!(ScalarValue::from_f64(value, dtype).is_some(), fits, "{value} as {dtype}");
        }
    }

    #[test]
    fn from_integer_is_what_parse_reads() {
        for value in [0_i128, 1, -1, 2, 127, -129, 16_777_217, 65_520, 1 << 40, (1 << 60) + 1, i128::from(u64::MAX)] {
            for &dtype in DType::ALL {
                let read = ScalarValue::parse(&value.to_string(), dtype).ok();
                assert_eq!(ScalarValue::from_integer(value, dtype), read, "{value} as {dtype}");
            }
        }
    }

    #[test]
    fn bytes_are_the_rust_bytes() {
        let mut out = [0; 8];
        for (value, expected) in [
            (ScalarValue::from(-2i16), (-2i16).to_ne_bytes().to_vec()),
            (ScalarValue::from(1.5f32), 1.5f32.to_ne_bytes().to_vec()),
            (ScalarValue::from(1u64 << 40), (1u64 << 40).to_ne_bytes().to_vec()),
            (ScalarValue::from(true), vec![1]),
        ] {
            value.write_to(&mut out);
            assert_eq!(out[..expected.len()], expected);
        }
    }
}
