//! Operations as WGSL: [`text`], one expression for each operation and class of operands.
//!
//! The functions that these texts call are in `vkarray_shaders::math`. Conversions are in `cast`, at the end.
//!
//! Conditions are joined by `&` and `|`, which compute both sides: `&&` and `||` become branches, which a kernel repeats for
//! each element of an invocation, and whose number decides how long a driver compiles.

use std::sync::atomic::{AtomicU8, Ordering};

use vkarray_shader::DType;

use super::class::Class;
use crate::expr::Op;

/// A small number that stands for an element type.
pub fn dtype_code(dtype: DType) -> u32 {
    match dtype {
        DType::Bool => 0,
        DType::I8 => 1,
        DType::U8 => 2,
        DType::I16 => 3,
        DType::U16 => 4,
        DType::F16 => 5,
        DType::BF16 => 6,
        DType::I32 => 7,
        DType::U32 => 8,
        DType::F32 => 9,
        DType::I64 => 10,
        DType::U64 => 11,
        DType::F64 => 12,
        DType::Complex32 => 13,
        DType::Complex64 => 14,
        _ => 15,
    }
}

/// Whether each operation is defined for each pair of types, or [`UNKNOWN`] until it is first asked. Expressions are
/// evaluated more often than there are entries, and writing a text takes longer than the rest of a check.
static DEFINED: [[[AtomicU8; 16]; 16]; Op::ALL.len()] =
    [const { [const { [const { AtomicU8::new(UNKNOWN) }; 16] }; 16] }; Op::ALL.len()];
const UNKNOWN: u8 = 2;

/// Whether an operation is defined for operands of one type and a result of another.
pub(crate) fn is_defined(op: Op, operand: DType, result: DType) -> bool {
    let known = &DEFINED[op as usize][dtype_code(operand) as usize][dtype_code(result) as usize];
    match known.load(Ordering::Relaxed) {
        UNKNOWN => {
            let names = ["a", "b", "c"].map(str::to_owned);
            let is_defined = Class::of(result).is_some() && text(op, operand, result, &names).is_some();
            known.store(is_defined.into(), Ordering::Relaxed);
            is_defined
        }
        known => known != 0,
    }
}

/// The value of an operation as WGSL, if it is defined. `operand` is the type of all arguments, but [`Op::Select`]
/// takes arguments of type `result` after the first one.
pub(crate) fn text(op: Op, operand: DType, result: DType, args: &[String; 3]) -> Option<String> {
    let [a, b, c] = args;
    let class = Class::of(operand)?;
    match op {
        Op::Select => return Some(format!("select({c}, {b}, {a})")),
        Op::Cast => return super::cast::text(operand, result, a),
        Op::LogicalNot => return Some(format!("!{}", truth_of(class, a))),
        Op::LogicalAnd => return Some(format!("({} & {})", truth_of(class, a), truth_of(class, b))),
        Op::LogicalOr => return Some(format!("({} | {})", truth_of(class, a), truth_of(class, b))),
        Op::LogicalXor => return Some(format!("({} != {})", truth_of(class, a), truth_of(class, b))),
        _ => {}
    }
    match class {
        Class::Bool => boolean(op, a, b),
        Class::Signed { bits } | Class::Unsigned { bits } => {
            let value = integer(op, class, bits, a, b)?;
            Some(if result == operand { cut(operand, &value) } else { value })
        }
        Class::Float => float(op, a, b),
        Class::Double => double(op, a, b),
        Class::Complex => complex(op, "f32", a, b),
        Class::DoubleComplex => complex(op, "f64", a, b),
    }
}

/// The most rounds of the loops of an operation on one element.
pub(crate) fn rounds(op: Op, operand: DType) -> u64 {
    match (op, Class::of(operand)) {
        // One for each bit of the exponent.
        (Op::Pow, Some(Class::Signed { bits } | Class::Unsigned { bits })) => u64::from(bits) + 1,
        // One for each 8 or 11 of the difference of the exponents.
        (Op::FloorDivide | Op::Remainder, Some(Class::Float)) => 276 / 8 + 2 + 5,
        (Op::FloorDivide | Op::Remainder, Some(Class::Double)) => 2045 / 11 + 2,
        // One for each word of a quotient of large numbers.
        (Op::Sin | Op::Cos | Op::Tan, Some(Class::Double)) => 7,
        _ => 0,
    }
}

