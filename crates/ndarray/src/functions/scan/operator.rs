//! [`Operator`]: the text of an operation and of the types that it combines.

use vkarray_kernel::{Arg, AsArg, DType, Element};
use vkarray_shaders::functions;

use super::tile::ScanTile;
use crate::array::DeviceNDArray;
use crate::functions::operand::{Arithmetic, Widen, numbers};
use crate::generate::{Combine, value_type, with_functions};

/// What a scan reads and combines.
pub(super) struct Operator {
    /// The definitions of `S`, `T`, `widen`, `op`, `identity`, `words_of`, `of_words` and WORDS.
    pub(super) text: String,
    /// Words of a result.
    pub(super) n_words: u32,
    /// Kernels see integers of 64 bits as pairs of words.
    has_pairs: bool,
}

impl Operator {
    /// The sum, or the product, of numbers of type `S`, which has 32 or 64 bits, in the type `T`.
    pub(super) fn of_numbers<S: Widen, T: Widen>(is_product: bool) -> Self {
        let arithmetic = Arithmetic::of::<T>();
        let (function, identity) = if is_product { ("multiply", arithmetic.one) } else { ("add", arithmetic.zero) };
        let read = match DType::of::<S>() {
            DType::U32 if size_of::<T>() == 8 => widening("u32", "vec2(number, 0u)"),
            DType::I32 if size_of::<T>() == 8 => {
                widening("i32", "vec2(bitcast<u32>(number), bitcast<u32>(number >> 31u))")
            }
            _ => widening("T", "number"),
        };
        let operation = format!(
            "fn op(a: T, b: T) -> T {{\n    return {function}(a, b);\n}}\n\
             fn identity() -> T {{\n    return {identity};\n}}\n"
        );
        Self::new::<T>([arithmetic.text(), read, operation].concat(), true)
    }

    /// An operation that a program wrote.
    pub(super) fn of_text<T: Element>(combine: &Combine) -> Self {
        let ty = value_type(DType::of::<T>());
        let text = format!("alias T = {ty};\n{}{}", widening("T", "number"), combine.text());
        Self::new::<T>(with_functions(&text), false)
    }

    fn new<T: Element>(text: String, has_pairs: bool) -> Self {
        let n_words = if size_of::<T>() == 8 { 2 } else { 1 };
        let [words, number] = match DType::of::<T>() {
            DType::I64 | DType::U64 if has_pairs => ["number", "words"],
            DType::I32 => ["vec2(bitcast<u32>(number), 0u)", "bitcast<i32>(words.x)"],
            DType::F32 => ["vec2(bitcast<u32>(number), 0u)", "bitcast<f32>(words.x)"],
            DType::I64 => [LONG_WORDS, "bitcast<i64>(u64(words.x) | (u64(words.y) << 32u))"],
            DType::U64 => [LONG_WORDS, "u64(words.x) | (u64(words.y) << 32u)"],
            DType::F64 => [LONG_WORDS, "bitcast<f64>(u64(words.x) | (u64(words.y) << 32u))"],
            _ => ["vec2(number, 0u)", "words.x"],
        };
        let text = format!(
            "{text}const WORDS = {n_words}u;\nfn words_of(number: T) -> vec2<u32> {{\n    return {words};\n}}\n\
             fn of_words(words: vec2<u32>) -> T {{\n    return {number};\n}}\n"
        );
        Self { text, n_words, has_pairs }
    }

    /// The text of the kernel for tiles.
    pub(super) fn kernel_text(&self, tile: ScanTile) -> String {
        let publishes = "fn publishes(tile: u32) -> bool {\n    return true;\n}\n";
        [&tile.text(), &self.text, publishes, functions::TEAM_SCAN, functions::SCAN].concat()
    }

    /// An array as an argument of the kernel.
    pub(super) fn arg<'a, T: Element>(&self, array: &'a DeviceNDArray<T>) -> Arg<'a> {
        if self.has_pairs { numbers(array) } else { array.as_arg() }
    }
}

/// A number of 64 bits as two words.
const LONG_WORDS: &str = "vec2(u32(bitcast<u64>(number) & 0xfffffffflu), u32(bitcast<u64>(number) >> 32u))";

fn widening(ty: &str, number: &str) -> String {
    format!("alias S = {ty};\nfn widen(number: S) -> T {{\n    return {number};\n}}\n")
}
