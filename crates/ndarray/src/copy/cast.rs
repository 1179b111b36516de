//! [`Cast`]: a conversion between element types, as the expression that a kernel evaluates on the bits of an element.
//!
//! Floating-point numbers are converted by integer arithmetic on their bits, and integers of 64 bits as pairs of words, so
//! that every device gives the same bits for every type. The functions are in `numbers.wgsl` and `wide_numbers.wgsl` of
//! the shader library. Where both types fit 32 bits, the device's own conversions between integers and `f32` are used as
//! far as they are exact.

use vkarray_kernel::DType;
use vkarray_shaders::library;

/// A conversion between two types of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cast {
    from: DType,
    to: DType,
    group: u32,
}

/// How the bits of a number are interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberKind {
    Bool,
    Integer {
        is_signed: bool,
        bits: u32,
    },
    /// A float, or the real part of a complex number.
    Float,
}

fn kind(dtype: DType) -> Option<NumberKind> {
    let number = dtype.scalar()?;
    Some(match number {
        DType::Bool => NumberKind::Bool,
        _ if number.is_float() => NumberKind::Float,
        _ => {
            let is_signed = matches!(number, DType::I8 | DType::I16 | DType::I32 | DType::I64);
            NumberKind::Integer { is_signed, bits: 8 * number.itemsize() }
        }
    })
}

impl Cast {
    /// The conversion, if both types are numbers or `bool`, and how many items an element has: two, the parts of a
    /// complex number, where both types are complex; else one. `group` is the number of invocations of a workgroup.
    pub(crate) fn new(from: DType, to: DType, group: u32) -> Option<(Self, u64)> {
        let parts = (from.scalar()?, to.scalar()?);
        let are_complex = parts.0 != from && parts.1 != to;
        let ((from, to), n_parts) = if are_complex { (parts, 2) } else { ((from, to), 1) };
        Some((Self { from, to, group }, n_parts))
    }

    /// Bytes of an item before and after the conversion.
    pub(crate) fn item_bytes(self) -> [u64; 2] {
        [self.from, self.to].map(|dtype| u64::from(dtype.itemsize()))
    }

    /// The text of the kernel.
    pub(crate) fn source(self) -> String {
        let (from, to) = (self.from.itemsize(), self.to.itemsize());
        let (expression, is_wide) = match self.narrow() {
            Some(word) => (format!("vec2({word}, 0u)"), false),
            None => (self.wide(), true),
        };
        library::cast([from, to], self.group, is_wide, &expression)
    }

    /// Items that one workgroup converts.
    pub(crate) fn items_a_group(self) -> u64 {
        u64::from(self.group) * u64::from((4 / self.to.itemsize()).max(1))
    }

    /// The expression that gives one word, if 32 bits are enough for every step.
    fn narrow(self) -> Option<String> {
        let Self { from, to, .. } = self;
        let is_wide = |dtype| matches!(dtype, DType::I64 | DType::U64 | DType::F64 | DType::Complex64);
        if is_wide(from) || is_wide(to) {
            return None;
        }
        let (from_kind, to_kind) = (kind(from)?, kind(to)?);
        Some(match (from_kind, to_kind) {
            (NumberKind::Bool, NumberKind::Float) => float_of_f32("bitcast<u32>(f32(value.x != 0u))", to),
            (NumberKind::Bool, _) => "u32(value.x != 0u)".to_owned(),
            (NumberKind::Integer { .. }, NumberKind::Bool) => "u32(value.x != 0u)".to_owned(),
            (NumberKind::Integer { is_signed, bits }, NumberKind::Integer { .. }) => integer(is_signed, bits),
            // Drivers round this conversion differently: SwiftShader does not round a large `u32` to the nearest float.
            (NumberKind::Integer { bits: 32, .. }, NumberKind::Float) => return None,
            (NumberKind::Integer { is_signed, bits }, NumberKind::Float) => {
                let (cast, integer) = (if is_signed { "bitcast<i32>" } else { "" }, integer(is_signed, bits));
                float_of_f32(&format!("bitcast<u32>(f32({cast}({integer})))"), to)
            }
            (NumberKind::Float, NumberKind::Bool) if from == DType::Complex32 => {
                "u32(((value.x | value.y) << 1u) != 0u)".to_owned()
            }
            (NumberKind::Float, NumberKind::Bool) if from.itemsize() == 2 => "u32((value.x << 17u) != 0u)".to_owned(),
            (NumberKind::Float, NumberKind::Bool) => "u32((value.x << 1u) != 0u)".to_owned(),
            (NumberKind::Float, NumberKind::Integer { is_signed, bits }) => {
                integer_of_f32(&f32_of(from), is_signed, bits)
            }
            (NumberKind::Float, NumberKind::Float) if from == to => "value.x".to_owned(),
            (NumberKind::Float, NumberKind::Float) => float_of_f32(&f32_of(from), to),
        })
    }

