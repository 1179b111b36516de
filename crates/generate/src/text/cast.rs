//! Conversions between element types, with the results of `astype`: floats saturate, integers wrap around, and every float
//! is rounded once. The exception is `f64` to `f16` and `bf16`, which passes through `f32`.

use vkarray_shader::DType;

use super::class::{Class, value_type};
use super::ops::{cut, truth_of};

/// The value `v` of type `from` as a value of type `to`.
pub(crate) fn text(from: DType, to: DType, v: &str) -> Option<String> {
    let (source, target) = (Class::of(from)?, Class::of(to)?);
    if from == to {
        return Some(v.to_owned());
    }
    Some(match (source, target) {
        (_, Class::Bool) => truth_of(source, v),
        (Class::Complex, Class::DoubleComplex) => format!("vec2<f64>({v})"),
        (Class::DoubleComplex, Class::Complex) => format!("vec2<f32>({v})"),
        (Class::Complex, _) => text(DType::F32, to, &format!("{v}.x"))?,
        (Class::DoubleComplex, _) => text(DType::F64, to, &format!("{v}.x"))?,
        (_, Class::Complex) => format!("vec2<f32>({}, 0.0)", text(from, DType::F32, v)?),
        (_, Class::DoubleComplex) => format!("vec2<f64>({}, 0.0)", text(from, DType::F64, v)?),
        (Class::Bool, _) => {
            let ty = value_type(to);
            format!("select({ty}(0), {ty}(1), {v})")
        }
        (Class::Float, Class::Float) => rounded(to, v),
        (Class::Float, Class::Double) => format!("f64({v})"),
        (Class::Double, Class::Float) => rounded(to, &format!("f32({v})")),
        (Class::Float, _) => float_to_integer(target, v),
        (Class::Double, _) => double_to_integer(target, v),
        (_, Class::Double) => format!("f64({v})"),
        (_, Class::Float) => integer_to_float(source, to, v),
        _ => integers(source, to, v),
    })
}

/// An `f32` rounded to the nearest number of a float type. The result is still an `f32`.
pub(crate) fn rounded(to: DType, v: &str) -> String {
    match to {
        DType::F16 => format!("bitcast<f32>(f16_to_f32(f32_to_f16(bitcast<u32>({v}))))"),
        DType::BF16 => format!("bitcast<f32>(f32_to_bf16(bitcast<u32>({v})) << 16u)"),
        _ => v.to_owned(),
    }
}

/// The number of bits of an integer type, and whether it has a sign.
fn integer_parts(class: Class) -> (u32, bool) {
    match class {
        Class::Signed { bits } => (bits, true),
        Class::Unsigned { bits } => (bits, false),
        _ => (32, false),
    }
}

fn integers(source: Class, to: DType, v: &str) -> String {
    let (bits, is_signed) = integer_parts(source);
    let target = value_type(to);
    let value = match (bits, is_signed, target) {
        (64, _, _) => format!("{target}({v})"),
        (_, true, "u64") => format!("u64(i64({v}))"),
        // One driver compares `i64({v})` with constants by the wrong sign; see `vkarray::device::DriverFault`.
        (_, true, "i64") => format!("i64_of_i32({v})"),
        (_, false, "i64") => format!("i64(u64({v}))"),
        (_, false, "u64") => format!("u64({v})"),
        (_, true, "u32") => format!("bitcast<u32>({v})"),
        (_, false, "i32") => format!("bitcast<i32>({v})"),
        _ => v.to_owned(),
    };
    cut(to, &value)
}

/// Converts integers to floats by their bits, because drivers round this conversion differently: SwiftShader does not
/// round a large `u32` to the nearest float.
fn integer_to_float(source: Class, to: DType, v: &str) -> String {
    let (bits, is_signed) = integer_parts(source);
    if bits <= 16 {
        return rounded(to, &format!("f32({v})"));
    }
    let pair = match (bits, is_signed) {
        (64, _) => format!("vec2<u32>(u32({v} & {ty}(0xffffffff)), u32({v} >> 32u))", ty = source.value_type()),
        (_, true) => format!("vec2<u32>(bitcast<u32>({v}), bitcast<u32>({v} >> 31u))"),
        (_, false) => format!("vec2<u32>({v}, 0u)"),
    };
    // Rounding to odd first makes the second rounding the only one.
    let is_short = to != DType::F32;
    rounded(to, &format!("bitcast<f32>(integer_to_f32({pair}, {is_signed}, {is_short}))"))
}

fn float_to_integer(target: Class, v: &str) -> String {
    let (bits, is_signed) = integer_parts(target);
    let word = format!("bitcast<u32>({v})");
    match (bits, is_signed) {
        (64, _) => {
            let (low, high) = if is_signed {
                ("vec2<u32>(0u, 0x80000000u)", "vec2<u32>(0xffffffffu, 0x7fffffffu)")
            } else {
                ("vec2<u32>(0u, 0u)", "vec2<u32>(0xffffffffu, 0xffffffffu)")
            };
            format!("{}_of_pair(f64_to_integer(f32_to_f64({word}), {low}, {high}))", target.value_type())
        }
        (32, false) => format!("f32_to_u32({word})"),
        (32, true) => format!("bitcast<i32>(f32_to_i32({word}, bitcast<i32>(0x80000000u), 2147483647))"),
        (_, false) => format!("f32_to_i32({word}, 0, {})", (1_u64 << bits) - 1),
        (_, true) => {
            format!("bitcast<i32>(f32_to_i32({word}, -{}, {}))", 1_u64 << (bits - 1), (1_u64 << (bits - 1)) - 1)
        }
    }
}

fn double_to_integer(target: Class, v: &str) -> String {
    let (bits, is_signed) = integer_parts(target);
    let ty = target.value_type();
    let (low, above) = if is_signed {
        (-(2_f64.powi(bits as i32 - 1)), 2_f64.powi(bits as i32 - 1))
    } else {
        (0.0, 2_f64.powi(bits as i32))
    };
    // The largest `f64` below `above`.
    let high = f64::from_bits(above.to_bits() - 1);
    let high = if bits < 53 { above - 1.0 } else { high };
    let value = format!("{ty}(clamp({v}, {low:?}lf, {high:?}lf))");
    let greatest = match (bits, is_signed) {
        (64, true) => "9223372036854775807li".to_owned(),
        (64, false) => "18446744073709551615lu".to_owned(),
        _ => format!("{ty}({})", above - 1.0),
    };
    format!("select(select({value}, {greatest}, {v} >= {above:?}lf), {ty}(0), !({v} == {v}))")
}
