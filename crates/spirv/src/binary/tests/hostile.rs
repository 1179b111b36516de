//! Damaged and hostile modules: each ends in a typed error, with the word where it is wrong.

use super::uses::three_buffers;
use super::*;

fn refusal(bytes: &[u8]) -> String {
    chosen(bytes, None, &[], CHECKED).map_or_else(|error| error.to_string(), |kernel| kernel.signature.to_string())
}

fn words_with(words: &[u32]) -> Vec<u8> {
    let header = [spirv::MAGIC_NUMBER, 0x0001_0300, 0, 100, 0];
    header.iter().chain(words).flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn what_is_no_module_is_refused_at_once() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "word 0: 0 words are fewer than the 5 of a header"),
        (b"abc", "word 0: 3 bytes are no whole number of words"),
        (b"#version 450 ...", "word 0: the first word is 0x72657623, not 0x07230203"),
        (&[3, 2, 0x23, 7, 0, 0, 1, 0], "word 0: 2 words are fewer than the 5 of a header"),
        (&[3, 2, 0x23, 7, 0, 9, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], "word 1: version 1.9 is not in 1.0 to 1.6"),
        (
            &[3, 2, 0x23, 7, 0, 0, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
            "word 3: bound 4294967295 is not in 1 to 4194303",
        ),
        (
            &[3, 2, 0x23, 7, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            "word 5: 0 of OpMemoryModel, where exactly one is needed",
        ),
    ];
    for (bytes, message) in cases {
        let found = refusal(bytes);
        assert!(found.ends_with(message), "{found}");
    }
}

#[test]
fn words_that_make_no_instructions_are_found() {
    let cases: &[(&[u32], &str)] = &[
        (&[0], "word 5: an instruction is 0 words long"),
        (&[9 << 16 | 17], "word 5: an instruction of 9 words, of which 1 are there"),
        (&[1 << 16 | 0xfff0], "word 5: instruction 65520 is not supported"),
        (&[3 << 16 | 19, 1, 1], "word 5: OpTypeVoid has 1 words too many"),
        (&[2 << 16 | 19, 100], "word 5: OpTypeVoid uses id 100, the bound is 100"),
        (&[2 << 16 | 19, 0], "word 5: OpTypeVoid uses id 0, the bound is 100"),
        (&[2 << 16 | 19, 1, 2 << 16 | 19, 1], "word 7: id 1 is defined again, first at word 5"),
        (&[3 << 16 | 29, 1, 2], "word 5: OpTypeRuntimeArray uses id 2, which nothing defines"),
        (&[3 << 16 | 29, 1, 1], "word 5: OpTypeRuntimeArray needs id 1 to be a type that is declared before"), // Of itself.
        (
            &[3 << 16 | 30, 1, 2, 3 << 16 | 30, 2, 1],
            "word 5: OpTypeStruct needs id 2 to be a type that is declared before",
        ),
        (&[1 << 16 | 253], "word 5: OpReturn stands outside a function"),
        (&[1 << 16 | 56], "word 5: OpFunctionEnd stands outside a function"),
        (
            &[2 << 16 | 19, 1, 3 << 16 | 33, 2, 1, 5 << 16 | 54, 1, 3, 0, 2],
            "word 15: the module ends inside a function",
        ),
        (
            &[2 << 16 | 19, 1, 3 << 16 | 33, 2, 1, 5 << 16 | 54, 1, 3, 0, 2, 5 << 16 | 54, 1, 4, 0, 2],
            "word 15: OpFunction stands inside a function",
        ),
        (
            &[3 << 16 | 14, 2, 0],
            "word 5: a physical addressing model is not for Vulkan's compute kernels: that is OpenCL's; compile for Vulkan, with clspv",
        ),
    ];
    for (words, message) in cases {
        let found = refusal(&words_with(words));
        assert!(found.ends_with(message), "{found}\n{message}");
    }
}

