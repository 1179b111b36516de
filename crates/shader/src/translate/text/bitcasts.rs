//! Finds bit casts that naga reads as others than they are: [`misread`].
//!
//! naga 30 keeps the width of what is cast: `bitcast<vec2<f16>>` of a `u32` becomes an `f32`, and `bitcast<vec4<f16>>` of a
//! `vec2<u32>` a `vec2<f32>`. Most uses of the result are then refused with types that the text does not have, and a sum of
//! two such casts is computed as a sum of two `f32`. So the cast itself is refused. With `enable wgpu_int16;` it is left
//! to naga: of vectors of 16-bit integers it is right. Called by `translate/text.rs`.

use crate::chains::tokens;

/// The first cast to a vector of `f16`: where it stands, and what is to be said about it.
pub(super) fn misread(text: &str) -> Option<(usize, String)> {
    let words: Vec<_> = tokens(text).collect();
    let word = |i: usize| words.get(i).map_or("", |range| &text[range.clone()]);
    let aliased = |name: &str| {
        let is_it = |i: &usize| word(*i) == "alias" && word(i + 1) == name && word(i + 2) == "=";
        (0..words.len()).find(is_it).map(|i| i + 3)
    };
    if (0..words.len()).any(|i| word(i) == "enable" && word(i + 1) == "wgpu_int16") {
        return None;
    }
    let lanes_of = |i: usize| match (word(i), word(i + 1), word(i + 2)) {
        ("vec2h", ..) | ("vec2", "<", "f16") => Some(2),
        ("vec4h", ..) | ("vec4", "<", "f16") => Some(4),
        _ => None,
    };
    let is_cast = |i: &usize| word(*i) == "bitcast" && word(i + 1) == "<";
    (0..words.len()).filter(is_cast).find_map(|i| {
        let lanes = lanes_of(i + 2).or_else(|| lanes_of(aliased(word(i + 2))?))?;
        let instead = if lanes == 2 {
            "vec2<f16>(unpack2x16float(a))`, with `a` of type `u32"
        } else {
            "vec4<f16>(vec4(unpack2x16float(a.x), unpack2x16float(a.y)))`, with `a` of type `vec2<u32>"
        };
        let sentence = format!("`bitcast<vec{lanes}<f16>>(a)` is not translated: write `{instead}`");
        Some((words[i].start, sentence))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_casts_to_vectors_of_halves_are_found() {
        // Text, and where the cast is found.
        let cases = [
            ("let v = bitcast<vec2<f16>>(u);", Some(8)),
            ("let v = bitcast < vec4h > (u);", Some(8)),
            ("alias half2 = vec2<f16>; let v = bitcast<half2>(u);", Some(33)),
            ("bitcast /* < */ <vec2< // >\nf16>>(u)", Some(0)),
            ("// bitcast<vec2<f16>>(u)\n/* bitcast<vec2h>(u) */", None),
            ("bitcast<vec2<f32>>(u) + bitcast<f16>(h) + vec2<f16>(x)", None),
            ("enable f16, wgpu_int16;", None),
            ("enable wgpu_int16; bitcast<vec2<f16>>(v)", None),
            ("alias a = a; bitcast<a>(u); bitcast<", None),
        ];
        for (text, expected) in cases {
            assert_eq!(misread(text).map(|(at, _)| at), expected, "{text}");
        }
    }
}
