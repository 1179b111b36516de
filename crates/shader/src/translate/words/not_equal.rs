//! Makes `a != b` of floats true where one is NaN, as in Rust and NumPy, so that `x != x` finds NaN.
//!
//! naga 30 writes the ordered comparison, which is false there. Pure: words in, words out. Called by `translate/emit.rs` only.

use spirv::Op;
use vkarray_spirv::internal::{HEADER_WORDS, instructions, op};

/// Replaces each ordered comparison by the unordered one, which has the same operands.
pub(crate) fn with_nan_unequal(mut words: Vec<u32>) -> Vec<u32> {
    let mut at = HEADER_WORDS;
    let mut found = Vec::new();
    for instruction in instructions(&words) {
        if op(instruction) == Some(Op::FOrdNotEqual) {
            found.push(at);
        }
        at += instruction.len();
    }
    for at in found {
        words[at] = words[at] & 0xffff_0000 | Op::FUnordNotEqual as u32;
    }
    words
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Module, Options, Source};

    #[test]
    fn comparisons_of_floats_are_unordered_and_others_stay() {
        let text = "@group(0) @binding(0) var<storage, read_write> x: array<vec4<f32>>;
            @compute @workgroup_size(1) fn main() {
                if any(x[0] != x[1]) { x[2].x = 1.0; }
                if x[3].y != x[3].z && x[0].x == x[1].x && u32(x[0].z) != 3u { x[4].y = 2.0; }
            }";
        let module = Module::parse(&Source::wgsl(text)).unwrap();
        let words = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap().spirv;
        let count = |wanted: Op| instructions(&words).filter(|instruction| op(instruction) == Some(wanted)).count();
        assert_eq!([Op::FOrdNotEqual, Op::FUnordNotEqual, Op::FOrdEqual].map(count), [0, 2, 1]);
    }
}