/// A value that is computed in 32 bits, cut to its element type.
pub(crate) fn cut(dtype: DType, value: &str) -> String {
    match dtype {
        DType::I8 => format!("(({value} << 24u) >> 24u)"),
        DType::I16 => format!("(({value} << 16u) >> 16u)"),
        DType::U8 => format!("({value} & 0xffu)"),
        DType::U16 => format!("({value} & 0xffffu)"),
        _ => value.to_owned(),
    }
}

/// An operation on one or two values of a type, with a result of that type or a truth value, if it is defined.
pub(crate) fn operation(op: Op, dtype: DType, args: &[&str]) -> Option<String> {
    let arg = |at: usize| args.get(at).map_or_else(String::new, |&arg| arg.to_owned());
    text(op, dtype, dtype, &[arg(0), arg(1), arg(2)])
}

/// Whether a value of this type is true: not zero.
pub(crate) fn truth(dtype: DType, a: &str) -> Option<String> {
    Class::of(dtype).map(|class| truth_of(class, a))
}

/// Whether a value is true: not zero.
pub(crate) fn truth_of(class: Class, a: &str) -> String {
    match class {
        Class::Bool => a.to_owned(),
        // The comparison uses the bits, because devices may take subnormal numbers for zero.
        Class::Float => format!("((bitcast<u32>({a}) << 1u) != 0u)"),
        Class::Complex => format!("(((bitcast<u32>({a}.x) | bitcast<u32>({a}.y)) << 1u) != 0u)"),
        Class::Double => format!("(!({a} == f64(0.0)))"),
        Class::DoubleComplex => format!("(!({a}.x == f64(0.0)) | !({a}.y == f64(0.0)))"),
        Class::Signed { .. } | Class::Unsigned { .. } => format!("({a} != {}(0))", class.value_type()),
    }
}

/// The values on both sides of the operator that WGSL has for an operation.
fn infix(op: Op, a: &str, b: &str) -> Option<String> {
    let operator = match op {
        Op::Add => "+",
        Op::Subtract => "-",
        Op::Multiply => "*",
        Op::Divide => "/",
        Op::Equal => "==",
        Op::NotEqual => "!=",
        Op::Less => "<",
        Op::LessEqual => "<=",
        Op::Greater => ">",
        Op::GreaterEqual => ">=",
        Op::BitwiseAnd => "&",
        Op::BitwiseOr => "|",
        Op::BitwiseXor => "^",
        _ => return None,
    };
    Some(format!("({a} {operator} {b})"))
}

fn boolean(op: Op, a: &str, b: &str) -> Option<String> {
    match op {
        Op::BitwiseInvert => Some(format!("!{a}")),
        Op::BitwiseXor => infix(Op::NotEqual, a, b),
        Op::Equal | Op::NotEqual | Op::BitwiseAnd | Op::BitwiseOr => infix(op, a, b),
        _ => None,
    }
}

fn integer(op: Op, class: Class, bits: u32, a: &str, b: &str) -> Option<String> {
    let ty = class.value_type();
    let is_signed = matches!(class, Class::Signed { .. });
    Some(match op {
        Op::Divide => return None,
        Op::Square => format!("({a} * {a})"),
        Op::Negative => format!("({ty}(0) - {a})"),
        Op::Abs if is_signed => format!("select({a}, {ty}(0) - {a}, {a} < {ty}(0))"),
        Op::Abs | Op::Floor | Op::Ceil | Op::Trunc | Op::Round => a.to_owned(),
        Op::Sign if is_signed => format!("{ty}_sign({a})"),
        Op::Sign => format!("select({ty}(0), {ty}(1), {a} != {ty}(0))"),
        Op::Minimum => format!("min({a}, {b})"),
        Op::Maximum => format!("max({a}, {b})"),
        Op::FloorDivide | Op::Remainder | Op::Pow => format!("{ty}_{}({a}, {b})", op.name()),
        Op::BitwiseInvert => format!("(~{a})"),
        Op::BitwiseLeftShift => format!("{ty}_left_shift({a}, {b}, {bits}u)"),
        Op::BitwiseRightShift => format!("{ty}_right_shift({a}, {b}, {bits}u)"),
        Op::Isfinite => "true".to_owned(),
        Op::Isinf | Op::Isnan => "false".to_owned(),
        _ => return infix(op, a, b),
    })
}

/// Operations of floats that call a function of the library, because WGSL has no such function or leaves its error to
/// the driver.
pub(super) const ELEMENTARY: [Op; 18] = {
    use Op::{
        Acos, Acosh, Asin, Asinh, Atan, Atanh, Cos, Cosh, Exp, Expm1, Log, Log1p, Log2, Log10, Sin, Sinh, Tan, Tanh,
    };
    [Exp, Expm1, Log, Log1p, Log2, Log10, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh]
};

