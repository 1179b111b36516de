//! Which types are laid out: those of buffers, all of them, and no others. Read through `rspirv`, which is independent of
//! how they were written, and judged by Khronos's validator.

use std::collections::{HashMap, HashSet};

use proptest::prelude::{Strategy, any, prop};
use rspirv::dr::{self, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass};

use super::spirv::spirv_val;
use super::*;
use crate::translate::words::plain_types::with_plain_types;

/// A module's types and layouts.
struct Layouts {
    types: HashMap<u32, dr::Instruction>,
    /// The layout of types and of their members.
    decorated: Vec<(u32, Option<u32>, Decoration)>,
}

impl Layouts {
    fn of(module: &dr::Module) -> Self {
        let mut decorated = Vec::new();
        for instruction in &module.annotations {
            match (instruction.class.opcode, instruction.operands.as_slice()) {
                (Op::Decorate, &[Operand::IdRef(id), Operand::Decoration(decoration), ..]) => {
                    decorated.push((id, None, decoration));
                }
                (
                    Op::MemberDecorate,
                    &[Operand::IdRef(id), Operand::LiteralBit32(member), Operand::Decoration(d), ..],
                ) => {
                    decorated.push((id, Some(member), d));
                }
                _ => {}
            }
        }
        let types = module.types_global_values.iter().filter_map(|ty| Some((ty.result_id?, ty.clone()))).collect();
        Self { types, decorated }
    }

    fn has(&self, id: u32, member: Option<u32>, decoration: Decoration) -> bool {
        self.decorated.contains(&(id, member, decoration))
    }

    fn parts(&self, id: u32) -> Vec<u32> {
        self.types[&id].operands.iter().filter_map(Operand::id_ref_any).collect()
    }

    /// For each array and struct member in the type, itself included: whether it is laid out.
    fn list(&self, id: u32, found: &mut Vec<bool>) {
        match self.types[&id].class.opcode {
            Op::TypeArray | Op::TypeRuntimeArray => {
                found.push(self.has(id, None, Decoration::ArrayStride));
                self.list(self.parts(id)[0], found);
            }
            Op::TypeStruct => {
                for (member, part) in (0..).zip(self.parts(id)) {
                    found.push(self.has(id, Some(member), Decoration::Offset));
                    if self.holds_matrix(part) {
                        found.push(self.has(id, Some(member), Decoration::MatrixStride));
                        found.push(self.has(id, Some(member), Decoration::ColMajor));
                    }
                    self.list(part, found);
                }
            }
            _ => {}
        }
    }

    fn holds_matrix(&self, id: u32) -> bool {
        match self.types[&id].class.opcode {
            Op::TypeMatrix => true,
            Op::TypeArray | Op::TypeRuntimeArray => self.holds_matrix(self.parts(id)[0]),
            _ => false,
        }
    }
}

/// Whether a variable of this class has its layout from the module.
fn is_laid_out(class: StorageClass) -> Option<bool> {
    match class {
        StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::PushConstant => Some(true),
        StorageClass::Workgroup | StorageClass::Private | StorageClass::Function => Some(false),
        _ => None, // Built-in inputs.
    }
}

fn parse(spirv: &[u32]) -> dr::Module {
    let mut loader = dr::Loader::new();
    rspirv::binary::parse_words(spirv, &mut loader).unwrap_or_else(|error| panic!("{error}"));
    loader.module()
}

/// Fails if a buffer's type lacks a layout, or another variable's has one. Returns how many whole values cross over.
fn check(spirv: &[u32], shader: &str) -> usize {
    let module = parse(spirv);
    let layouts = Layouts::of(&module);
    let is_variable = |instruction: &&dr::Instruction| instruction.class.opcode == Op::Variable;
    for variable in module.all_inst_iter().filter(is_variable) {
        let pointer = &layouts.types[&variable.result_type.unwrap()];
        let (Operand::StorageClass(class), Operand::IdRef(pointee)) = (&pointer.operands[0], &pointer.operands[1])
        else {
            panic!("{shader}: {pointer:?}");
        };
        let Some(expected) = is_laid_out(*class) else { continue };
        let mut found = Vec::new();
        layouts.list(*pointee, &mut found);
        assert!(found.iter().all(|is| *is == expected), "{shader}: {class:?} variable of {:?}", layouts.types[pointee]);
    }
    assert_eq!(spirv_val(spirv), None, "{shader}");
    assert_eq!(with_plain_types(spirv), spirv, "{shader}: a second pass finds work");
    module.all_inst_iter().filter(|instruction| instruction.class.opcode == Op::CopyLogical).count()
}

