//! One computation from several compilers: WGSL, naga's SPIR-V of it, and SPIR-V without names as a code generator
//! might write it, assembled with rspirv. Modules of glslang and spirv-opt are in `inference.rs` and `spirv.rs`.

use std::collections::BTreeMap;

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel,
    StorageClass,
};
use vkarray::kernel::signature::{Module, Options};
use vkarray::{Groups, Source};

use crate::fixture::{Fixture, contents};

const WGSL: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(32)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        x[id.x] = x[id.x] * x[id.x] + f32(id.x);
    }";

/// naga's SPIR-V of [`WGSL`].
fn by_naga() -> Vec<u32> {
    let module = Module::parse(&Source::wgsl(WGSL)).unwrap();
    module.translate(None, &BTreeMap::new(), &Options::default()).unwrap().spirv
}

/// rspirv's SPIR-V of the computation, without bounds, names or debug information.
fn by_rspirv() -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 3);
    b.capability(Capability::Shader);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, u32_type, f32_type) = (b.type_void(), b.type_int(32, 0), b.type_float(32, None));
    let uvec3 = b.type_vector(u32_type, 3);
    let array = b.type_runtime_array(f32_type);
    b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
    let block = b.type_struct([array]);
    b.decorate(block, Decoration::Block, []);
    b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
    let [to_block, to_element] = [block, f32_type].map(|ty| b.type_pointer(None, StorageClass::StorageBuffer, ty));
    let [to_id, to_axis] = [uvec3, u32_type].map(|ty| b.type_pointer(None, StorageClass::Input, ty));
    let data = b.variable(to_block, None, StorageClass::StorageBuffer, None);
    b.decorate(data, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
    b.decorate(data, Decoration::Binding, [Operand::LiteralBit32(0)]);
    let id = b.variable(to_id, None, StorageClass::Input, None);
    b.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::GlobalInvocationId)]);
    let zero = b.constant_bit32(u32_type, 0);
    let signature = b.type_function(void, []);

    let main = b.begin_function(void, None, FunctionControl::NONE, signature).unwrap();
    b.begin_block(None).unwrap();
    let axis = b.access_chain(to_axis, None, id, [zero]).unwrap();
    let i = b.load(u32_type, None, axis, None, []).unwrap();
    let element = b.access_chain(to_element, None, data, [zero, i]).unwrap();
    let value = b.load(f32_type, None, element, None, []).unwrap();
    let square = b.f_mul(f32_type, None, value, value).unwrap();
    let offset = b.convert_u_to_f(f32_type, None, i).unwrap();
    let sum = b.f_add(f32_type, None, square, offset).unwrap();
    b.store(element, sum, None, []).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::GLCompute, main, "main", [id]);
    b.execution_mode(main, ExecutionMode::LocalSize, [32, 1, 1]);
    b.module().assemble()
}

#[test]
fn the_output_of_each_compiler_computes_the_same() {
    let fixture = Fixture::open();
    let cases = [
        ("naga's WGSL", Source::wgsl(WGSL)),
        ("naga's SPIR-V", Source::spirv_words(&by_naga())),
        ("rspirv's SPIR-V", Source::spirv_words(&by_rspirv())),
    ];
    for (what, source) in cases {
        let kernel = fixture.kernel(source).build().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(kernel.signature().workgroup_size, [32, 1, 1], "{what}");
        // The size is a multiple of the workgroup's, so that no invocation lies outside the array.
        let values: Vec<f32> = (0..96_u8).map(|i| f32::from(i) * 0.5 - 7.0).collect();
        let x = fixture.slice_to_device(&values).unwrap();
        kernel.dispatch(fixture.default_stream(), Groups::exact([3, 1, 1]), (&x,)).unwrap();
        let expected: Vec<f32> = values.iter().zip(0..96_u8).map(|(x, i)| x * x + f32::from(i)).collect();
        assert_eq!(contents(&x), expected, "{what}");
    }
}

#[test]
fn parameters_without_names_are_named_by_their_position() {
    let module = Module::parse(&Source::spirv_words(&by_rspirv())).unwrap();
    let signature = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap().signature;
    let names: Vec<&str> = signature.params.iter().map(|param| param.name.as_str()).collect();
    assert_eq!(names, ["binding_0_0"]);
}
