//! Memory that is reached by its address: which push constants lead where, and how what is there is used.

use vkarray_spirv::Access;

use super::*;

/// The name of an address, whether it is read and written, and what it is a multiple of.
type AddressUse = (String, bool, bool, u32);

/// A kernel with three addresses, and the statements of its entry point.
fn uses_of(statements: &str) -> (Vec<AddressUse>, Option<Access>) {
    let text = format!(
        "#version 450
        #extension GL_EXT_buffer_reference : require
        #extension GL_EXT_buffer_reference_uvec2 : require
        layout(local_size_x = 1) in;
        layout(buffer_reference) buffer Node;
        layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {{ uint v[]; }};
        layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node {{ Node next; uvec2 value; }};
        struct Pair {{ Words first; Words second; }};
        layout(push_constant) uniform Push {{ uint n; Words a; Words b; Node c; uvec2 number; }};
        layout(set = 0, binding = 0) buffer Table {{ Words t[2]; uint sum; }};
        void set(Words w, uint value) {{ w.v[0] = value; }}
        uint get(Words w) {{ return w.v[1]; }}
        void swap(inout Words one, inout Words two) {{ Words w = one; one = two; two = w; }}
        void main() {{ {statements} }}"
    );
    let module = Module::parse(&Source::glsl(text)).unwrap();
    let options = Options { assume_addresses: true, ..Options::default() };
    let signature = module.translate(None, &BTreeMap::new(), &options).unwrap().signature;
    let of_push = signature.params.iter().filter(|param| param.kind == ParamKind::Address);
    let uses = of_push.map(|param| (param.name.clone(), param.reads, param.writes, param.alignment));
    (uses.collect(), signature.reached)
}

#[test]
fn uses_are_followed_to_the_push_constant() {
    const NO: (bool, bool) = (false, false);
    let (read, written, both) = ((true, false), (false, true), (true, true));
    let cases = [
        ("sum = n;", [NO, NO, NO], None),
        ("sum = a.v[n];", [read, NO, NO], None),
        ("b.v[n] = a.v[3];", [read, written, NO], None),
        ("atomicAdd(b.v[n], 1);", [NO, both, NO], None),
        ("set(b, get(a));", [read, written, NO], None),
        ("Words w = a; w = b; w.v[0] = n;", [written, written, NO], None),
        (
            "Words one = a, two = b; for (uint i = 0; i < n; i++) swap(one, two); one.v[0] = n;",
            [written, written, NO],
            None,
        ),
        ("sum = c.value.x;", [NO, NO, read], None),
        // An address in memory leads anywhere, and so does a number.
        ("sum = c.next.value.x;", [read; 3], Some(Access::Read)),
        ("for (Node i = c; uvec2(i) != uvec2(0); i = i.next) i.value.x = n;", [both; 3], Some(Access::ReadWrite)),
        ("t[1].v[0] = a.v[0];", [both, written, written], Some(Access::Write)),
        ("Words(number).v[0] = 1;", [written; 3], Some(Access::Write)),
        ("Words(uvec2(a)).v[0] = 1;", [written; 3], Some(Access::Write)),
        ("Pair p = Pair(a, b); p.first.v[0] = 1;", [written; 3], Some(Access::Write)),
        ("t[0] = a;", [NO, NO, NO], None),
    ];
    for (statements, expected, reached) in cases {
        let (uses, found) = uses_of(statements);
        let names: Vec<_> = uses.iter().map(|(name, ..)| name.as_str()).collect();
        let uses: Vec<_> = uses.iter().map(|&(_, reads, writes, _)| (reads, writes)).collect();
        assert_eq!((names, uses, found), (vec!["a", "b", "c"], expected.to_vec(), reached), "{statements}");
    }
    let (uses, _) = uses_of("b.v[n] = c.value.x; uvec2 w = c.value; Node d = c; d.next = c;");
    assert_eq!(uses.iter().map(|(.., alignment)| *alignment).collect::<Vec<_>>(), [1, 4, 16]);
}
