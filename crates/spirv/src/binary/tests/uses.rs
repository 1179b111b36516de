//! What an entry point reads and writes, through calls and whatever else pointers go through. Modules are assembled by
//! Khronos's `spirv-as`.

use super::*;

/// A module of three storage buffers `a`, `b` and `c`, with these functions.
pub(super) fn three_buffers(functions: &str) -> Vec<u8> {
    assemble(&format!(
        "OpCapability Shader
        OpCapability VariablePointersStorageBuffer
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %a %b %c
        OpExecutionMode %main LocalSize 4 1 1
        OpName %a \"a\"
        OpName %b \"b\"
        OpName %c \"c\"
        OpDecorate %array ArrayStride 4
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %block Block
        OpDecorate %a DescriptorSet 0
        OpDecorate %a Binding 0
        OpDecorate %b DescriptorSet 0
        OpDecorate %b Binding 1
        OpDecorate %c DescriptorSet 0
        OpDecorate %c Binding 2
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %bool = OpTypeBool
        %true = OpConstantTrue %bool
        %u32 = OpTypeInt 32 0
        %zero = OpConstant %u32 0
        %one = OpConstant %u32 1
        %array = OpTypeRuntimeArray %u32
        %block = OpTypeStruct %array
        %pblock = OpTypePointer StorageBuffer %block
        %pu32 = OpTypePointer StorageBuffer %u32
        %fnp = OpTypeFunction %void %pu32 %pu32
        %a = OpVariable %pblock StorageBuffer
        %b = OpVariable %pblock StorageBuffer
        %c = OpVariable %pblock StorageBuffer
        {functions}"
    ))
}

#[test]
fn every_way_to_a_buffer_is_followed() {
    let main =
        |body: &str| format!("%main = OpFunction %void None %fn\n%start = OpLabel\n{body}\nOpReturn\nOpFunctionEnd\n");
    let pointers = "%pa = OpAccessChain %pu32 %a %zero %zero\n%pb = OpAccessChain %pu32 %b %zero %zero\n";
    let copy = "%copy = OpFunction %void None %fnp\n%to = OpFunctionParameter %pu32\n%from = OpFunctionParameter %pu32\n\
        %l = OpLabel\n%v = OpLoad %u32 %from\nOpStore %to %v\nOpReturn\nOpFunctionEnd\n";
    let pass = "%pass = OpFunction %void None %fnp\n%q = OpFunctionParameter %pu32\n%p = OpFunctionParameter %pu32\n\
        %m = OpLabel\n%k = OpFunctionCall %void %copy %p %q\nOpReturn\nOpFunctionEnd\n";
    // What is done, and of each buffer: absent, read, written.
    let cases = [
        (main(&format!("{pointers}%v = OpLoad %u32 %pa\nOpStore %pb %v")), "a:r b:w"),
        (main("%n = OpArrayLength %u32 %c 0"), "c:"), // Bound, but neither read nor written.
        (main(&format!("{pointers}%v = OpAtomicIAdd %u32 %pb %one %zero %one")), "a: b:rw"),
        (main(&format!("{pointers}OpCopyMemory %pa %pb")), "a:w b:r"),
        (main(&format!("{pointers}%d = OpCopyObject %pu32 %pa\nOpStore %d %one")), "a:w b:"),
        (main(&format!("{pointers}%n = OpFunctionCall %void %copy %pa %pb")) + copy, "a:w b:r"),
        // Through two calls, which change places; the callee stands before its caller.
        (copy.to_owned() + pass + &main(&format!("{pointers}%n = OpFunctionCall %void %pass %pa %pb")), "a:r b:w"),
        // A pointer that is chosen at run time may be any.
        (main(&format!("{pointers}%s = OpSelect %pu32 %true %pa %pb\nOpStore %s %one")), "a:rw b:rw"),
        // A function that is not called touches nothing.
        (main("%n = OpArrayLength %u32 %c 0") + copy, "c:"),
    ];
    for (functions, expected) in cases {
        let kernel = chosen(&three_buffers(&functions), None, &[], CHECKED);
        let signature = kernel.unwrap_or_else(|error| panic!("{error}")).signature;
        let found = signature.params.iter().map(|param| {
            let (r, w) = (if param.reads { "r" } else { "" }, if param.writes { "w" } else { "" });
            format!("{}:{r}{w}", param.name)
        });
        assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{functions}");
    }
}

#[test]
fn a_pointer_that_goes_round_a_loop_may_be_any() {
    // `p` is `a` at first, then what `q` was in the round before, which is known only after `p`.
    let functions = "%main = OpFunction %void None %fn
        %start = OpLabel
        %pa = OpAccessChain %pu32 %a %zero %zero
        OpBranch %head
        %head = OpLabel
        %p = OpPhi %pu32 %pa %start %q %next
        OpLoopMerge %end %next None
        OpBranch %body
        %body = OpLabel
        OpStore %p %one
        OpBranchConditional %true %next %end
        %next = OpLabel
        %q = OpAccessChain %pu32 %b %zero %zero
        OpBranch %head
        %end = OpLabel
        OpReturn
        OpFunctionEnd";
    let signature = chosen(&three_buffers(functions), None, &[], CHECKED).unwrap().signature;
    assert!(signature.params.iter().all(|param| param.reads && param.writes), "{signature}");
    assert_eq!(signature.params.len(), 2);
}
