//! Cooperative matrices: what a module multiplies, with sizes that are constants, and that it is taken where the device has
//! them. The assembler that is installed may be older than they are, so the module is built with `rspirv`.

use rspirv::binary::Assemble as _;
use rspirv::dr::{Builder, Operand};
use spirv::{
    AddressingModel, Capability as Spirv, CooperativeMatrixOperands, CooperativeMatrixUse, Decoration, ExecutionMode,
    ExecutionModel, FunctionControl, MemoryModel, StorageClass,
};

use super::*;
use crate::{Capability, MatrixRole, MatrixUse};

const GROUP: u32 = 3; // `Scope::Subgroup`.

/// A storage buffer of such elements, and the type of a pointer to one.
fn buffer(b: &mut Builder, element: u32, stride: u32, binding: u32) -> (u32, u32) {
    let storage = StorageClass::StorageBuffer;
    let array = b.type_runtime_array(element);
    b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(stride)]);
    let block = b.type_struct([array]);
    b.decorate(block, Decoration::Block, []);
    b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
    let pointer = b.type_pointer(None, storage, block);
    let variable = b.variable(pointer, None, storage, None);
    b.decorate(variable, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
    b.decorate(variable, Decoration::Binding, [Operand::LiteralBit32(binding)]);
    (variable, b.type_pointer(None, storage, element))
}

/// Loads A and B, signed bytes in buffers or workgroup memory, multiplies, adds a constant C, and stores. The size M is the
/// specialisation constant 0, 16 by default, N is 8, K 32.
fn product(is_in_buffer: bool, operands: CooperativeMatrixOperands) -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 6);
    for capability in [
        Spirv::Shader,
        Spirv::Int8,
        Spirv::StorageBuffer8BitAccess,
        Spirv::VulkanMemoryModel,
        Spirv::CooperativeMatrixKHR,
    ] {
        b.capability(capability);
    }
    b.extension("SPV_KHR_cooperative_matrix");
    b.memory_model(AddressingModel::Logical, MemoryModel::Vulkan);
    let (void, i8, i32, u32) = (b.type_void(), b.type_int(8, 1), b.type_int(32, 1), b.type_int(32, 0));
    let number = |b: &mut Builder, value| b.constant_bit32(u32, value);
    let m = b.spec_constant_bit32(u32, 16);
    b.decorate(m, Decoration::SpecId, [Operand::LiteralBit32(0)]);
    let [n, k, scope, zero] = [8, 32, GROUP, 0].map(|value| number(&mut b, value));
    let [use_a, use_b, use_c] = [
        CooperativeMatrixUse::MatrixAKHR,
        CooperativeMatrixUse::MatrixBKHR,
        CooperativeMatrixUse::MatrixAccumulatorKHR,
    ]
    .map(|role| number(&mut b, role as u32));
    let a_type = b.type_cooperative_matrix_khr(i8, scope, m, k, use_a);
    let b_type = b.type_cooperative_matrix_khr(i8, scope, k, n, use_b);
    let c_type = b.type_cooperative_matrix_khr(i32, scope, m, n, use_c);
    let null = b.constant_null(c_type);
    let (bytes, to_byte) = buffer(&mut b, i8, 1, 0);
    let (sums, to_sum) = buffer(&mut b, i32, 4, 1);
    let tile_type = b.type_array(i8, k);
    let (to_tile, to_shared) =
        (b.type_pointer(None, StorageClass::Workgroup, tile_type), b.type_pointer(None, StorageClass::Workgroup, i8));
    let tile = b.variable(to_tile, None, StorageClass::Workgroup, None);
    let fn_type = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, fn_type).unwrap();
    b.begin_block(None).unwrap();
    let from = if is_in_buffer {
        b.access_chain(to_byte, None, bytes, [zero, zero]).unwrap()
    } else {
        b.access_chain(to_shared, None, tile, [zero]).unwrap()
    };
    let left = b.cooperative_matrix_load_khr(a_type, None, from, zero, Some(k), None, []).unwrap();
    let right = b.cooperative_matrix_load_khr(b_type, None, from, zero, Some(n), None, []).unwrap();
    let sum = b.cooperative_matrix_mul_add_khr(c_type, None, left, right, null, Some(operands)).unwrap();
    let to = b.access_chain(to_sum, None, sums, [zero, zero]).unwrap();
    b.cooperative_matrix_store_khr(to, sum, zero, Some(n), None, []).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::GLCompute, main, "multiply", [bytes, sums, tile]);
    b.execution_mode(main, ExecutionMode::LocalSize, [32, 1, 1]);
    b.module().assemble()
}