const OPTIONS: [Options; 5] = {
    let default = Options {
        bounds: Bounds::Checked,
        assume_written: true,
        driver_zeroes: false,
        loops: Loops::Bounded,
        unchecked_division: false,
        assume_addresses: false,
        exact_floats: false,
        word_matrices: crate::WordMatrices::Words,
        integer_dot_product: false,
        max_uniform_bytes: None,
        robust_matrices: false,
        robust_buffers: false,
        debug_info: false,
        sanitize: None,
        subgroups: Subgroups { size: None, full: false },
        fold: None,
        binding_counts: [0; crate::internal::MAX_COUNTED],
        non_uniform_bindings: [false; 2],
    };
    [
        default,
        Options { bounds: Bounds::Unchecked, ..default },
        Options { assume_written: false, ..default },
        Options { assume_written: false, driver_zeroes: true, ..default },
        Options { debug_info: true, ..default },
    ]
};

/// Declarations, body of the entry point, copies of whole values between the two sides.
const CASES: &[(&str, &str, usize)] = &[
    ("var<workgroup> w: array<u32, 5>;", "w[i] = i; out[i] = w[i + 1];", 0),
    ("struct S { a: u32, b: array<vec3<f32>, 3> } var<workgroup> w: S;", "w.b[i] = vec3(1.0); out[i] = w.a;", 0),
    ("var<private> p: array<u32, 5>;", "p[i] = i; out[i] = p[2];", 0),
    ("", "var f: array<u32, 5>; f[i] = i; out[i] = f[2];", 0),
    ("", "var f = array(1u, 2u, i); out[i] = f[i];", 0),
    ("var<workgroup> w: array<array<array<u32, 2>, 3>, 4>;", "w[i][1][0] = i; out[i] = w[1][i][1];", 0),
    ("var<workgroup> w: array<mat2x3<f32>, 3>;", "w[i] = mat2x3<f32>(); out[i] = u32(w[1][0].x);", 0),
    (
        "struct S { m: mat4x4<f32>, n: array<mat3x2<f32>, 2> } var<workgroup> w: S;",
        "w.m[i].x = 1.0; w.n[i][0].y = 2.0;",
        0,
    ),
    // In a buffer and elsewhere, part by part.
    (
        "@group(0) @binding(1) var<storage> b: array<u32, 8>; var<workgroup> w: array<u32, 8>;",
        "w[i] = b[i]; out[i] = w[1];",
        0,
    ),
    (
        "struct S { a: u32, m: mat2x2<f32> } @group(0) @binding(1) var<storage> b: S; var<private> p: S;",
        "p.m = b.m; out[i] = u32(p.m[i].x);",
        0,
    ),
    // In a buffer and elsewhere, whole.
    (
        "struct S { a: u32, b: array<u32, 3> } @group(0) @binding(1) var<storage, read_write> b: array<S>; var<workgroup> w: array<S, 4>;",
        "w[i] = b[i]; workgroupBarrier(); b[i] = w[i ^ 1];",
        2,
    ),
    (
        "struct S { a: u32, b: vec4<f32> } @group(0) @binding(1) var<storage> b: array<S>;",
        "var f = b[i]; f.a += 1; out[i] = f.a;",
        1,
    ),
    (
        "struct S { a: u32, b: vec4<f32> } @group(0) @binding(1) var<uniform> b: S; var<private> p: S;",
        "p = b; out[i] = p.a;",
        1,
    ),
    (
        "struct S { a: u32, b: vec4<f32> } var<immediate> b: S; fn f(s: S) -> u32 { var t = s; t.a *= 2; return t.a; }",
        "out[i] = f(b);",
        1,
    ),
    // A type of shared memory alone, around one of a buffer too.
    (
        "struct S { a: u32 } struct T { s: array<S, 2>, n: u32 } @group(0) @binding(1) var<storage> b: array<S, 2>; var<workgroup> w: T;",
        "w.s = b; let t = w; out[i] = t.s[1].a + t.n;",
        2,
    ),
    // Through pointers that are passed on.
    (
        "struct S { a: array<u32, 2> } @group(0) @binding(1) var<storage> b: S; fn f(p: ptr<function, S>) -> u32 { *p = b; return (*p).a[1]; }",
        "var s: S; out[i] = f(&s) + s.a[0];",
        1,
    ),
    // Constants need no copy, as a start or later.
    (
        "@group(0) @binding(1) var<storage> b: array<u32, 3>; var<private> p: array<u32, 3> = array(1u, 2u, 3u);",
        "out[i] = p[i] + b[0];",
        0,
    ),
    (
        "struct S { a: array<u32, 2>, b: u32 } @group(0) @binding(1) var<storage> b: S;",
        "var s = S(array(1u, 2u), 3u); s.a[i] = b.b; s = S(); out[i] = s.a[0];",
        0,
    ),
    // A constant array at a computed index is a variable behind the scenes.
    ("@group(0) @binding(1) var<storage> b: array<u32, 3>;", "out[i] = array(1u, 2u, 3u)[i] + b[i];", 0),
];

