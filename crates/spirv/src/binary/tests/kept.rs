//! Several entry points in a module: each needs of a device what it uses itself.

use super::*;
use crate::Capability;

/// Four kernels: `plain` adds floats, `wide` adds doubles through a function, `small` writes bytes, `asks` asks for the
/// subgroup's size. Their workgroup's size is a constant.
const SEVERAL: &str = "OpCapability Shader
    OpCapability Float64
    OpCapability Int64
    OpCapability Int8
    OpCapability StorageBuffer8BitAccess
    OpCapability GroupNonUniform
    OpCapability Geometry
    OpExtension \"SPV_KHR_storage_buffer_storage_class\"
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %plain \"plain\" %floats
    OpEntryPoint GLCompute %wide \"wide\" %doubles
    OpEntryPoint GLCompute %small \"small\" %bytes
    OpEntryPoint GLCompute %asks \"asks\" %size %words
    OpExecutionMode %plain LocalSize 1 1 1
    OpExecutionMode %wide LocalSize 2 1 1
    OpExecutionMode %small LocalSize 3 1 1
    OpExecutionMode %asks LocalSize 4 1 1
    OpName %floats \"floats\"
    OpName %doubles \"doubles\"
    OpName %bytes \"bytes\"
    OpName %words \"words\"
    OpName %double \"double\"
    OpDecorate %af ArrayStride 4
    OpDecorate %ad ArrayStride 8
    OpDecorate %ab ArrayStride 1
    OpDecorate %aw ArrayStride 4
    OpMemberDecorate %bf 0 Offset 0
    OpMemberDecorate %bd 0 Offset 0
    OpMemberDecorate %bb 0 Offset 0
    OpMemberDecorate %bw 0 Offset 0
    OpDecorate %bf Block
    OpDecorate %bd Block
    OpDecorate %bb Block
    OpDecorate %bw Block
    OpDecorate %floats DescriptorSet 0
    OpDecorate %floats Binding 0
    OpDecorate %doubles DescriptorSet 0
    OpDecorate %doubles Binding 1
    OpDecorate %bytes DescriptorSet 0
    OpDecorate %bytes Binding 2
    OpDecorate %words DescriptorSet 0
    OpDecorate %words Binding 3
    OpDecorate %size BuiltIn SubgroupSize
    OpDecorate %group BuiltIn WorkgroupSize
    OpDecorate %lanes SpecId 0
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %u32 = OpTypeInt 32 0
    %u8 = OpTypeInt 8 0
    %f32 = OpTypeFloat 32
    %f64 = OpTypeFloat 64
    %v3 = OpTypeVector %u32 3
    %zero = OpConstant %u32 0
    %one = OpConstant %u32 1
    %lanes = OpSpecConstant %u32 8
    %group = OpSpecConstantComposite %v3 %lanes %one %one
    %b1 = OpConstant %u8 1
    %f1 = OpConstant %f32 1
    %d1 = OpConstant %f64 1
    %af = OpTypeRuntimeArray %f32
    %ad = OpTypeRuntimeArray %f64
    %ab = OpTypeRuntimeArray %u8
    %aw = OpTypeRuntimeArray %u32
    %bf = OpTypeStruct %af
    %bd = OpTypeStruct %ad
    %bb = OpTypeStruct %ab
    %bw = OpTypeStruct %aw
    %pbf = OpTypePointer StorageBuffer %bf
    %pbd = OpTypePointer StorageBuffer %bd
    %pbb = OpTypePointer StorageBuffer %bb
    %pbw = OpTypePointer StorageBuffer %bw
    %pf = OpTypePointer StorageBuffer %f32
    %pd = OpTypePointer StorageBuffer %f64
    %pb = OpTypePointer StorageBuffer %u8
    %pw = OpTypePointer StorageBuffer %u32
    %pin = OpTypePointer Input %u32
    %fd = OpTypeFunction %f64 %f64
    %floats = OpVariable %pbf StorageBuffer
    %doubles = OpVariable %pbd StorageBuffer
    %bytes = OpVariable %pbb StorageBuffer
    %words = OpVariable %pbw StorageBuffer
    %size = OpVariable %pin Input
    %plain = OpFunction %void None %fn
    %l1 = OpLabel
    %p1 = OpAccessChain %pf %floats %zero %zero
    %x1 = OpLoad %f32 %p1
    %y1 = OpFAdd %f32 %x1 %f1
    OpStore %p1 %y1
    OpReturn
    OpFunctionEnd
    %wide = OpFunction %void None %fn
    %l2 = OpLabel
    %p2 = OpAccessChain %pd %doubles %zero %zero
    %x2 = OpLoad %f64 %p2
    %y2 = OpFunctionCall %f64 %double %x2
    OpStore %p2 %y2
    OpReturn
    OpFunctionEnd
    %small = OpFunction %void None %fn
    %l3 = OpLabel
    %p3 = OpAccessChain %pb %bytes %zero %zero
    OpStore %p3 %b1
    OpReturn
    OpFunctionEnd
    %asks = OpFunction %void None %fn
    %l4 = OpLabel
    %p4 = OpAccessChain %pw %words %zero %zero
    %x4 = OpLoad %u32 %size
    OpStore %p4 %x4
    OpReturn
    OpFunctionEnd
    %double = OpFunction %f64 None %fd
    %x5 = OpFunctionParameter %f64
    %l5 = OpLabel
    %y5 = OpFAdd %f64 %x5 %d1
    OpReturnValue %y5
    OpFunctionEnd";