/// A kernel whose one buffer holds `%held`, with more declarations before it and decorations.
fn holding(decorations: &str, types: &str) -> String {
    let text = format!(
        "OpCapability Shader
        OpCapability Matrix
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\" %v
        OpExecutionMode %main LocalSize 1 1 1
        OpName %v \"v\"
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %block Block
        OpDecorate %v DescriptorSet 0
        OpDecorate %v Binding 0
        {decorations}
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
        %f32 = OpTypeFloat 32
        %big = OpConstant %u32 1000000000
        %none = OpConstant %u32 0
        {types}
        %block = OpTypeStruct %held
        %p = OpTypePointer StorageBuffer %block
        %v = OpVariable %p StorageBuffer
        %main = OpFunction %void None %fn
        %l = OpLabel
        %x = OpCopyObject %p %v
        OpReturn
        OpFunctionEnd"
    );
    refusal(&assemble(&text))
}

#[test]
fn types_that_cannot_lie_in_a_buffer_are_refused() {
    let cases = [
        ("", "%held = OpTypeBool", "`v` holds a truth value, which cannot lie in a buffer"),
        ("", "%pu = OpTypePointer Function %u32\n%held = OpTypeStruct %pu", "`v`: member 0 has no Offset"),
        ("", "%held = OpTypePointer Function %u32", "`v` holds a pointer, which cannot lie in a buffer"),
        ("", "%held = OpTypeRuntimeArray %u32", "`v`: an array has no ArrayStride"),
        (
            "OpDecorate %held ArrayStride 2",
            "%held = OpTypeRuntimeArray %u32",
            "`v`: an array has elements of 4 bytes, 2 apart",
        ),
        (
            "OpDecorate %held ArrayStride 4",
            "%held = OpTypeArray %u32 %none",
            "`v`: the length of an array is no number above 0",
        ),
        (
            "OpDecorate %held ArrayStride 4",
            "%held = OpTypeArray %f32 %big",
            "main: workgroup 1×1×1\n  v  storage 0:0  read_write  array<f32, 1000000000>",
        ),
        (
            "OpDecorate %in ArrayStride 4\nOpDecorate %held ArrayStride 4000000000",
            "%in = OpTypeArray %f32 %big\n%held = OpTypeArray %in %big", // 4 EB, and no bytes of ours.
            "`v`: a struct of 4000000000000000000 bytes",
        ),
        ("", "%c = OpTypeVector %f32 2\n%held = OpTypeMatrix %c 2", "`v`: a matrix has no MatrixStride"),
        (
            "OpMemberDecorate %held 0 Offset 0\nOpMemberDecorate %held 1 Offset 2",
            "%held = OpTypeStruct %u32 %u32",
            "`v`: `member1` begins at byte 2, before byte 4",
        ),
        (
            "OpMemberDecorate %held 0 Offset 0\nOpMemberDecorate %held 1 Offset 4294967295",
            "%held = OpTypeStruct %u32 %u32",
            "`v`: a struct of 4294967300 bytes",
        ),
        (
            "OpDecorate %a ArrayStride 4\nOpMemberDecorate %held 0 Offset 0\nOpMemberDecorate %held 1 Offset 8",
            "%a = OpTypeRuntimeArray %u32\n%held = OpTypeStruct %a %u32",
            "`v`: `member0` has no fixed length, but is not the last",
        ),
        ("", "%held = OpTypeSampler", "`v` holds an image or a sampler, which cannot lie in a buffer"),
    ];
    for (decorations, types, message) in cases {
        let found = holding(decorations, types);
        assert!(found.ends_with(message), "{found}\n{message}");
    }
}

#[test]
fn types_that_grow_without_end_are_refused() {
    // Each struct holds the one before twice: forty of them are a million million numbers.
    let (mut decorations, mut types) = (String::new(), String::new());
    for level in 0..40 {
        let before = if level == 0 { "u32".to_owned() } else { format!("s{}", level - 1) };
        let name = if level == 39 { "held".to_owned() } else { format!("s{level}") };
        types += &format!("%{name} = OpTypeStruct %{before} %{before}\n");
        for member in 0..2_u64 {
            let offset = (member << level.min(29)) * 4;
            decorations += &format!("OpMemberDecorate %{name} {member} Offset {offset}\n");
        }
    }
    let found = holding(&decorations, &types);
    assert!(found.ends_with("4097 parts of a type, at most 4096 are taken"), "{found}");
    let (mut decorations, mut types) = (String::new(), "%t0 = OpTypeStruct %u32\n".to_owned());
    decorations += "OpMemberDecorate %t0 0 Offset 0\n";
    for level in 1..200 {
        let name = if level == 199 { "held".to_owned() } else { format!("t{level}") };
        types += &format!("%{name} = OpTypeStruct %t{}\n", level - 1);
        decorations += &format!("OpMemberDecorate %{name} 0 Offset 0\n");
    }
    let found = holding(&decorations, &types);
    assert!(found.ends_with("65 types within types, at most 64 are taken"), "{found}");
}

