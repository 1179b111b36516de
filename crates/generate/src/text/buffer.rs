//! How elements lie in buffers: the type with which a shader declares a buffer of each element type, and how it reads
//! and writes elements.
//!
//! Elements of at most 4 bytes, and `Complex32`, lie in buffers of words, so that no device needs storage of short types.
//! Integers and floats of 64 bits have their own type.

use vkarray_shader::{DType, ScalarValue};

use super::class::Class;
use super::params::ParamType;
use crate::expr::Scalar;

/// How many elements are read or written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// One element at a time.
    One,
    /// Four elements at once, from an element whose index is a multiple of four. Types of 8 bytes and more are still
    /// read one by one.
    Four,
}

/// A buffer of elements of one type.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) width: Width,
}

impl Buffer {
    /// The type of the array's elements in WGSL.
    pub(crate) fn storage(&self) -> &'static str {
        match (self.dtype, self.dtype.itemsize(), self.width) {
            (DType::I64, ..) => "i64",
            (DType::U64, ..) => "u64",
            (DType::F64, ..) => "f64",
            (DType::Complex64, ..) => "vec2<f64>",
            (DType::Complex32, ..) => "vec2<u32>",
            (_, 2, Width::Four) => "vec2<u32>",
            (_, 4, Width::Four) => "vec4<u32>",
            _ => "u32",
        }
    }

    /// Text that reads the element at an index.
    pub(crate) fn load(&self, index: &str) -> String {
        let name = &self.name;
        let raw = match self.dtype.itemsize() {
            1 => format!("(({name}[({index}) >> 2u] >> ((({index}) & 3u) * 8u)) & 0xffu)"),
            2 => format!("(({name}[({index}) >> 1u] >> ((({index}) & 1u) * 16u)) & 0xffffu)"),
            _ => format!("{name}[{index}]"),
        };
        decode(self.dtype, &raw)
    }

    /// Statements that read the four elements from `4 * unit` on into `{into}0` to `{into}3`.
    pub(crate) fn load_four(&self, unit: &str, into: &str) -> String {
        let name = &self.name;
        let lanes: [String; 4] = match self.dtype.itemsize() {
            1 => [0, 8, 16, 24].map(|by| format!("(({into}_w >> {by}u) & 0xffu)")),
            2 => ["x & 0xffffu", "x >> 16u", "y & 0xffffu", "y >> 16u"].map(|part| format!("({into}_w.{part})")),
            4 => ["x", "y", "z", "w"].map(|part| format!("{into}_w.{part}")),
            _ => [0, 1, 2, 3].map(|lane| format!("{name}[4u * ({unit}) + {lane}u]")),
        };
        let mut text =
            if self.dtype.itemsize() <= 4 { format!("    let {into}_w = {name}[{unit}];\n") } else { String::new() };
        for (lane, raw) in lanes.iter().enumerate() {
            text += &format!("    let {into}{lane} = {};\n", decode(self.dtype, raw));
        }
        text
    }

    /// The statement that writes a value at an index; for elements of at least 4 bytes.
    pub(crate) fn store(&self, index: &str, value: &str) -> String {
        format!("    {}[{index}] = {};\n", self.name, encode(self.dtype, value))
    }

    /// Statements that write values to the elements from `values.len() * unit` on.
    pub(crate) fn store_unit(&self, unit: &str, values: &[String]) -> String {
        let (name, itemsize) = (&self.name, self.dtype.itemsize());
        let encoded: Vec<_> = values.iter().map(|value| encode(self.dtype, value)).collect();
        let word = |values: &[String]| -> String {
            let shifted = values.iter().enumerate().map(|(i, value)| {
                if i == 0 { format!("({value})") } else { format!("(({value}) << {}u)", i * 8 * itemsize as usize) }
            });
            shifted.collect::<Vec<_>>().join(" | ")
        };
        match (itemsize, values.len()) {
            (1, 4) | (2, 2) => format!("    {name}[{unit}] = {};\n", word(&encoded)),
            (2, 4) if self.width == Width::Four => {
                format!("    {name}[{unit}] = vec2<u32>({}, {});\n", word(&encoded[..2]), word(&encoded[2..]))
            }
            (2, 4) => {
                let (low, high) = (word(&encoded[..2]), word(&encoded[2..]));
                format!("    {name}[2u * ({unit})] = {low};\n    {name}[2u * ({unit}) + 1u] = {high};\n")
            }
            (4, 4) if self.width == Width::Four => format!("    {name}[{unit}] = vec4<u32>({});\n", encoded.join(", ")),
            (_, n) => {
                let at = |lane| format!("    {name}[{n}u * ({unit}) + {lane}u] = {};\n", encoded[lane]);
                (0..n).map(at).collect()
            }
        }
    }
}

