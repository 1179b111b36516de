//! SPIR-V of other compilers, and what naga and glslang made, read back: what a [`Module`] does with it. What is read in it
//! is tested in `vkarray-spirv`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ::spirv::{Capability as SpirvCapability, Op};
use vkarray_spirv::internal::{declared, instructions, op, without_sources};

use super::spirv::spirv_val;
use super::*;
use crate::{Capability, FloatAtomic, FloatAtomicOp};

/// A shader of `tests/shaders`, as glslang compiled it.
pub(super) fn compiled(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/shaders/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn unchecked_modules_stay_as_they_are() {
    for name in [
        "saxpy",
        "saxpy_vulkan10",
        "layouts",
        "reverse",
        "reverse_vulkan13",
        "small_numbers",
        "wide_numbers",
        "subgroup_sum",
        "particles",
    ] {
        let bytes = compiled(name);
        // SAFETY: no driver is given it.
        let unchecked = unsafe { Source::spirv_unchecked(bytes.clone()) };
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let cases = [
            (unchecked, Options::default(), words.clone()),
            (
                Source::spirv(bytes.clone()),
                Options { bounds: Bounds::Unchecked, ..Options::default() },
                without_sources(&words),
            ), // It is still validated.
        ];
        for (source, options, expected) in cases {
            let translated = Module::parse(&source).unwrap().translate(None, &BTreeMap::new(), &options).unwrap();
            assert!(translated.spirv == expected, "{name}");
            assert_eq!(translated.buffer_bounds, BufferBounds::Driver, "{name}");
        }
    }
}

#[test]
fn what_a_translator_does_is_not_done_to_spirv() {
    let module = Module::parse(&Source::spirv(compiled("saxpy"))).unwrap();
    for (options, what) in [
        (Options { assume_written: true, ..Options::default() }, "assuming that shared memory is written"),
        (Options { bounds: Bounds::Clamped, ..Options::default() }, "clamping indices"),
    ] {
        let message = format!("shader.spv: {what} is done while a shader is translated, and SPIR-V is taken as it is");
        assert_eq!(module.translate(None, &BTreeMap::new(), &options).unwrap_err().to_string(), message);
    }
}

#[test]
fn one_compute_entry_point_is_chosen() {
    let compute = |name: u8| [4 << 16 | Op::EntryPoint as u32, 5, 3, u32::from(name)];
    let vertex = [4 << 16 | Op::EntryPoint as u32, 0, 3, u32::from(b'a')];
    let none = "shader.spv: no compute entry point (`OpEntryPoint GLCompute`)";
    let several = "shader.spv: name the entry point to use, one of `a`, `b`";
    for (entries, message) in [(vec![], none), (vec![vertex], none), (vec![compute(b'a'), compute(b'b')], several)] {
        let mut words = vec![0x0723_0203, 0x0001_0300, 0, 5, 0];
        words.extend([2 << 16 | Op::Capability as u32, 1, 3 << 16 | Op::MemoryModel as u32, 0, 1]);
        words.extend(entries.concat());
        words.extend([2 << 16 | Op::TypeVoid as u32, 1, 3 << 16 | Op::TypeFunction as u32, 2, 1]);
        words.extend([5 << 16 | Op::Function as u32, 1, 3, 0, 2, 2 << 16 | Op::Label as u32, 4]);
        words.extend([1 << 16 | Op::Return as u32, 1 << 16 | Op::FunctionEnd as u32]);
        let module = Module::parse(&Source::spirv_words(&words)).unwrap();
        let error = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn naga_and_we_read_the_same() {
    // What naga wrote, read back by us, against naga's reflection of the text. Names are in the debug information.
    let options = Options { debug_info: true, ..Options::default() };
    let samples = vkarray_shaders::SAMPLES.iter().map(|(name, text)| (*name, *text, BTreeMap::new()));
    for (name, text, constants) in samples {
        let by_naga = Module::parse(&Source::wgsl(text)).unwrap().translate(None, &constants, &options).unwrap();
        let source = Source::spirv_words(&by_naga.spirv).named(name);
        let by_us = Module::parse(&source).unwrap().translate(None, &BTreeMap::new(), &options).unwrap();
        let (ours, theirs) = (by_us.signature, by_naga.signature);
        assert_eq!((ours.workgroup_size, ours.shared_bytes), (theirs.workgroup_size, theirs.shared_bytes), "{name}");
        assert_eq!(ours.capabilities, theirs.capabilities, "{name}");
        // In SPIR-V an atomic number is a number; operations are atomic.
        let theirs_as_numbers = format!("{:?}", theirs.params).replace("Atomic(", "Scalar(");
        assert_eq!(format!("{:?}", ours.params), theirs_as_numbers, "{name}");
        let (ours, theirs) = (ours.push_constants, theirs.push_constants);
        assert_eq!(ours.as_ref().map(|push| &push.members), theirs.as_ref().map(|push| &push.members), "{name}");
        // Unlike WGSL, SPIR-V does not say how much padding is behind the last member.
        let bytes = [ours, theirs].map(|push| push.map(|push| push.bytes));
        assert!(
            bytes[0] <= bytes[1] && bytes[1] <= bytes[0].map(|bytes| bytes.next_multiple_of(16)),
            "{name}: {bytes:?}"
        );
    }
}

#[test]
fn the_memory_and_the_operation_decide() {
    let float = |op, is_shared| Capability::FloatAtomic(FloatAtomic { bits: 32, op, is_shared });
    let int = [Capability::Int64, Capability::Int64Atomics];
    let wide = "@group(0) @binding(0) var<storage, read_write> b: array<atomic<u64>>; var<immediate> n: u64;";
    let shared = "var<workgroup> s: array<atomic<u64>, 4>; var<immediate> n: u64;";
    let narrow = "var<workgroup> t: atomic<u32>; var<immediate> n: u64;";
    let floats = "@group(0) @binding(0) var<storage, read_write> f: array<atomic<f32>>;";
    // Declarations, the statement, and what it needs.
    let cases = [
        (wide, "atomicMax(&b[0], n);", int.to_vec()),
        (shared, "atomicMax(&s[1], n);", [&int[..], &[Capability::Int64SharedAtomics]].concat()),
        (narrow, "atomicMax(&t, u32(n));", vec![Capability::Int64]),
        (floats, "atomicAdd(&f[3], 1.0);", vec![float(FloatAtomicOp::Add, false)]),
        (floats, "atomicSub(&f[1], 1.0);", vec![float(FloatAtomicOp::Add, false)]),
        (floats, "atomicExchange(&f[0], 1.0);", vec![float(FloatAtomicOp::Exchange, false)]),
    ];
    // naga has no floats in shared memory that are changed atomically.
    let module = Module::parse(&Source::spirv(compiled("float_atomics"))).unwrap();
    let signature = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap().signature;
    let both = [float(FloatAtomicOp::Add, false), float(FloatAtomicOp::Add, true)];
    assert_eq!(signature.capabilities, both);
    for (variables, statement, expected) in cases {
        let text = format!("{variables} @compute @workgroup_size(1) fn main() {{ {statement} }}");
        let module = Module::parse(&Source::wgsl(text)).unwrap();
        let by_naga = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap();
        let module = Module::parse(&Source::spirv_words(&by_naga.spirv)).unwrap();
        let by_us = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap();
        assert_eq!(by_us.signature.capabilities, expected, "{statement}");
        // naga declares the capability of addition for each atomic float, needed or not.
        let added = (variables == floats).then(|| float(FloatAtomicOp::Add, false));
        let by_naga: BTreeSet<_> = by_naga.signature.capabilities.into_iter().collect();
        assert_eq!(by_naga, expected.into_iter().chain(added).collect::<BTreeSet<_>>(), "{statement}");
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
            let number = SpirvCapability::StorageBufferArrayNonUniformIndexing as u32;
            assert_eq!(declared(&kernel.spirv).contains(&number), marked);
            assert!(kernel.signature.capabilities.contains(&Capability::StorageArrays));
            // A comparison and a choice for each of the two computed indices, and for that of the element.
            let selects = instructions(&kernel.spirv).filter(|words| op(words) == Some(Op::Select));
            assert_eq!(selects.count(), if robust_buffers { 2 } else { 6 });
        }
    }
}
