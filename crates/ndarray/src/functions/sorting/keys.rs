//! [`Keys`]: numbers as unsigned integers of one or two words that have the order of the numbers.

use std::ops::Range;

use vkarray_driver::Stream;
use vkarray_kernel::DType;
use vkarray_shaders::functions;

use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::functions::operand::{Widen, flat, kernel, packed, part, parts, run, to_u32, words};

/// The keys of the elements of an array, in C order.
#[derive(Debug)]
pub(super) struct Keys {
    /// One or two words for each key, the high word first.
    pub(super) words: DeviceNDArray<u32>,
    /// The number of keys.
    pub(super) count: usize,
    pub(super) kind: KeyKind,
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
    /// The keys of an array.
    pub(super) fn of<T: Widen>(x: &DeviceNDArray<T>) -> Result<Self> {
        let (count, kind) = (x.size(), KeyKind::of::<T>());
        to_u32(count)?;
        let keys = x.context().device_array::<u32>([count * kind.n_words])?;
        if count > 0 {
            let text = [&kind.text(false, false), functions::SORT_KEYS];
            let kernel = kernel(x.context(), "sort_keys.wgsl", &text, "sort_keys")?;
            let source = bits_of(x)?;
            for range in parts(x.context(), count, 4 * kind.n_words, 1) {
                let own = range.start * kind.n_words..range.end * kind.n_words;
                run(&kernel, x.stream(), range.len(), &(words(&part(&source, &own)?), words(&part(&keys, &own)?)))?;
            }
        }
        Ok(Self { words: keys, count, kind })
    }

    /// A range of the keys.
    pub(super) fn part(&self, range: &Range<usize>) -> Result<Self> {
        let n_words = self.kind.n_words;
        let words = part(&self.words, &(range.start * n_words..range.end * n_words))?;
        Ok(Self { words, count: range.len(), kind: self.kind })
    }

    /// The parts of the keys that kernels bind one after the other.
    pub(super) fn parts(&self) -> Result<Vec<(Range<usize>, DeviceNDArray<u32>)>> {
        let ranges = parts(self.words.context(), self.count, 4 * self.kind.n_words, 1);
        ranges.map(|range| Ok((range.clone(), self.part(&range)?.words))).collect()
    }
}