    /// The expression that gives a pair of words.
    fn wide(self) -> String {
        let Self { from, to, .. } = self;
        if from == to {
            return "value".to_owned();
        }
        let word = |word: String| format!("vec2({word}, 0u)");
        match (kind(from), kind(to)) {
            (_, Some(NumberKind::Bool)) if from == DType::Complex64 => {
                word("u32((item.x | (item.y << 1u) | item.z | (item.w << 1u)) != 0u)".to_owned())
            }
            (Some(NumberKind::Float), Some(NumberKind::Bool)) => {
                word("u32((value.x | (value.y << 1u)) != 0u)".to_owned())
            }
            (_, Some(NumberKind::Bool)) => word("u32((value.x | value.y) != 0u)".to_owned()),
            (Some(NumberKind::Float), Some(NumberKind::Integer { is_signed, bits })) => {
                let [low, high] = limits(is_signed, bits).map(pair);
                format!("f64_to_integer({}, {low}, {high})", f64_of(from))
            }
            (Some(NumberKind::Float), _) if is_f64(to) => f64_of(from),
            (Some(NumberKind::Float), _) => {
                let is_odd = to.itemsize() == 2;
                word(float_of_f32(&format!("f64_to_f32(value, {is_odd})"), to))
            }
            (_, Some(NumberKind::Integer { .. })) => wide_integer(from),
            _ => {
                let is_signed = matches!(kind(from), Some(NumberKind::Integer { is_signed: true, .. }));
                let integer = wide_integer(from);
                if is_f64(to) {
                    return format!("integer_to_f64({integer}, {is_signed})");
                }
                let is_odd = to.itemsize() == 2;
                word(float_of_f32(&format!("integer_to_f32({integer}, {is_signed}, {is_odd})"), to))
            }
        }
    }
}

/// Whether the number, or the real part of a complex number, is an `f64`.
fn is_f64(dtype: DType) -> bool {
    matches!(dtype, DType::F64 | DType::Complex64)
}

/// An integer of at most 32 bits, extended to 32 bits.
fn integer(is_signed: bool, bits: u32) -> String {
    match 32 - bits {
        up if is_signed && up > 0 => format!("bitcast<u32>(bitcast<i32>(value.x << {up}u) >> {up}u)"),
        _ => "value.x".to_owned(),
    }
}

/// An integer or a `bool`, extended to 64 bits.
fn wide_integer(from: DType) -> String {
    match kind(from) {
        Some(NumberKind::Bool) => "vec2(u32(value.x != 0u), 0u)".to_owned(),
        Some(NumberKind::Integer { is_signed: true, bits }) if bits < 64 => {
            let up = 32 - bits;
            let low = integer(true, bits);
            format!("vec2({low}, bitcast<u32>(bitcast<i32>(value.x << {up}u) >> 31u))")
        }
        _ => "value".to_owned(),
    }
}

/// The bits of an `f32`.
fn f32_of(from: DType) -> String {
    match from {
        DType::F16 => "f16_to_f32(value.x)".to_owned(),
        DType::BF16 => "bf16_to_f32(value.x)".to_owned(),
        _ => "value.x".to_owned(),
    }
}

/// The bits of an `f64`.
fn f64_of(from: DType) -> String {
    if is_f64(from) { "value".to_owned() } else { format!("f32_to_f64({})", f32_of(from)) }
}

/// Converts the bits of an `f32` to the bits of a float of at most 32 bits.
fn float_of_f32(bits: &str, to: DType) -> String {
    match to {
        DType::F16 => format!("f32_to_f16({bits})"),
        DType::BF16 => format!("f32_to_bf16({bits})"),
        _ => bits.to_owned(),
    }
}

fn integer_of_f32(float: &str, is_signed: bool, bits: u32) -> String {
    if !is_signed && bits == 32 {
        return format!("f32_to_u32({float})");
    }
    let [low, high] = limits(is_signed, bits);
    // WGSL has no literal for the smallest `i32`: the minus sign is an operator, and 2147483648 is not an `i32`.
    let low = if low == 1 << 31 { "bitcast<i32>(0x80000000u)".to_owned() } else { format!("-{low}") };
    format!("f32_to_i32({float}, {low}, {high})")
}

/// The magnitude of the smallest and of the largest integer of a type.
fn limits(is_signed: bool, bits: u32) -> [u64; 2] {
    let all = u64::MAX >> (64 - bits);
    if is_signed { [all / 2 + 1, all / 2] } else { [0, all] }
}

fn pair(value: u64) -> String {
    format!("vec2({}u, {}u)", value & 0xffff_ffff, value >> 32)
}

#[cfg(test)]
mod tests {
    use vkarray_kernel::{Module, Options, Source};

    use super::*;

    #[test]
    fn every_pair_of_numbers_has_a_kernel_that_any_device_can_run() {
        for (&from, &to) in DType::ALL.iter().flat_map(|from| DType::ALL.iter().map(move |to| (from, to))) {
            let (cast, n_items) = Cast::new(from, to, 256).unwrap();
            let are_complex = [from, to].iter().all(|dtype| matches!(dtype, DType::Complex32 | DType::Complex64));
            assert_eq!(n_items == 2, are_complex, "{from} to {to}");
            let module = Module::parse(&Source::wgsl(cast.source())).unwrap_or_else(|e| panic!("{from} to {to}: {e}"));
            let translated = module.translate(None, &Default::default(), &Options::default()).unwrap();
            assert_eq!(translated.signature.capabilities, [], "{from} to {to}");
        }
    }

    #[test]
    fn records_are_not_converted() {
        assert_eq!(Cast::new(DType::Record(4), DType::F32, 256), None);
        assert_eq!(Cast::new(DType::F32, DType::Record(4), 256), None);
    }
}