#[test]
fn each_entry_point_needs_what_it_uses() {
    let bytes = assemble(SEVERAL);
    let cases: [(&str, &[Capability], &str); 4] = [
        ("plain", &[], "floats"),
        ("wide", &[Capability::Float64], "doubles"),
        ("small", &[Capability::Int8, Capability::Storage8], "bytes"),
        ("asks", &[Capability::Subgroup], "words"),
    ];
    for (entry, needs, buffer) in cases {
        for options in [CHECKED, ROBUST, UNCHECKED] {
            let Chosen { spirv, signature, .. } = chosen(&bytes, Some(entry), &[("0", 5.0)], options).unwrap();
            assert_eq!(signature.capabilities, needs, "{entry}");
            assert_eq!(signature.params.iter().map(|param| param.name.as_str()).collect::<Vec<_>>(), [buffer]);
            assert_eq!(signature.workgroup_size, [5, 1, 1], "{entry}"); // It is a constant's, in all of them.
            assert_eq!(spirv_val(&spirv), None, "{entry}");
            // Read again, it is the same kernel.
            let again = Binary::of_words("x.spv", spirv).unwrap();
            assert_eq!(again.entry_points().collect::<Vec<_>>(), [entry]);
            let again = chosen(bytemuck::cast_slice(&again.words), None, &[("0", 5.0)], options).unwrap();
            assert_eq!(again.signature, signature);
        }
    }
}

#[test]
fn a_module_whose_capabilities_are_all_used_stays_whole() {
    let text = SEVERAL.replace("OpCapability Float64", "").replace("OpCapability Geometry", "");
    let text = text.replace("OpCapability Int64", "").replace("OpTypeFloat 64", "OpTypeFloat 16");
    let text = text.replace("OpCapability Int8", "OpCapability Int8\nOpCapability Float16");
    // `small` alone needs no float of 16 bits; a module of one kernel that needs all it declares is not touched.
    let bytes = assemble(&text);
    let small = chosen(&bytes, Some("small"), &[], UNCHECKED).unwrap().spirv;
    assert_eq!(chosen(bytemuck::cast_slice(&small), None, &[], UNCHECKED).unwrap().spirv, small);
}

/// `samples` samples an image at a level that is a constant; `wide` alone has doubles.
const SAMPLES: &str = "OpCapability Shader
    OpCapability Float64
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %samples \"samples\" %combined
    OpEntryPoint GLCompute %wide \"wide\"
    OpExecutionMode %samples LocalSize 1 1 1
    OpExecutionMode %wide LocalSize 1 1 1
    OpDecorate %combined DescriptorSet 0
    OpDecorate %combined Binding 0
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %f32 = OpTypeFloat 32
    %f64 = OpTypeFloat 64
    %v2 = OpTypeVector %f32 2
    %v4 = OpTypeVector %f32 4
    %image = OpTypeImage %f32 2D 0 0 0 1 Unknown
    %both = OpTypeSampledImage %image
    %pboth = OpTypePointer UniformConstant %both
    %level = OpConstant %f32 3
    %half = OpConstant %f32 0.5
    %d1 = OpConstant %f64 1
    %middle = OpConstantComposite %v2 %half %half
    %combined = OpVariable %pboth UniformConstant
    %samples = OpFunction %void None %fn
    %l1 = OpLabel
    %x1 = OpLoad %both %combined
    %y1 = OpImageSampleExplicitLod %v4 %x1 %middle Lod %level
    OpReturn
    OpFunctionEnd
    %wide = OpFunction %void None %fn
    %l2 = OpLabel
    %y2 = OpFAdd %f64 %d1 %d1
    OpReturn
    OpFunctionEnd";

#[test]
fn what_stands_behind_the_mask_of_an_image_instruction_is_kept() {
    let Chosen { spirv, signature, .. } = chosen(&assemble(SAMPLES), Some("samples"), &[], UNCHECKED).unwrap();
    assert_eq!(signature.capabilities, []);
    assert_eq!(spirv_val(&spirv), None);
}
