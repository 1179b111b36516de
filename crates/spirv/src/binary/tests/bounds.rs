//! Bounds that are added to SPIR-V: valid ones, of every index that is computed, and a refusal where there can be none.

use spirv::Decoration;

use super::*;

/// A kernel with a buffer `data` of words behind a count, a buffer `index` and arrays in other memory, with this body. `%i`
/// is a computed `u32`, `%s` the same as `i32`, `%w` as `u64`.
fn module(body: &str) -> Vec<u8> {
    assemble(&format!(
        "OpCapability Shader
        OpCapability Int64
        OpCapability Matrix
        OpCapability VariablePointers
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %data %id %tile %own
        OpExecutionMode %main LocalSize 4 1 1
        OpDecorate %id BuiltIn LocalInvocationIndex
        OpDecorate %words ArrayStride 4
        OpDecorate %four ArrayStride 4
        OpMemberDecorate %block 0 Offset 0
        OpMemberDecorate %block 1 Offset 16
        OpDecorate %block Block
        OpDecorate %data DescriptorSet 0
        OpDecorate %data Binding 0
        OpDecorate %n SpecId 3
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
        %i32 = OpTypeInt 32 1
        %u64 = OpTypeInt 64 0
        %f32 = OpTypeFloat 32
        %v3 = OpTypeVector %f32 3
        %m23 = OpTypeMatrix %v3 2
        %zero = OpConstant %u32 0
        %one = OpConstant %u32 1
        %three = OpConstant %u32 3
        %c4 = OpConstant %u32 4
        %nine = OpConstant %u32 9
        %f1 = OpConstant %f32 1
        %n = OpSpecConstant %u32 7
        %words = OpTypeRuntimeArray %u32
        %four = OpTypeArray %u32 %c4
        %block = OpTypeStruct %four %words
        %pblock = OpTypePointer StorageBuffer %block
        %pwords = OpTypePointer StorageBuffer %words
        %pword = OpTypePointer StorageBuffer %u32
        %tiles = OpTypeArray %u32 %n
        %ptiles = OpTypePointer Workgroup %tiles
        %ptile = OpTypePointer Workgroup %u32
        %pm = OpTypePointer Private %m23
        %pf = OpTypePointer Private %f32
        %pin = OpTypePointer Input %u32
        %data = OpVariable %pblock StorageBuffer
        %tile = OpVariable %ptiles Workgroup
        %own = OpVariable %pm Private
        %id = OpVariable %pin Input
        %main = OpFunction %void None %fn
        %start = OpLabel
        %i = OpLoad %u32 %id
        %s = OpBitcast %i32 %i
        %w = OpUConvert %u64 %i
        {body}
        OpReturn
        OpFunctionEnd"
    ))
}

#[test]
fn every_computed_index_is_bounded_and_no_other() {
    // What is done, and how many indices are bounded where the device bounds buffers, and where it does not.
    let cases = [
        ("%p = OpAccessChain %ptile %tile %i\nOpStore %p %one", 1, 1),
        ("%p = OpAccessChain %ptile %tile %s\nOpStore %p %one", 1, 1),
        ("%p = OpAccessChain %ptile %tile %w\nOpStore %p %one", 1, 1),
        ("%p = OpInBoundsAccessChain %ptile %tile %i\nOpStore %p %one", 1, 1), // Its promise is not believed.
        ("%p = OpAccessChain %ptile %tile %three\nOpStore %p %one", 0, 0),
        ("%p = OpAccessChain %ptile %tile %nine\nOpStore %p %one", 1, 1), // Out of range, and a constant.
        ("%p = OpAccessChain %pf %own %i %s\nOpStore %p %f1", 2, 2),      // A column, a component.
        ("%m = OpLoad %m23 %own\n%v = OpCompositeExtract %v3 %m 0\n%x = OpVectorExtractDynamic %f32 %v %i", 1, 1),
        ("%m = OpLoad %m23 %own\n%v = OpCompositeExtract %v3 %m 0\n%x = OpVectorInsertDynamic %v3 %v %f1 %i", 1, 1),
        ("%p = OpAccessChain %pword %data %one %i\nOpStore %p %one", 0, 1),
        ("%p = OpAccessChain %pword %data %one %zero\nOpStore %p %one", 0, 1), // The array may be empty.
        ("%p = OpAccessChain %pword %data %zero %i\nOpStore %p %one", 0, 1),
        ("%a = OpAccessChain %pwords %data %one\n%p = OpAccessChain %pword %a %i\nOpStore %p %one", 0, 1),
    ];
    for (body, left_to_device, all) in cases {
        let bytes = module(body);
        for (options, expected) in [(ROBUST, left_to_device), (CHECKED, all)] {
            let words = chosen(&bytes, None, &[], options).unwrap_or_else(|error| panic!("{body}: {error}")).spirv;
            assert_eq!(count(&words, Op::Select), expected, "{body}");
            assert_eq!(spirv_val(&words), None, "{body}");
        }
        assert_eq!(count(&chosen(&bytes, None, &[], UNCHECKED).unwrap().spirv, Op::Select), 0, "{body}");
    }
}

