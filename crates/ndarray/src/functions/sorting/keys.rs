//! [`Keys`]: numbers as unsigned integers of one or two words that have the order of the numbers.

use std::ops::Range;

use vkarray_kernel::DType;
use vkarray_shaders::functions;

use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::functions::operand::{Widen, flat, kernel, part, parts, run, to_u32, widened, words};

/// The keys of the elements of an array, in C order.
#[derive(Debug)]
pub(super) struct Keys {
    /// One or two words for each key, the high word first.
    pub(super) words: DeviceNDArray<u32>,
    /// The number of keys.
    pub(super) count: usize,
    pub(super) kind: KeyKind,
}

/// The type of numbers that keys are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyKind {
    pub(super) n_words: usize,
    pub(super) is_float: bool,
}

impl KeyKind {
    pub(super) fn of<T: Widen>() -> Self {
        Self { n_words: size_of::<T::Wide>() / 4, is_float: DType::of::<T>().is_float() }
    }

    /// The text that defines the type of keys and their order.
    pub(super) fn text(self) -> String {
        let name = if self.n_words == 1 { "u32" } else { "vec2<u32>" };
        format!("alias Key = {name};\n{}", functions::KEY_ORDER)
    }
}

impl Keys {
    /// The keys of an array. For descending order their bits are inverted.
    pub(super) fn of<T: Widen>(x: &DeviceNDArray<T>, is_descending: bool) -> Result<Self> {
        let (source, count, kind) = (widened(x)?, x.size(), KeyKind::of::<T>());
        to_u32(count)?;
        let words_of_keys = source.context().device_array::<u32>([count * kind.n_words])?;
        if count > 0 {
            let number = match DType::of::<T::Wide>() {
                DType::I32 | DType::I64 => "SIGNED",
                DType::F32 | DType::F64 => "FLOAT",
                _ => "UNSIGNED",
            };
            let constants = format!(
                "const KIND = {number};\nconst WORDS = {}u;\nconst DESCENDING = {is_descending};\n",
                kind.n_words
            );
            let kernel = kernel(source.context(), "sort_keys.wgsl", &[&constants, functions::SORT_KEYS], "sort_keys")?;
            let source = flat(&source)?;
            for range in parts(source.context(), count, size_of::<T::Wide>(), 1) {
                let own = part(&words_of_keys, &(range.start * kind.n_words..range.end * kind.n_words))?;
                run(&kernel, x.stream(), range.len(), &(words(&part(&source, &range)?), words(&own)))?;
            }
        }
        Ok(Self { words: words_of_keys, count, kind })
    }

    /// Memory for keys of this kind.
    pub(super) fn like(&self, count: usize) -> Result<Self> {
        let words = self.words.context().device_array([count * self.kind.n_words])?;
        Ok(Self { words, count, kind: self.kind })
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
