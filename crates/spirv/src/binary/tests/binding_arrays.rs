//! Arrays of bindings in SPIR-V: they get a length, bounds and the mark of indices that differ, and stay valid.

use super::*;
use crate::translate::module::tests::spirv::spirv_val;

fn translated(counts: [u32; 4], options: Options) -> crate::Translated {
    let module = Module::parse(&Source::spirv(compiled("binding_array"))).unwrap();
    module.translate(None, &BTreeMap::new(), &Options { binding_counts: counts, ..options }).unwrap()
}

fn capabilities(words: &[u32]) -> Vec<u32> {
    crate::spirv::capabilities::declared(words)
}

#[test]
fn an_array_without_a_length_gets_that_of_the_call() {
    for (given, count) in [(0, 1), (1, 1), (7, 7)] {
        for options in [Options::default(), UNCHECKED, Options { robust_buffers: true, ..Options::default() }] {
            let kernel = translated([given, 0, 0, 0], options);
            assert_eq!(spirv_val(&kernel.spirv), None);
            assert!(!capabilities(&kernel.spirv).contains(&(spirv::Capability::RuntimeDescriptorArray as u32)));
            let [b, outs] = kernel.signature.params.as_slice() else { panic!("{}", kernel.signature) };
            assert_eq!(
                (b.name.as_str(), b.bindings, b.bindings.count()),
                ("b", crate::Bindings::Counted(count), count)
            );
            assert_eq!((b.type_text().as_str(), b.reads, b.writes), ("binding_array<B>", true, false));
            assert_eq!((outs.group, outs.binding, outs.bindings), (3, 5, crate::Bindings::One));
        }
    }
}

#[test]
fn a_computed_index_is_bounded_and_marked_where_the_device_has_the_feature() {
    let text = "#version 450
        layout(local_size_x = 1) in;
        layout(binding = 0) buffer X { uint x[]; };
        layout(binding = 1) buffer B { uint y[]; } b[3];
        void main() { b[x[0]].y[x[1]] = b[2].y.length() + b[7 % x[2]].y.length(); }";
    let module = Module::parse(&Source::glsl(text)).unwrap();
    for marked in [false, true] {
        for robust_buffers in [false, true] {
            let options = Options { robust_buffers, non_uniform_bindings: [marked; 2], ..Options::default() };
            let kernel = module.translate(None, &BTreeMap::new(), &options).unwrap();
            assert_eq!(spirv_val(&kernel.spirv), None);
            let number = spirv::Capability::StorageBufferArrayNonUniformIndexing as u32;
            assert_eq!(capabilities(&kernel.spirv).contains(&number), marked);
            assert!(kernel.signature.capabilities.contains(&Capability::StorageArrays));
            // A comparison and a choice for each of the two computed indices, and for that of the element.
            let selects = crate::spirv::words::instructions(&kernel.spirv)
                .filter(|words| crate::spirv::words::op(words) == Some(spirv::Op::Select));
            assert_eq!(selects.count(), if robust_buffers { 2 } else { 6 });
        }
    }
}
