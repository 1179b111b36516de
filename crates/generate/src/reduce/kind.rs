//! [`Reduction`]: what a reduction accumulates, and how, as WGSL.

use smallvec::{SmallVec, smallvec};
use vkarray_shader::DType;

use crate::expr::Op;
use crate::text::{Class, operation, truth, value_type};

/// A reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "a variant without a comment is named as the function of arrays")]
pub enum Reduction {
    Sum,
    Prod,
    Min,
    Max,
    Any,
    All,
    Argmin,
    Argmax,
    /// The sum of products of two integers.
    Dot,
    /// The sum of the squares of the differences of floats from their mean. An accumulator has this sum, the mean, and
    /// the number of elements.
    Squares,
    /// The `op` of the program's [`Combine`](crate::text::Combine).
    Text,
}

/// A part of an accumulator: its type in WGSL, with which buffers of partial results are declared, and the element type
/// with which such a buffer is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The type in WGSL.
    pub ty: &'static str,
    /// The type of a bound buffer.
    pub bound: DType,
    /// Bytes of one part.
    pub nbytes: u64,
}

const WORD: Field = Field { ty: "u32", bound: DType::U32, nbytes: 4 };
/// An integer of 64 bits as two words, the low word first.
const PAIR: Field = Field { ty: "vec2<u32>", bound: DType::U32, nbytes: 8 };

fn field(dtype: DType) -> Field {
    match Class::of(dtype) {
        Some(Class::Float) => Field { ty: "f32", bound: DType::F32, nbytes: 4 },
        Some(Class::Signed { bits: ..=32 }) => Field { ty: "i32", bound: DType::I32, nbytes: 4 },
        Some(Class::Complex) => Field { ty: "vec2<f32>", bound: DType::F32, nbytes: 8 },
        Some(Class::DoubleComplex) => Field { ty: "vec2<f64>", bound: DType::F64, nbytes: 16 },
        _ if dtype.itemsize() == 8 => Field { ty: value_type(dtype), bound: dtype, nbytes: 8 },
        _ => WORD,
    }
}

