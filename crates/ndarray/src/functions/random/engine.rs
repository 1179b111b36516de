//! [`Engine`]: the two generators, on the host as functions of a counter, and as a kernel that writes their stream.

use vkarray_kernel::Element;
use vkarray_shaders::functions;

use super::Convert;
use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::functions::operand::{kernel, run, to_u32, words};

/// A generator with its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// Philox 4x32-10.
    Narrow(u64),
    /// Philox 4x64-10. Its first counter is 1, as in NumPy.
    Wide([u64; 2]),
}

impl Engine {
    /// Words that a counter gives.
    fn lanes(self) -> u64 {
        if matches!(self, Self::Narrow(_)) { 4 } else { 8 }
    }

    /// Writes converted words to a packed array, from position `first` of the stream on.
    pub(super) fn write<T: Element>(self, out: &DeviceNDArray<T>, first: u64, convert: &Convert) -> Result<()> {
        let lanes = self.lanes();
        let n_words = out.size() * size_of::<T>() / 4;
        let (skip, counter) = (first % lanes, first / lanes);
        let (name, key, counter) = match self {
            Self::Narrow(key) => ("philox_4x32", [key, 0], counter),
            Self::Wide(key) => ("philox_4x64", key, counter.wrapping_add(1)),
        };
        let text = format!(
            "const LANES = {lanes}u;\nfn philox(counter: vec2<u32>) -> array<u32, LANES> {{\n    return {name}(counter);\n}}\n\
             fn convert(words: vec2<u32>) -> vec2<u32> {{\n    return {};\n}}\n",
            convert.text
        );
        let has_u64 = out.context().device().plan().features.shader_int64;
        let pairs = if has_u64 { functions::pairs_with_u64() } else { functions::PAIRS.to_owned() };
        let text = [&pairs, &convert.library, &text, functions::PHILOX];
        let offset = out.offset() * size_of::<T>();
        let is_whole = skip == 0 && n_words.is_multiple_of(4) && offset.is_multiple_of(16);
        let entry = if is_whole { "philox_quads" } else { "philox_words" };
        let kernel = kernel(out.context(), "philox.wgsl", &text, entry)?;
        let skipped = usize::try_from(skip).expect("less than a counter's words");
        let args = (
            words(out),
            bytemuck::cast::<[u64; 2], [u32; 4]>(key.map(u64::to_le)),
            pair(counter),
            pair(convert.low),
            pair(convert.length),
            to_u32(skipped)?,
            to_u32(n_words)?,
        );
        run(&kernel, out.stream(), (n_words + skipped).div_ceil(usize::try_from(lanes).expect("8 at most")), &args)
    }
}

/// A number as two words, the low one first.
#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn pair(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// The high and the low half of a product.
#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn halves(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    ((product >> 32) as u32, product as u32)
}

/// The high and the low half of a product.
#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn wide_halves(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    ((product >> 64) as u64, product as u64)
}

/// Philox 4x32-10: four random words, a function of a key and a counter. Random123's `philox4x32`.
///
/// ```
/// use vkarray::primitives::philox_4x32;
///
/// assert_eq!(philox_4x32([0, 0], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
#[must_use]
pub fn philox_4x32(mut key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let mut c = counter;
    for _ in 0..10 {
        let ((high0, low0), (high1, low1)) = (halves(0xd251_1f53, c[0]), halves(0xcd9e_8d57, c[2]));
        c = [high1 ^ c[1] ^ key[0], low1, high0 ^ c[3] ^ key[1], low0];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    c
}

/// Philox 4x64-10: four random numbers of 64 bits, a function of a key and a counter. Random123's `philox4x64`.
///
/// ```
/// use vkarray::primitives::philox_4x64;
///
/// assert_eq!(philox_4x64([0, 0], [0; 4])[0], 0x1655_4d9e_ca36_314c);
/// ```
#[must_use]
pub fn philox_4x64(mut key: [u64; 2], counter: [u64; 4]) -> [u64; 4] {
    let mut c = counter;
    for _ in 0..10 {
        let (high0, low0) = wide_halves(0xd2e7_470e_e14c_6c93, c[0]);
        let (high1, low1) = wide_halves(0xca5a_8263_9512_1157, c[2]);
        c = [high1 ^ c[1] ^ key[0], low1, high0 ^ c[3] ^ key[1], low0];
        key = [key[0].wrapping_add(0x9e37_79b9_7f4a_7c15), key[1].wrapping_add(0xbb67_ae85_84ca_a73b)];
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_generators_give_the_known_answers_of_random123() {
        // A counter, a key and a result, from `kat_vectors` of Random123.
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344, 0xa409_3822, 0x299f_31d0];
        let narrow = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            ([pi[0], pi[1], pi[2], pi[3]], [pi[4], pi[5]], [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]),
        ];
        for (counter, key, expected) in narrow {
            assert_eq!(philox_4x32(key, counter), expected);
        }
        let pi = [
            0x243f_6a88_85a3_08d3,
            0x1319_8a2e_0370_7344,
            0xa409_3822_299f_31d0,
            0x082e_fa98_ec4e_6c89,
            0x4528_21e6_38d0_1377,
            0xbe54_66cf_34e9_0c6c,
        ];
        let wide = [
            (
                [0; 4],
                [0; 2],
                [0x1655_4d9e_ca36_314c, 0xdb20_fe9d_672d_0fdc, 0xd7e7_72ce_e186_176b, 0x7e68_b68a_ec7b_a23b],
            ),
            (
                [u64::MAX; 4],
                [u64::MAX; 2],
                [0x87b0_92c3_013f_e90b, 0x438c_3c67_be8d_0224, 0x9cc7_d7c6_9cd7_77b6, 0xa09c_aebf_594f_0ba0],
            ),
            (
                [pi[0], pi[1], pi[2], pi[3]],
                [pi[4], pi[5]],
                [0xa528_f454_03e6_1d95, 0x38c7_2dbd_566e_9788, 0xa5a1_610e_72fd_18b5, 0x57bd_43b5_e52b_7fe6],
            ),
        ];
        for (counter, key, expected) in wide {
            assert_eq!(philox_4x64(key, counter), expected);
        }
    }
}
