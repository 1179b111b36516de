//! Arrays of bindings in SPIR-V: they get a length, and stay valid.

use super::*;

#[test]
fn an_array_without_a_length_gets_that_of_the_call() {
    for (given, count) in [(0, 1), (1, 1), (7, 7)] {
        for options in [CHECKED, UNCHECKED, ROBUST] {
            let options = EntryOptions { counts: [given, 0, 0, 0], ..options };
            let kernel = chosen(&compiled("binding_array"), None, &[], options).unwrap();
            assert_eq!(spirv_val(&kernel.spirv), None);
            assert!(!declared(&kernel.spirv).contains(&(spirv::Capability::RuntimeDescriptorArray as u32)));
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
