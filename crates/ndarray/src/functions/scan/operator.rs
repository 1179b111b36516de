//! [`Operator`]: the text of an operation and of the types that it combines.

use vkarray_kernel::{DType, Element};
use vkarray_shaders::functions;

use super::tile::ScanTile;
use crate::functions::operand::{Arithmetic, Widen};
use crate::generate::{Combine, value_type, with_functions};

/// What a scan reads and combines.
pub(super) struct Operator {
    /// The definitions of `T`, WORDS, `words_of` and `of_words`; also of `op`, `identity`, `flags_at` and `number_of`, or of
    /// what `scan_segments.wgsl` needs.
    pub(super) text: String,
    /// Words of a number that is read, of one that is combined, and of a result.
    n_read: u32,
    pub(super) n_words: u32,
    n_written: u32,
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
            DType::I64 | DType::U64 => ["number", "words.xy"],
            dtype => of_words(dtype),
        };
        // Integers of 32 bits are read as such, and added up in 64 bits.
        let read = match DType::of::<S>() {
            DType::I32 if size_of::<T>() == 8 => "vec2(words.x, select(0u, 0xffffffffu, words.x >= 0x80000000u))",
            _ => READ,
        };
        Self::new::<S, T>(arithmetic.text() + &operation, of_words, read)
    }

    /// An operation that a program wrote.
    pub(super) fn of_text<T: Element>(combine: &Combine) -> Self {
        let dtype = DType::of::<T>();
        let text = with_functions(&format!("alias T = {};\n{}", value_type(dtype), combine.text()));
        Self::new::<T, T>(text, of_words(dtype), READ)
    }

    /// An operation that a program wrote, within segments. Numbers are combined with a flag behind their words.
    pub(super) fn of_segments<T: Element>(combine: &Combine) -> Self {
        let (dtype, n_words) = (DType::of::<T>(), if size_of::<T>() == 8 { 2 } else { 1 });
        let [ty, spread, gathered, flagged, flag] = match n_words {
            1 => ["vec2<u32>", "vec3(number, 0u)", "words.xy", "words.x, flag", "number.y"],
            _ => ["vec3<u32>", "number", "words", "words, flag", "number.z"],
        };
        let (value, [words, number]) = (value_type(dtype), of_words(dtype));
        let text = with_functions(&format!(
            "alias T = {ty};\n{}const WORDS = {}u;\n\
             fn words_of_value(number: {value}) -> vec2<u32> {{\n    return {words};\n}}\n\
             fn value_of(words: vec2<u32>) -> {value} {{\n    return {number};\n}}\n\
             fn flagged(words: vec2<u32>, flag: u32) -> T {{\n    return T({flagged});\n}}\n\
             fn flag_of(number: T) -> u32 {{\n    return {flag};\n}}\n\
             fn words_of(number: T) -> vec3<u32> {{\n    return {spread};\n}}\n\
             fn of_words(words: vec3<u32>) -> T {{\n    return {gathered};\n}}\n",
            combine.text_named("combine", "identity_value"),
            n_words + 1
        ));
        Self { text, n_read: n_words, n_words: n_words + 1, n_written: n_words }
    }

    fn new<S: Element, T: Element>(text: String, [words, number]: [&str; 2], read: &str) -> Self {
        let [n_read, n_words] = [size_of::<S>(), size_of::<T>()].map(|size| if size == 8 { 2 } else { 1 });
        let text = format!(
            "{text}const WORDS = {n_words}u;\nfn words_of(number: T) -> vec3<u32> {{\n    return vec3({words}, 0u);\n}}\n\
             fn of_words(words: vec3<u32>) -> T {{\n    return {number};\n}}\n\
             fn flags_at(four: u32) -> u32 {{\n    return 0u;\n}}\n\
             fn number_of(words: vec2<u32>, flags: u32) -> T {{\n    return {read};\n}}\n"
        );
        Self { text, n_read, n_words, n_written: n_words }
    }

    /// Whether numbers are combined within segments.
    fn has_segments(&self) -> bool {
        self.n_words > self.n_written
    }

    /// The text of the kernel for tiles of rows of `n` numbers.
    pub(super) fn kernel_text(&self, tile: ScanTile, n: usize) -> String {
        let publishes = "fn publishes(tile: u32) -> bool {\n    return true;\n}\n";
        let scans = [functions::TEAM_WORDS, functions::SCAN_WORDS, functions::TEAM_SCAN].concat();
        [&tile.text(), &self.text, publishes, &scans, &self.buffers(n), tile.kernel()].concat()
    }

    /// The part of the text that reads and writes rows of `n` numbers.
    fn buffers(&self, n: usize) -> String {
        let segments = if self.has_segments() { functions::SCAN_SEGMENTS } else { "" };
        if self.n_read == 1 && n.is_multiple_of(4) {
            return format!("const WRITTEN = {}u;\n{segments}{}", self.n_written, functions::SCAN_QUADS);
        }
        let [read, pair] = if self.n_read == 1 { ["u32", "vec2(words, 0u)"] } else { ["vec2<u32>", "words"] };
        let [written, own] = if self.n_written == 1 { ["u32", "words.x"] } else { ["vec2<u32>", "words.xy"] };
        format!(
            "alias Read = {read};\nalias Written = {written};\n\
             fn read_words(words: Read) -> vec2<u32> {{\n    return {pair};\n}}\n\
             fn written_words(number: T) -> Written {{\n    let words = words_of(number);\n    return {own};\n}}\n\
             {segments}{}",
            functions::SCAN_NUMBERS
        )
    }
}

/// The number of the two words that are read, as WGSL.
const READ: &str = "of_words(vec3(words, 0u))";

/// How a number of this type becomes two words, and the reverse of two words or more, as WGSL.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::machine;

    fn parts(operator: &Operator, n: usize) -> Vec<&'static str> {
        let text = operator.kernel_text(ScanTile::new(&machine("h100_580.159"), operator.n_words, n), n);
        let all = [
            ("quads", functions::SCAN_QUADS),
            ("segments", functions::SCAN_SEGMENTS),
            ("numbers", functions::SCAN_NUMBERS),
        ];
        all.into_iter().filter(|(_, part)| text.contains(part)).map(|(name, _)| name).collect()
    }

    #[test]
    fn kernels_have_the_parts_for_their_rows_and_segments() {
        let combine = |dtype| Combine::new("a + b", "0", dtype).unwrap();
        let (short, long) = (combine(DType::F32), combine(DType::U64));
        let cases = [
            (Operator::of_numbers::<f32, f32>(false), 1024, vec!["quads"]),
            (Operator::of_numbers::<u32, u64>(false), 1023, vec!["numbers"]),
            (Operator::of_text::<u64>(&long), 1024, vec!["numbers"]),
            (Operator::of_segments::<f32>(&short), 1024, vec!["quads", "segments"]),
            (Operator::of_segments::<f32>(&short), 1023, vec!["segments", "numbers"]),
            (Operator::of_segments::<u64>(&long), 1023, vec!["segments", "numbers"]),
        ];
        for (operator, n, expected) in cases {
            assert_eq!(parts(&operator, n), expected, "{} words, {n}", operator.n_words);
        }
    }
}