#[test]
fn functions_that_make_no_sense_are_refused() {
    let main = |body: &str| format!("%main = OpFunction %void None %fn\n%start = OpLabel\n{body}\nOpFunctionEnd\n");
    let cases = [
        (main("%r = OpFunctionCall %void %main\nOpReturn"), "calls itself, directly or through others"),
        (main("%r = OpFunctionCall %void %a\nOpReturn"), "to be a function that is declared before"),
        (main("%n = OpIAdd %one %one %one\nOpReturn"), "to be a type that is declared before"),
        (main("OpName %a \"late\"\nOpReturn"), "OpName stands inside a function"),
    ];
    for (functions, message) in cases {
        let found = refusal(&three_buffers(&functions));
        assert!(found.ends_with(message), "{found}\n{message}");
    }
}

#[test]
fn entry_points_are_checked() {
    let module = |lines: &str| {
        let text = format!(
            "{lines}
            %void = OpTypeVoid
            %fn = OpTypeFunction %void
            %u32 = OpTypeInt 32 0
            %other = OpTypeFunction %u32
            %x = OpConstant %u32 1
            %main = OpFunction %void None %fn
            %l = OpLabel
            OpReturn
            OpFunctionEnd"
        );
        refusal(&assemble(&text))
    };
    let shader = "OpCapability Shader\nOpMemoryModel Logical GLSL450\n";
    let kernel = "OpCapability Kernel\nOpCapability Addresses\nOpMemoryModel Logical OpenCL\n";
    let cases = [
        (
            format!("{kernel}OpEntryPoint Kernel %main \"add\""),
            "`add`, an OpenCL kernel, is not for Vulkan's compute kernels: compile it with clspv, which makes a GLCompute \
             entry point of it",
        ),
        (format!("{shader}OpEntryPoint GLCompute %main \"main\""), "entry point `main`: it has no workgroup size"),
        (format!("{shader}OpEntryPoint GLCompute %x \"main\""), "to be a function that is declared before"),
        (format!("{shader}OpEntryPoint GLCompute %main \"main\" %x"), "to be a variable that is declared before"),
        (
            format!("{shader}OpEntryPoint GLCompute %main \"a\"\nOpEntryPoint GLCompute %main \"a\""),
            "two compute entry points are called `a`",
        ),
        (format!("{shader}OpEntryPoint GLCompute %main \"\""), "give it a name that can be printed"),
        (
            format!("{shader}OpEntryPoint GLCompute %main \"a\"\nOpExecutionMode %main LocalSize 1 0 1"),
            "entry point `a`: its workgroup has no invocations on an axis",
        ),
        (
            format!("{shader}OpEntryPoint GLCompute %main \"a\"\nOpExecutionModeId %main LocalSizeId %x %x %main"),
            "entry point `a`: its workgroup size is not made of numbers that can be computed here",
        ),
        (format!("{shader}OpMemoryModel Logical GLSL450"), "2 of OpMemoryModel, where exactly one is needed"),
    ];
    for (lines, message) in cases {
        let found = module(&lines);
        assert!(found.ends_with(message), "{found}\n{message}");
    }
}

#[test]
fn a_module_cut_anywhere_is_an_error_and_no_panic() {
    for name in ["reverse", "layouts"] {
        let whole = compiled(name);
        for length in 0..whole.len() {
            // Cut behind the memory model it is a module of nothing.
            let found = n_kernels(&whole[..length]);
            assert!(found.is_err() || matches!(found, Ok(0)), "{name}, {length} bytes");
        }
    }
}