#[test]
fn a_promise_that_nothing_overflows_is_left_out() {
    let bytes = module("%sum = OpIAdd %u32 %i %one\n%p = OpAccessChain %ptile %tile %sum\nOpStore %p %one");
    let mut words = chosen(&bytes, None, &[], UNCHECKED).unwrap().spirv;
    let place = |words: &[u32], op: Op| {
        let mut at = 5;
        while words[at] & 0xffff != op as u32 {
            at += (words[at] >> 16) as usize;
        }
        at
    };
    let sum = words[place(&words, Op::IAdd) + 2];
    let first = place(&words, Op::Decorate);
    for promise in [Decoration::NoSignedWrap, Decoration::NoUnsignedWrap] {
        words.splice(first..first, [3 << 16 | Op::Decorate as u32, sum, promise as u32]);
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let n_decorations = count(&words, Op::Decorate);
    let bounded = chosen(&bytes, None, &[], CHECKED).unwrap().spirv;
    assert_eq!(count(&bounded, Op::Decorate), n_decorations - 2);
    assert_eq!(spirv_val(&bounded), None);
    assert_eq!(count(&chosen(&bytes, None, &[], UNCHECKED).unwrap().spirv, Op::Decorate), n_decorations);
}

#[test]
fn the_length_is_that_of_the_constants() {
    let bytes = module("%p = OpAccessChain %ptile %tile %three\nOpStore %p %one");
    for (n, expected) in [(4.0, 0), (3.0, 1)] {
        let words = chosen(&bytes, None, &[("3", n)], CHECKED).unwrap().spirv;
        assert_eq!(count(&words, Op::Select), expected, "{n} elements");
        assert_eq!(spirv_val(&words), None, "{n} elements");
    }
}

#[test]
fn what_cannot_be_bounded_is_refused_by_its_place() {
    let cases = [
        (
            "%p = OpAccessChain %ptile %tile %zero\n%q = OpPtrAccessChain %ptile %p %i\nOpStore %q %one",
            "OpPtrAccessChain",
            [false, false],
        ),
        (
            "%p = OpAccessChain %pword %data %one %zero\n%q = OpPtrAccessChain %pword %p %i\nOpStore %q %one",
            "OpPtrAccessChain",
            [true, false],
        ),
        ("%p = OpUndef %ptile\nOpStore %p %one", "OpUndef", [false, false]),
    ];
    for (body, op, expected) in cases {
        // `OpPtrAccessChain` needs a stride to be valid; what is refused here is not shown to a validator.
        let bytes = module(body);
        for (options, is_taken) in [ROBUST, CHECKED].into_iter().zip(expected) {
            match chosen(&bytes, None, &[], options) {
                Ok(_) => assert!(is_taken, "{body}"),
                Err(Error::Unbounded { place, .. }) => {
                    assert!(!is_taken, "{body}");
                    assert!(place.ends_with(op), "{place}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        chosen(&bytes, None, &[], UNCHECKED).unwrap();
    }
}