fn signed() -> CooperativeMatrixOperands {
    use CooperativeMatrixOperands as O;
    O::MATRIX_A_SIGNED_COMPONENTS_KHR
        | O::MATRIX_B_SIGNED_COMPONENTS_KHR
        | O::MATRIX_C_SIGNED_COMPONENTS_KHR
        | O::MATRIX_RESULT_SIGNED_COMPONENTS_KHR
}

fn bounded_by(device: DeviceBounds) -> EntryOptions {
    EntryOptions { bounds: Some(device), ..UNCHECKED }
}

#[test]
fn products_and_operands_are_read_with_their_constants() {
    let saturating = signed() | CooperativeMatrixOperands::SATURATING_ACCUMULATION_KHR;
    let cases = [
        (&[][..], signed(), "16×8×32 i8 × i8 + i32 → i32"),
        (&[("0", 64.0)], signed(), "64×8×32 i8 × i8 + i32 → i32"),
        (&[], CooperativeMatrixOperands::NONE_KHR, "16×8×32 u8 × u8 + u32 → u32"),
        (&[], saturating, "16×8×32 i8 × i8 + i32 → i32, saturating"),
    ];
    for (constants, operands, expected) in cases {
        let signature =
            chosen(bytemuck::cast_slice(&product(true, operands)), None, constants, UNCHECKED).unwrap().signature;
        assert!(signature.capabilities.contains(&Capability::CooperativeMatrix));
        assert_eq!(signature.extensions, ["SPV_KHR_cooperative_matrix"]);
        let [left, right, whole] = signature.matrices.as_slice() else { panic!("{:?}", signature.matrices) };
        assert_eq!(whole.to_string(), expected);
        assert!(matches!(left, MatrixUse::Operand { role: MatrixRole::A, columns: 32, .. }), "{left}");
        assert!(matches!(right, MatrixUse::Operand { role: MatrixRole::B, rows: 32, columns: 8, .. }), "{right}");
        let accesses: Vec<_> = signature.params.iter().map(|param| (param.reads, param.writes)).collect();
        assert_eq!(accesses, [(true, false), (false, true)]);
    }
}

#[test]
fn matrices_are_bounded_where_the_device_does_it() {
    let of = |buffers, matrices| bounded_by(DeviceBounds { buffers, matrices, non_uniform: [false; 2] });
    // In a buffer or in workgroup memory, what the device bounds, whether it is taken.
    let cases = [
        (true, of(true, true), true),
        (true, of(true, false), false),
        (true, of(false, true), false),
        (false, of(true, true), false),
    ];
    for (is_in_buffer, options, expected) in cases {
        match chosen(bytemuck::cast_slice(&product(is_in_buffer, signed())), None, &[], options) {
            Ok(_) => assert!(expected, "{is_in_buffer}, {options:?}"),
            Err(Error::Unbounded { place, .. }) => {
                assert!(!expected, "{is_in_buffer}, {options:?}");
                assert!(place.ends_with("OpCooperativeMatrixLoadKHR"), "{place}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(chosen(bytemuck::cast_slice(&product(false, signed())), None, &[], UNCHECKED).is_ok());
}

#[test]
fn an_installed_validator_takes_them_or_is_said_to_be_too_old() {
    let options = bounded_by(DeviceBounds { buffers: true, matrices: true, non_uniform: [false; 2] });
    let words = chosen(bytemuck::cast_slice(&product(true, signed())), None, &[], options).unwrap().spirv;
    match Validator::of_environment(true).check(&words) {
        Ok(()) => {}
        Err(crate::Unvalidated::TooOld { reason, .. }) => {
            let number = Spirv::CooperativeMatrixKHR as u32;
            assert!(reason.contains(&format!("Invalid capability operand: {number}")), "{reason}");
        }
        Err(problem) => panic!("{problem}"),
    }
    assert_eq!(count(&words, Op::CooperativeMatrixMulAddKHR), 1);
}
