//! [`Operator`]: the text of an operation and of the types that it combines.

use vkarray_kernel::{DType, Element};
use vkarray_shaders::functions;

use super::tile::ScanTile;
use crate::functions::operand::{Arithmetic, Widen};
use crate::generate::{Combine, value_type, with_functions};

/// What a scan reads and combines.
pub(super) struct Operator {
    /// The definitions of `T`, `op`, `identity`, `words_of`, `of_words`, WORDS and `number_of`.
    pub(super) text: String,
    /// Words of a number that is read, and of a result.
    n_read: u32,
    pub(super) n_words: u32,
}

impl Operator {
    /// The sum, or the product, of numbers of type `S`, which has 32 or 64 bits, in the type `T`.
    pub(super) fn of_numbers<S: Widen, T: Widen>(is_product: bool) -> Self {
        let arithmetic = Arithmetic::of::<T>();
        let (function, identity) = if is_product { ("multiply", arithmetic.one) } else { ("add", arithmetic.zero) };
        let operation = format!(
            "fn op(a: T, b: T) -> T {{\n    return {function}(a, b);\n}}\n\
             fn identity() -> T {{\n    return {identity};\n}}\n"
        );
        let of_words = match DType::of::<T>() {
            DType::I64 | DType::U64 => ["number", "words"],
            dtype => of_words(dtype),
        };
        // Integers of 32 bits are read as such, and added up in 64 bits.
        let read = match DType::of::<S>() {
            DType::I32 if size_of::<T>() == 8 => "vec2(words.x, select(0u, 0xffffffffu, words.x >= 0x80000000u))",
            _ => "of_words(words)",
        };
        Self::new::<S, T>(arithmetic.text() + &operation, of_words, read)
    }

    /// An operation that a program wrote.
    pub(super) fn of_text<T: Element>(combine: &Combine) -> Self {
        let dtype = DType::of::<T>();
        let text = with_functions(&format!("alias T = {};\n{}", value_type(dtype), combine.text()));
        Self::new::<T, T>(text, of_words(dtype), "of_words(words)")
    }

    fn new<S: Element, T: Element>(text: String, [words, number]: [&str; 2], read: &str) -> Self {
        let [n_read, n_words] = [size_of::<S>(), size_of::<T>()].map(|size| if size == 8 { 2 } else { 1 });
        let text = format!(
            "{text}const WORDS = {n_words}u;\nfn words_of(number: T) -> vec2<u32> {{\n    return {words};\n}}\n\
             fn of_words(words: vec2<u32>) -> T {{\n    return {number};\n}}\n\
             fn number_of(words: vec2<u32>) -> T {{\n    return {read};\n}}\n"
        );
        Self { text, n_read, n_words }
    }

    /// The text of the kernel for tiles of rows of `n` numbers.
    pub(super) fn kernel_text(&self, tile: ScanTile, n: usize) -> String {
        let publishes = "fn publishes(tile: u32) -> bool {\n    return true;\n}\n";
        let buffers = if self.n_read == 1 && n.is_multiple_of(4) {
            functions::SCAN_QUADS.to_owned()
        } else {
            let [read, pair] = if self.n_read == 1 { ["u32", "vec2(words, 0u)"] } else { ["vec2<u32>", "words"] };
            let [written, own] = if self.n_words == 1 { ["u32", "words.x"] } else { ["vec2<u32>", "words"] };
            format!(
                "alias Read = {read};\nalias Written = {written};\n\
                 fn read_words(words: Read) -> vec2<u32> {{\n    return {pair};\n}}\n\
                 fn written_words(number: T) -> Written {{\n    let words = words_of(number);\n    return {own};\n}}\n{}",
                functions::SCAN_NUMBERS
            )
        };
        [&tile.text(), &self.text, publishes, functions::TEAM_SCAN, &buffers, &tile.kernel()].concat()
    }
}

/// How a number of this type becomes two words, and the reverse, as WGSL.
fn of_words(dtype: DType) -> [&'static str; 2] {
    match dtype {
        DType::I32 => ["vec2(bitcast<u32>(number), 0u)", "bitcast<i32>(words.x)"],
        DType::F32 => ["vec2(bitcast<u32>(number), 0u)", "bitcast<f32>(words.x)"],
        DType::I64 => [LONG_WORDS, "bitcast<i64>(u64(words.x) | (u64(words.y) << 32u))"],
        DType::U64 => [LONG_WORDS, "u64(words.x) | (u64(words.y) << 32u)"],
        DType::F64 => [LONG_WORDS, "bitcast<f64>(u64(words.x) | (u64(words.y) << 32u))"],
        _ => ["vec2(number, 0u)", "words.x"],
    }
}

/// A number of 64 bits as two words.
const LONG_WORDS: &str = "vec2(u32(bitcast<u64>(number) & 0xfffffffflu), u32(bitcast<u64>(number) >> 32u))";