#[test]
fn only_buffers_are_laid_out() {
    for (declarations, body, n_copies) in CASES {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
            {declarations}
            @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {{ {body} }}"
        );
        let module = Module::parse(&Source::wgsl(text.clone())).unwrap_or_else(|error| panic!("{error}"));
        for options in OPTIONS {
            let translated = module.translate(None, &BTreeMap::new(), &options).unwrap();
            assert_eq!(check(&translated.spirv, &text), *n_copies, "{text} with {options:?}");
        }
    }
}

#[test]
fn only_buffers_of_the_samples_are_laid_out() {
    let golden = [SAXPY, PARTICLES, HISTOGRAM, HALF].map(|text| (text, None, &[][..]));
    let constants: &[(&str, f64)] = &[("GAIN", 1.0), ("B", 1.0)];
    let others =
        [(CONVOLVE, None, &constants[..1]), (TWO, Some("one"), &constants[1..]), (TWO, Some("two"), &constants[1..])];
    let samples = vkarray_shaders::SAMPLES.iter().map(|&(_, text)| (text, None, &[][..]));
    for (text, entry, constants) in golden.into_iter().chain(others).chain(samples) {
        for options in OPTIONS {
            check(&translate_with(text, entry, constants, &options).unwrap().spirv, text);
        }
    }
}

#[test]
fn names_come_along() {
    let text = "
struct Item { weight: f32, tags: array<u32, 3> }
@group(0) @binding(0) var<storage, read_write> items: array<Item>;
var<workgroup> tile: array<Item, 4>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { tile[i] = items[i]; }";
    let translated = translate_with(text, None, &[], &Options { debug_info: true, ..OPTIONS[0] }).unwrap();
    let module = parse(&translated.spirv);
    // How many different things have the name.
    let n_named = |name: &str| {
        let named = |operand: &Operand| matches!(operand, Operand::LiteralString(text) if text == name);
        let names = module.debug_names.iter().filter(|instruction| instruction.operands.iter().any(named));
        names.filter_map(|instruction| instruction.operands[0].id_ref_any()).collect::<HashSet<_>>().len()
    };
    assert_eq!(["Item", "weight", "tags", "tile"].map(n_named), [2, 2, 2, 1]);
}

#[test]
fn any_words_are_survived() {
    let whole = CASES.iter().map(|(declarations, body, _)| {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>; {declarations}
            @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {{ {body} }}"
        );
        Module::parse(&Source::wgsl(text)).unwrap().translate(None, &BTreeMap::new(), &OPTIONS[3]).unwrap().spirv
    });
    let whole: Vec<_> = whole.collect();
    // Each module, with some words replaced by small numbers, which are ids and instructions, or by any, and cut short.
    let word = proptest::prop_oneof![0_u32..120, (0_u32..8, 0_u32..90).prop_map(|(n, op)| n << 16 | op), any::<u32>()];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), word), 0..6);
    let strategy = (prop::sample::select(whole), changes, any::<prop::sample::Index>(), any::<bool>());
    let config = proptest::test_runner::Config { cases: 2000, failure_persistence: None, ..Default::default() };
    proptest::test_runner::TestRunner::new(config)
        .run(&strategy, |(mut words, changes, end, is_cut)| {
            changes.into_iter().for_each(|(place, word)| *place.get_mut(&mut words) = word);
            words.truncate(if is_cut { end.index(words.len() + 1) } else { words.len() });
            assert!(with_plain_types(&words).len() >= words.len().min(5));
            Ok(())
        })
        .unwrap();
}