impl Reduction {
    /// The name of the reduction in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Min => "min",
            Self::Max => "max",
            Self::Any => "any",
            Self::All => "all",
            Self::Argmin => "argmin",
            Self::Argmax => "argmax",
            Self::Dot => "vecdot",
            Self::Squares => "var",
            Self::Text => "a reduction kernel",
        }
    }

    /// Whether the result is a position.
    pub fn is_position(self) -> bool {
        matches!(self, Self::Argmin | Self::Argmax)
    }

    /// Whether the results of parts of the elements can be reduced to the result of all.
    pub fn has_parts(self) -> bool {
        !self.is_position() && self != Self::Squares
    }

    /// Whether a reduction of no elements has no value.
    pub fn needs_elements(self) -> bool {
        matches!(self, Self::Min | Self::Max) || self.is_position()
    }

    /// Whether elements of a type have this reduction. Complex numbers have no order, so some reductions are not
    /// defined for them.
    pub fn is_defined(self, dtype: DType) -> bool {
        match Class::of(dtype) {
            class if self == Self::Squares => matches!(class, Some(Class::Float | Class::Double)),
            Some(Class::Complex | Class::DoubleComplex) => !self.needs_elements(),
            class => class.is_some(),
        }
    }

    fn is_in_pairs(self, dtype: DType) -> bool {
        self == Self::Dot || matches!(self, Self::Sum | Self::Prod) && (dtype.is_integer() || dtype == DType::Bool)
    }

    /// The parts of the accumulator for elements of a type.
    pub fn fields(self, dtype: DType) -> SmallVec<[Field; 2]> {
        match self {
            Self::Any | Self::All => smallvec![WORD],
            Self::Argmin | Self::Argmax => smallvec![field(ordered(dtype)), WORD],
            Self::Squares => SmallVec::from_elem(field(dtype), 3),
            _ if self.is_in_pairs(dtype) => smallvec![PAIR],
            _ => smallvec![field(dtype)],
        }
    }

    /// The field with which a result is written.
    pub fn result(self, dtype: DType) -> Field {
        if self.is_position() { PAIR } else { self.fields(dtype)[0] }
    }

    /// Text that makes the result from an accumulator.
    pub fn result_text(self) -> &'static str {
        match self {
            Self::Argmin | Self::Argmax => "vec2<u32>(acc.f1, 0u)",
            // NaN if an element is infinite: its difference from the mean is no number.
            Self::Squares => "acc.f0 + (acc.f1 - acc.f1)",
            _ => "acc.f0",
        }
    }

    /// The accumulator of no elements, if the reduction has one.
    pub fn identity(self, dtype: DType) -> Option<String> {
        let zero = || match field(dtype).ty {
            ty if ty.starts_with("vec2") => format!("{ty}()"),
            ty => format!("{ty}(0)"),
        };
        Some(match (self, Class::of(dtype)) {
            _ if self.needs_elements() => return None,
            (Self::Text, _) => "identity()".to_owned(),
            (Self::Squares, _) => [zero(), zero(), zero()].join(", "),
            (Self::Any, _) => "0u".to_owned(),
            (Self::All, _) => "1u".to_owned(),
            (Self::Sum | Self::Dot, _) if self.is_in_pairs(dtype) => "vec2<u32>(0u, 0u)".to_owned(),
            (Self::Prod, _) if self.is_in_pairs(dtype) => "vec2<u32>(1u, 0u)".to_owned(),
            (Self::Prod, Some(Class::Complex)) => "vec2<f32>(1.0, 0.0)".to_owned(),
            (Self::Prod, Some(Class::DoubleComplex)) => "vec2<f64>(1.0, 0.0)".to_owned(),
            (Self::Prod, _) => format!("{}(1)", field(dtype).ty),
            _ => zero(),
        })
    }

    /// The reduction that combines partial results.
    pub fn of_parts(self) -> Self {
        if self == Self::Dot { Self::Sum } else { self }
    }

    /// The accumulator of one element, whose values are the members of `result`, at position `at`.
    pub fn of_element(self, dtype: DType, result: &str, at: &str) -> Option<String> {
        let v = &format!("{result}.r0");
        Some(match self {
            Self::Dot => {
                format!("Acc(pair_product({}, {}))", pair(dtype, v)?, pair(dtype, &format!("{result}.r1"))?)
            }
            _ if self.is_in_pairs(dtype) => format!("Acc({})", pair(dtype, v)?),
            Self::Squares => format!("Acc({0}(0), {v}, {0}(1))", field(dtype).ty),
            Self::Any | Self::All => format!("Acc(select(0u, 1u, {}))", truth(dtype, v)?),
            Self::Min | Self::Max if dtype == DType::Bool => format!("Acc(select(0u, 1u, {v}))"),
            Self::Argmin | Self::Argmax if dtype == DType::Bool => format!("Acc(select(0u, 1u, {v}), {at})"),
            Self::Argmin | Self::Argmax if ordered(dtype) != dtype => {
                format!("Acc(f32_{}_order({v}), {at})", self.name())
            }
            Self::Argmin | Self::Argmax => format!("Acc({v}, {at})"),
            _ => format!("Acc({v})"),
        })
    }

    /// The name of the function that combines an accumulator with a later one.
    pub fn append_name(self) -> &'static str {
        if self.is_position() { "append" } else { "combine" }
    }

    /// The function `combine` of two accumulators, and the function `append` where it differs from `combine`. `None` if
    /// they are not defined for the type of the elements.
    pub fn combine(self, dtype: DType) -> Option<String> {
        // Truth values and short integers are words in accumulators.
        let dtype = match Class::of(dtype)? {
            Class::Bool | Class::Unsigned { bits: 8 | 16 } => DType::U32,
            Class::Signed { bits: 8 | 16 } => DType::I32,
            _ => dtype,
        };
        let by = |op: Op| operation(op, dtype, &["a.f0", "b.f0"]).map(|value| format!("return Acc({value});"));
        let body = match self {
            Self::Text => "return Acc(op(a.f0, b.f0));".to_owned(),
            Self::Sum | Self::Dot if self.is_in_pairs(dtype) => "return Acc(pair_sum(a.f0, b.f0));".to_owned(),
            Self::Prod if self.is_in_pairs(dtype) => "return Acc(pair_product(a.f0, b.f0));".to_owned(),
            Self::Sum | Self::Dot => by(Op::Add)?,
            Self::Prod => by(Op::Multiply)?,
            Self::Min => by(Op::Minimum)?,
            Self::Max => by(Op::Maximum)?,
            // A part's share of the sum is multiplied with the difference of the means before the difference is squared,
            // so that the square of a large mean beside no elements does not overflow.
            Self::Squares => "let n = a.f2 + b.f2;
    let share = b.f2 / max(n, FLOAT(1));
    let difference = b.f1 - a.f1;
    let squares = (difference * (a.f2 * share)) * difference;
    return Acc(a.f0 + b.f0 + squares, a.f1 + difference * share, n);"
                .replace("FLOAT", field(dtype).ty),
            Self::Any => "return Acc(a.f0 | b.f0);".to_owned(),
            Self::All => "return Acc(a.f0 & b.f0);".to_owned(),
            Self::Argmin | Self::Argmax => return self.combine_positions(dtype),
        };
        Some(format!("fn combine(a: Acc, b: Acc) -> Acc {{\n    {body}\n}}\n"))
    }

    /// The text has no branches, because a device computes it for each element.
    fn combine_positions(self, dtype: DType) -> Option<String> {
        let is_double = Class::of(dtype) == Some(Class::Double);
        // Floats are ordered as integers; `f32_argmin_order` makes integers of the opposite order.
        let op = if self == Self::Argmin && ordered(dtype) == dtype { Op::Less } else { Op::Greater };
        let wins = |x: &str, y: &str| -> Option<String> {
            let wins = operation(op, ordered(dtype), &[x, y])?;
            if !is_double {
                return Some(wins);
            }
            let [x_nan, y_nan] = [operation(Op::Isnan, dtype, &[x])?, operation(Op::Isnan, dtype, &[y])?];
            Some(format!("({wins} | ({x_nan} & !{y_nan}))"))
        };
        let (first, second) = (wins("a.f0", "b.f0")?, wins("b.f0", "a.f0")?);
        let function = |name: &str, wins: &str| {
            format!(
                "fn {name}(a: Acc, b: Acc) -> Acc {{
    let wins = {wins};
    return Acc(select(a.f0, b.f0, wins), select(a.f1, b.f1, wins));
}}
"
            )
        };
        let earlier = format!("{second} | (!{first} & (b.f1 < a.f1))");
        Some(function("combine", &earlier) + &function("append", &second))
    }
}

/// The type in which `argmin` and `argmax` compare elements. Floats of at most 32 bits are compared as the integers
/// that `f32_argmin_order` and `f32_argmax_order` make of them, in which NaN is the largest.
fn ordered(dtype: DType) -> DType {
    if Class::of(dtype) == Some(Class::Float) { DType::I32 } else { dtype }
}

/// An integer or a truth value as the words of an integer of 64 bits.
fn pair(dtype: DType, v: &str) -> Option<String> {
    Some(match Class::of(dtype)? {
        Class::Bool => format!("vec2<u32>(select(0u, 1u, {v}), 0u)"),
        Class::Signed { bits: 64 } => {
            format!("vec2<u32>(u32({v} & i64(0xffffffff)), u32(({v} >> 32u) & i64(0xffffffff)))")
        }
        Class::Unsigned { bits: 64 } => format!("vec2<u32>(u32({v} & u64(0xffffffff)), u32({v} >> 32u))"),
        Class::Signed { .. } => format!("vec2<u32>(bitcast<u32>({v}), bitcast<u32>({v} >> 31u))"),
        _ => format!("vec2<u32>({v}, 0u)"),
    })
}