#[test]
fn a_module_with_any_word_changed_is_no_panic() {
    let whole = compiled("reverse");
    for word in 0..whole.len() / 4 {
        for value in [0, 1, 0xffff_ffff, 0x8000_0000, 0x0001_0000] {
            let mut bytes = whole.clone();
            bytes[4 * word..][..4].copy_from_slice(&u32::to_le_bytes(value));
            let _ = n_kernels(&bytes);
        }
    }
}

/// Reads every kernel of a module.
fn n_kernels(bytes: &[u8]) -> Result<usize> {
    let binary = Binary::parse("x", bytes)?;
    let entries: Vec<_> = binary.entry_points().map(str::to_owned).collect();
    entries.iter().try_for_each(|entry| {
        let options = EntryOptions { assume_addresses: true, ..CHECKED };
        binary.choose(("x", entry), &BTreeMap::new(), options, None::<&Check<'_, ()>>).map(drop)
    })?;
    Ok(entries.len())
}

#[test]
fn a_binding_that_drivers_make_room_for_is_refused() {
    let text = |binding: u32| {
        let bytes = three_buffers(
            "%main = OpFunction %void None %fn\n%l = OpLabel\n%x = OpCopyObject %pblock %c\nOpReturn\nOpFunctionEnd",
        );
        let mut words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        // `OpDecorate %c Binding 2`.
        let at = words.windows(4).position(|four| four[0] == 4 << 16 | 71 && four[2..] == [33, 2]).unwrap();
        words[at + 3] = binding;
        refusal(&words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
    };
    assert!(text(65535).starts_with("main: workgroup 4×1×1"), "{}", text(65535));
    assert!(text(65536).starts_with("kernel `main`: `c` is bound at a number above 65535"), "{}", text(65536));
}

#[test]
fn an_input_of_no_compute_kernel_is_refused() {
    // Validators pass all of these.
    for decoration in ["", "OpDecorate %in BuiltIn VertexIndex", "OpDecorate %in Location 0"] {
        for use_of_it in ["", "%x = OpLoad %u32 %in"] {
            let found = refusal(&assemble(&format!(
                "OpCapability Shader
                OpMemoryModel Logical GLSL450
                OpEntryPoint GLCompute %main \"main\" %in
                OpExecutionMode %main LocalSize 1 1 1
                OpName %in \"in\"
                {decoration}
                %void = OpTypeVoid
                %fn = OpTypeFunction %void
                %u32 = OpTypeInt 32 0
                %p = OpTypePointer Input %u32
                %in = OpVariable %p Input
                %main = OpFunction %void None %fn
                %l = OpLabel
                {use_of_it}
                OpReturn
                OpFunctionEnd"
            )));
            assert!(found.starts_with("kernel `main`: `in` is an input that no compute kernel has"), "{found}");
        }
    }
}

#[test]
fn a_pointer_declared_ahead_is_one_to_an_address() {
    let refused = |types: &str| {
        let text =
            format!("OpCapability Shader\nOpMemoryModel PhysicalStorageBuffer64 GLSL450\n%u = OpTypeInt 32 0\n{types}");
        let error = Binary::parse("x.spv", &assemble(&text)).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
        error.to_string()
    };
    let ahead = "OpTypeForwardPointer %p PhysicalStorageBuffer";
    let cases = [
        (format!("{ahead}\n%p = OpTypeStruct %p"), "OpTypeStruct needs id 2 to be a pointer"),
        (format!("{ahead}\n%p = OpTypePointer Function %u"), "needs id 2 to be a pointer"),
        (format!("{ahead}\n%p = OpTypePointer PhysicalStorageBuffer %p"), "which nothing defines"),
        (
            format!("{ahead}\n{ahead}\n%p = OpTypePointer PhysicalStorageBuffer %u"),
            "only one to memory reached by its address is",
        ),
        ("OpTypeForwardPointer %p Function\n%p = OpTypePointer Function %u".to_owned(), "only one to memory reached"),
    ];
    for (types, message) in cases {
        let found = refused(&types);
        assert!(found.contains(message), "{found}\n{message}");
    }
}
