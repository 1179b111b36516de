//! [`Keys`]: numbers as unsigned integers of one or two words that have the order of the numbers.

use vkarray_kernel::DType;
use vkarray_ndarray::{DeviceNDArray, OnStream, Result};
use vkarray_shaders::functions;

use crate::operand::{Widen, kernel, run, widened, words};

/// The keys of an array, in its C order.
#[derive(Debug)]
pub(super) struct Keys {
    /// One or two words for each, the high one first.
    pub(super) words: DeviceNDArray<u32>,
    /// Their number.
    pub(super) count: usize,
    pub(super) kind: KeyKind,
}

/// What keys are made of.
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
    /// The keys of an array; inverted where the order is descending.
    pub(super) fn of<T: Widen>(x: OnStream<'_, T>, is_descending: bool) -> Result<Self> {
        let (source, count, kind) = (widened(x)?, x.array().size(), KeyKind::of::<T>());
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
            run(&kernel, x.stream(), count, &(words(&source), words(&words_of_keys)))?;
        }
        Ok(Self { words: words_of_keys, count, kind })
    }
}
