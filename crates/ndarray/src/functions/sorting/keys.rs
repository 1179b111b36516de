//! [`Keys`]: numbers as unsigned integers of one or two words that have the order of the numbers.

use std::ops::Range;

use vkarray_driver::Stream;
use vkarray_kernel::DType;
use vkarray_shaders::functions;

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;
use crate::functions::operand::{Widen, flat, packed, part, parts, to_u32};

/// The keys of the elements of an array, in C order, or the elements themselves.
#[derive(Debug)]
pub(super) struct Keys {
    /// One or two words for each key, the high word first, or for each number, the low word first.
    pub(super) words: DeviceNDArray<u32>,
    /// The number of keys.
    pub(super) count: usize,
    pub(super) kind: KeyKind,
    /// Whether the words are numbers.
    pub(super) are_numbers: bool,
}

/// How numbers of a type become keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyKind {
    pub(super) n_words: usize,
    /// Bits of a number. Numbers of 8 and 16 bits have keys of one word.
    bits: u32,
    /// What `key_of.wgsl` calls the type.
    name: &'static str,
    /// The bits of infinity in the high word, if the numbers are floats.
    pub(super) infinity: Option<u32>,
}

impl KeyKind {
    pub(super) fn of<T: Widen>() -> Self {
        let infinity = match DType::of::<T>() {
            DType::F16 => Some(0x7c00),
            DType::BF16 => Some(0x7f80),
            DType::F32 => Some(0x7f80_0000),
            DType::F64 => Some(0x7ff0_0000),
            _ => None,
        };
        let name = match DType::of::<T>() {
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => "SIGNED",
            _ if infinity.is_some() => "FLOAT",
            _ => "UNSIGNED",
        };
        Self { n_words: size_of::<T>().div_ceil(4), bits: 8 * DType::of::<T>().itemsize(), name, infinity }
    }

    pub(super) fn is_float(self) -> bool {
        self.infinity.is_some()
    }

    /// The bit of the sign in the high word.
    pub(super) fn sign(self) -> u32 {
        1 << ((self.bits - 1) % 32)
    }

    /// The number of digits of eight bits.
    pub(super) fn n_digits(self) -> u32 {
        self.bits / 8
    }

    /// The key of a number with these bits that is not NaN, as `key_of.wgsl` computes it.
    fn key(self, number: u64) -> u64 {
        let sign = 1 << (self.bits - 1);
        match self.name {
            "UNSIGNED" => number,
            "SIGNED" => number ^ sign,
            _ if number & !sign == 0 => sign,
            _ if number & sign != 0 => !number & (sign | (sign - 1)),
            _ => number | sign,
        }
    }

    /// The text that defines the type of keys.
    pub(super) fn alias(self) -> String {
        let [name, to_key, words_of] = match self.n_words {
            1 => ["u32", "words.x", "vec2(key, 0u)"],
            _ => ["vec2<u32>", "words", "key.yx"],
        };
        format!(
            "alias Key = {name};\nconst IS_PAIR = {};\nfn to_key(words: vec2<u32>) -> Key {{\n    return {to_key};\n}}\n\
             fn words_of(key: Key) -> vec2<u32> {{\n    return {words_of};\n}}\n",
            self.n_words == 2
        )
    }

    /// The text that defines how numbers become keys. If `is_exact`, the keys become numbers again.
    pub(super) fn text(self, is_descending: bool, is_exact: bool) -> String {
        let (sign, infinity) = (self.sign(), self.infinity.unwrap_or(0));
        let constants = format!(
            "const KIND = {};\nconst SIGN = {sign}u;\nconst INFINITY = {infinity}u;\n\
             const DESCENDING = {is_descending};\nconst EXACT = {is_exact};\n",
            self.name
        );
        [&self.alias(), &constants, functions::KEY_OF].concat()
    }
}

/// The bits of the elements in C order, as one or two words each, the low word first.
pub(super) fn bits_of<T: Widen>(x: &DeviceNDArray<T>) -> Result<DeviceNDArray<u32>> {
    let x = flat(&packed(x)?)?;
    match size_of::<T>() {
        1 => x.view::<u8>()?.astype(),
        2 => x.view::<u16>()?.astype(),
        _ => x.view(),
    }
}

/// The elements with these bits: the inverse of [`bits_of`].
pub(super) fn of_bits<T: Widen>(bits: &DeviceNDArray<u32>, stream: &Stream) -> Result<DeviceNDArray<T>> {
    match size_of::<T>() {
        1 => bits.on(stream).astype::<u8>()?.view(),
        2 => bits.on(stream).astype::<u16>()?.view(),
        _ => bits.view(),
    }
}

impl Keys {
    /// The elements of an array, which become keys where they are read.
    pub(super) fn of<T: Widen>(x: &DeviceNDArray<T>) -> Result<Self> {
        to_u32(x.size())?;
        Ok(Self { words: bits_of(x)?, count: x.size(), kind: KeyKind::of::<T>(), are_numbers: true })
    }

    /// The keys of numbers on the host, of which none is NaN.
    pub(super) fn of_host<T: Widen>(ctx: &Context, numbers: &[T], stream: &Stream) -> Result<Self> {
        let kind = KeyKind::of::<T>();
        let key = |number: &T| {
            let mut bits = [0; 8];
            bits[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(number));
            let high_and_low: [u32; 2] = bytemuck::cast(kind.key(u64::from_le_bytes(bits)).rotate_left(32));
            high_and_low.into_iter().skip(2 - kind.n_words)
        };
        let all: Vec<u32> = numbers.iter().flat_map(key).collect();
        let words = ctx.device_array([all.len()])?;
        words.on(stream).copy_from_host(&ndarray::aview1(&all))?;
        Ok(Self { words, count: numbers.len(), kind, are_numbers: false })
    }

    /// A range of the keys.
    pub(super) fn part(&self, range: &Range<usize>) -> Result<Self> {
        let n_words = self.kind.n_words;
        let words = part(&self.words, &(range.start * n_words..range.end * n_words))?;
        Ok(Self { words, count: range.len(), ..*self })
    }

    /// The parts of the keys that kernels bind one after the other.
    pub(super) fn parts(&self) -> Result<Vec<(Range<usize>, DeviceNDArray<u32>)>> {
        let ranges = parts(self.words.context(), self.count, 4 * self.kind.n_words, 1);
        ranges.map(|range| Ok((range.clone(), self.part(&range)?.words))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of numbers, whose order and whose zeros the kernels rely on.
    #[test]
    fn keys_of_the_host_ascend_with_the_numbers() {
        let key = |number: f32| KeyKind::of::<f32>().key(number.to_bits().into());
        let ascending = [f32::NEG_INFINITY, -1.0, -f32::MIN_POSITIVE, 0.0, 1e-45, 1.0, f32::INFINITY].map(key);
        assert!(ascending.is_sorted_by(|a, b| a < b), "{ascending:x?}");
        assert_eq!((key(-0.0), key(1.0)), (key(0.0), 0xbf80_0000));
        assert_eq!(KeyKind::of::<i8>().key((-1_i8).cast_unsigned().into()), 0x7f);
        assert_eq!(KeyKind::of::<f64>().key((-1.0_f64).to_bits()), !(-1.0_f64).to_bits());
        assert_eq!(KeyKind::of::<u64>().key(7), 7);
    }
}