/// The element type with which an array of elements of this type is described when it is bound: the type of the
/// shader's buffer.
pub fn bound_dtype(dtype: DType) -> DType {
    match dtype {
        DType::I64 | DType::U64 | DType::F64 | DType::Complex64 => dtype,
        _ => DType::U32,
    }
}

/// Text that makes a value from what lies in a buffer.
fn decode(dtype: DType, raw: &str) -> String {
    match dtype {
        DType::Bool => format!("({raw} != 0u)"),
        DType::I8 => format!("(bitcast<i32>({raw} << 24u) >> 24u)"),
        DType::I16 => format!("(bitcast<i32>({raw} << 16u) >> 16u)"),
        DType::F16 => format!("f32_of_half({raw})"),
        DType::BF16 => format!("bitcast<f32>({raw} << 16u)"),
        DType::I32 => format!("bitcast<i32>({raw})"),
        DType::F32 => format!("bitcast<f32>({raw})"),
        DType::Complex32 => format!("bitcast<vec2<f32>>({raw})"),
        _ => raw.to_owned(),
    }
}

/// Text that makes what lies in a buffer from a value.
pub(crate) fn encode(dtype: DType, value: &str) -> String {
    match dtype {
        DType::Bool => format!("select(0u, 1u, {value})"),
        DType::I8 => format!("(bitcast<u32>({value}) & 0xffu)"),
        DType::I16 => format!("(bitcast<u32>({value}) & 0xffffu)"),
        DType::F16 => format!("f32_to_f16(bitcast<u32>({value}))"),
        DType::BF16 => format!("f32_to_bf16(bitcast<u32>({value}))"),
        DType::I32 | DType::F32 => format!("bitcast<u32>({value})"),
        DType::Complex32 => format!("bitcast<vec2<u32>>({value})"),
        _ => value.to_owned(),
    }
}

/// The number of parameters for a number, which is two for a complex number, and their type.
pub(crate) fn scalar_parts(dtype: DType) -> (u16, ParamType) {
    match Class::of(dtype) {
        Some(Class::Complex) => (2, ParamType::U32),
        Some(Class::DoubleComplex) => (2, ParamType::F64),
        Some(Class::Double) => (1, ParamType::F64),
        Some(Class::Signed { bits: 64 }) => (1, ParamType::I64),
        Some(Class::Unsigned { bits: 64 }) => (1, ParamType::U64),
        _ => (1, ParamType::U32),
    }
}

/// Text that makes a number from its parameters.
pub(crate) fn decode_scalar(dtype: DType, name: &str) -> String {
    match Class::of(dtype) {
        Some(Class::Complex) => format!("vec2<f32>(bitcast<f32>({name}_x), bitcast<f32>({name}_y))"),
        Some(Class::DoubleComplex) => format!("vec2<f64>({name}_x, {name}_y)"),
        _ => decode(dtype, name),
    }
}

/// One part of a number, as the parameter holds it.
pub(crate) fn scalar_value(Scalar(words): Scalar, part: usize, ty: ParamType) -> ScalarValue {
    let pair = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
    match ty {
        ParamType::F64 => ScalarValue::F64(f64::from_bits(pair(2 * part))),
        ParamType::I64 => ScalarValue::I64(pair(0).cast_signed()),
        ParamType::U64 => ScalarValue::U64(pair(0)),
        ParamType::U32 => ScalarValue::U32(words[part]),
    }
}

/// The lower 32 bits of a value. Sizes and offsets of a piece have at most 32 bits. Indices are sums modulo 2³², so the
/// upper bits of a stride have no effect.
#[expect(clippy::cast_possible_truncation, reason = "a piece fits 32 bits, and strides are summed modulo 2^32")]
pub fn word(value: u64) -> ScalarValue {
    ScalarValue::U32(value as u32)
}
