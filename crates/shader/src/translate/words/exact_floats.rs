//! Makes each operation on floats round by itself.
//!
//! Without the decoration `NoContraction` a driver may fuse a multiplication with an addition, and some turn `(a + b) - a` into
//! `b`. naga cannot write it. Pure: words in, words out. Called by `translate/emit.rs`, and by
//! `translate/module.rs` for GLSL.

use spirv::{Decoration, Op};
use vkarray_spirv::internal::{instructions, op, with_annotations};

/// Decorates the results of arithmetic.
pub(crate) fn with_exact_floats(words: &[u32]) -> Vec<u32> {
    let is_exact = |instruction: &&[u32]| {
        use Op as O;
        let arithmetic =
            [O::FAdd, O::FSub, O::FMul, O::FDiv, O::FRem, O::FMod, O::FNegate, O::VectorTimesScalar, O::Dot];
        op(instruction).is_some_and(|op| arithmetic.contains(&op))
    };
    let results = instructions(words).filter(is_exact).filter_map(|instruction| instruction.get(2).copied());
    let decorate = |id| [3 << 16 | Op::Decorate as u32, id, Decoration::NoContraction as u32];
    with_annotations(words, &results.flat_map(decorate).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Module, Options, Source};

    #[test]
    fn each_operation_is_decorated_before_the_types() {
        let text = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
            @compute @workgroup_size(1) fn main() { x[0] = ((x[1] + x[2]) - x[1]) * x[3] / x[4]; }";
        let module = Module::parse(&Source::wgsl(text)).unwrap();
        let plain = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap().spirv;
        let options = Options { exact_floats: true, ..Options::default() };
        let exact = module.translate(None, &BTreeMap::new(), &options).unwrap().spirv;
        let decorated = |words: &[u32]| {
            let found =
                instructions(words).filter(|i| op(i) == Some(Op::Decorate) && i[2] == Decoration::NoContraction as u32);
            found.map(|i| i[1]).collect::<Vec<_>>()
        };
        let results = instructions(&plain).filter(|i| (Op::FAdd as u32..=Op::FDiv as u32).contains(&(i[0] & 0xffff)));
        assert_eq!(decorated(&exact), results.map(|i| i[2]).collect::<Vec<_>>());
        assert_eq!((decorated(&exact).len(), decorated(&plain).len()), (4, 0));
        let last = instructions(&exact).position(|i| i.get(2) == Some(&(Decoration::NoContraction as u32))).unwrap();
        let first_type = instructions(&exact).position(|i| op(i).is_some_and(Op::is_type)).unwrap();
        assert!(last < first_type);
    }
}