/// The operations of [`ELEMENTARY`] that take two values.
pub(super) const OF_TWO: [Op; 10] = {
    use Op::{Atan2, Copysign, FloorDivide, Hypot, Logaddexp, Maximum, Minimum, Nextafter, Pow, Remainder};
    [Atan2, Copysign, FloorDivide, Hypot, Logaddexp, Maximum, Minimum, Nextafter, Pow, Remainder]
};

/// A call of a function of the library for a type of floats.
fn elementary(op: Op, ty: &str, a: &str, b: &str) -> Option<String> {
    let name = op.name();
    match op {
        // The functions of the library test NaN by its bits. NVIDIA's driver turns a selection on `x == x` into a
        // minimum, which loses the NaN.
        Op::Isnan | Op::Sign | Op::Signbit => Some(format!("{ty}_{name}({a})")),
        _ if ELEMENTARY.contains(&op) => Some(format!("{ty}_{name}({a})")),
        _ if OF_TWO.contains(&op) => Some(format!("{ty}_{name}({a}, {b})")),
        _ => None,
    }
}

fn float(op: Op, a: &str, b: &str) -> Option<String> {
    Some(match op {
        // NVIDIA's driver turns a selection on a plain comparison into a maximum, which is not NaN where one operand is
        // NaN.
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
            format!("({} & !f32_isnan({a}) & !f32_isnan({b}))", infix(op, a, b)?)
        }
        Op::Sqrt => format!("select(sqrt({a}), f32_nan(), {a} < 0.0)"),
        Op::Reciprocal => format!("(1.0 / {a})"),
        Op::Isinf => format!("f32_isinf({a})"),
        Op::Isfinite => format!("((bitcast<u32>({a}) & 0x7f800000u) != 0x7f800000u)"),
        Op::Divide => format!("f32_divide({a}, {b})"),
        // `abs` and negation change the sign by its bit, because devices may take subnormal numbers for zero.
        Op::Abs => format!("f32_copysign({a}, 1.0)"),
        Op::Negative => format!("bitcast<f32>(bitcast<u32>({a}) ^ 0x80000000u)"),
        _ => return elementary(op, "f32", a, b).or_else(|| any_float(op, a, b)),
    })
}

/// Operations that floats of both sizes have in WGSL.
fn any_float(op: Op, a: &str, b: &str) -> Option<String> {
    Some(match op {
        Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor => return None,
        // naga translates `!=` of floats to a comparison that is false for NaN.
        Op::NotEqual => format!("(!({a} == {b}))"),
        Op::Square => format!("({a} * {a})"),
        Op::Negative => format!("(-{a})"),
        Op::Abs | Op::Floor | Op::Ceil | Op::Trunc | Op::Round => format!("{}({a})", op.name()),
        _ => return infix(op, a, b),
    })
}

fn double(op: Op, a: &str, b: &str) -> Option<String> {
    Some(match op {
        Op::Isinf => format!("(abs({a}) > 1.7976931348623157e308lf)"),
        Op::Isfinite => format!("(abs({a}) <= 1.7976931348623157e308lf)"),
        Op::Sqrt => format!("sqrt({a})"),
        Op::Reciprocal => format!("(1.0lf / {a})"),
        _ => return elementary(op, "f64", a, b).or_else(|| any_float(op, a, b)),
    })
}

fn complex(op: Op, part: &str, a: &str, b: &str) -> Option<String> {
    let either = |op| {
        let of = |x: String| if part == "f32" { float(op, &x, "") } else { double(op, &x, "") };
        Some([of(format!("{a}.x"))?, of(format!("{a}.y"))?])
    };
    Some(match op {
        Op::Add | Op::Subtract => return infix(op, a, b),
        Op::Multiply => format!("{part}_complex_multiply({a}, {b})"),
        Op::Square => format!("{part}_complex_square({a})"),
        Op::Negative => format!("(-{a})"),
        Op::Equal => format!("all({a} == {b})"),
        Op::NotEqual => format!("(!all({a} == {b}))"),
        Op::Real => format!("{a}.x"),
        Op::Imag => format!("{a}.y"),
        Op::Conj => format!("vec2<{part}>({a}.x, -{a}.y)"),
        Op::Abs => format!("{part}_hypot({a}.x, {a}.y)"),
        Op::Isnan | Op::Isinf => format!("({})", either(op)?.join(" | ")),
        Op::Isfinite => format!("({})", either(op)?.join(" & ")),
        _ => return None,
    })
}
