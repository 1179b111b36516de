//! `vkarray inspect`, and `vkarray run` of shaders that are not WGSL. Only the last test opens a device.

use crate::{Folder, text};

/// A folder that also holds the shaders of `tests/shaders`.
fn folder() -> Folder {
    let folder = Folder::new();
    let shaders = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/shaders");
    for entry in std::fs::read_dir(shaders).expect("the repository has them") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str()).expect("an ASCII name").to_owned();
        folder.put(&name, std::fs::read(&path).expect("a readable file"));
    }
    folder
}

#[test]
fn a_kernel_is_shown_with_the_layouts_of_its_structs() {
    let folder = folder();
    let without_driver = |line: &str| {
        let output = folder.command(line).env("VK_DRIVER_FILES", "/nowhere").output().expect("the command starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let expected = "\
main: workgroup 1×1×1
  Std140  uniform 0:0  read   Std140
  packed  storage 0:1  read   Std430
  tight   storage 0:2  read   Scalar
  result  storage 1:3  write  array<f32>
  Std140: 112 bytes
    +0      a      array<f32, 2>, 16 bytes apart
    +32     m      mat2x2<f32>, columns 16 bytes apart
    +64     v      vec3<f32>
    +76     f      f32
    +80     inner  array<Inner, 2>, 16 bytes apart
  Inner: 16 bytes
    +0      v  vec3<f32>
    +12     f  f32
  Std430: 80 bytes
    +0      a      array<f32, 2>, 4 bytes apart
    +8      m      mat2x2<f32>, columns 8 bytes apart
    +32     r      mat3x2<f32>, rows 16 bytes apart
    +64     inner  Inner
  Scalar: 64 bytes with one element
    +0      a     vec3<f32>
    +12     f     f32
    +16     m     mat3x3<f32>, columns 12 bytes apart
    +52     tail  array<vec3<f32>>, 12 bytes apart
";
    assert_eq!(without_driver("inspect layouts.spv"), expected);
    // The block has a name, by which it is given as a whole.
    let found = without_driver("inspect particles.spv");
    assert!(found.contains("\n  step_: Push, 44 bytes of push constants\n  List: "), "{found}");
    let found = without_driver("inspect reverse.spv --const LANES=8 --const 1=3 --entry main");
    assert!(found.starts_with("main: workgroup 8×1×1, shared 96 bytes\n"), "{found}");
    // One kernel from its GLSL and from glslang's SPIR-V.
    assert_eq!(without_driver("inspect saxpy.comp"), without_driver("inspect saxpy.spv"));
    assert!(without_driver("inspect julia.wgsl").starts_with("julia: workgroup 16×16×1\n"));
}

#[test]
fn everything_is_in_the_json() {
    let folder = folder();
    let output = folder.done("inspect subgroup_sum.spv --json");
    let kernels: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let kernel = &kernels[0];
    assert_eq!(kernel["entry"], "main");
    assert_eq!(kernel["workgroup_size"], serde_json::json!([64, 1, 1]));
    assert_eq!(kernel["uses_subgroups"], true);
    assert_eq!(kernel["capabilities"], serde_json::json!(["Subgroup", "SubgroupArithmetic"]));
    assert_eq!(kernel["params"][0]["name"], "values");
    assert_eq!(kernel["params"][0]["access"], "Read");
    assert_eq!(kernel["params"][0]["stride"], 4);
    let output = folder.done("inspect block_layouts.spv --json");
    let kernels: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let push = &kernels[0]["push_constants"];
    assert_eq!([&push["name"], &push["ty"]], ["push_", "Push"]);
    assert_eq!([&push["bytes"], &push["members"][2]["offset"]], [64, 16]);
    let scalar = &kernels[0]["params"][2]["ty"]["Struct"]["fields"];
    assert_eq!([&scalar[1]["offset"], &scalar[1]["ty"]["Array"]["stride"]], [12, 12]);
    assert_eq!(scalar[8]["ty"]["Matrix"]["is_row_major"], true);
    let output = folder.done("inspect reverse.spv --json");
    let kernels: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(kernels[0]["shared"], serde_json::json!([{ "name": "tile", "bytes": 256 }]));
    assert_eq!(kernels[0]["constants"][2]["default"], serde_json::json!({ "Value": { "F32": 1.5 } }));
    assert_eq!(kernels[0]["uses_subgroups"], false);
}

#[test]
fn variables_at_one_binding_and_a_constant_of_the_workgroup_are_shown() {
    let folder = folder();
    let shown = |line: &str| text(&folder.done(line).stdout);
    let found = shown("inspect aliases.spv");
    for line in
        ["  table   storage 0:0  read_write  Table", "  count     the same               u32", "  Scales: 48 bytes"]
    {
        assert!(found.contains(line), "{found}");
    }
    let found = shown("inspect workgroup_constant.spv");
    let warning = "  warning: kernel `main`: constant `LANES` also sets the size of the workgroup; while it is not set, the \
                   workgroup is 1×1×1 and `LANES` is 32\n";
    assert!(found.ends_with(warning), "{found}");
    let found = shown("inspect workgroup_constant.spv --const LANES=64");
    assert!(found.ends_with("u32 = 64 (default 32), and the workgroup's x\n"), "{found}");
}

#[test]
fn an_output_goes_by_the_name_of_any_variable_at_its_binding() {
    if !crate::device::has_device() {
        return;
    }
    let folder = folder();
    folder.done(
        "run aliases.spv --arg count=full:u32[9],value=5 --arg quads=arange:f32[16] --arg few=full:f32[12],value=2 \
         --arg floats=arange:f32[16] --groups 1 --out count=table.npy --quiet",
    );
    let bytes = std::fs::read(folder.path("table.npy")).expect("it was written");
    let numbers: Vec<_> =
        bytes[bytes.len() - 36..].as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect();
    assert_eq!(numbers, [5, 5, 8, 11, 14, 17, 20, 23, 26]);
}

#[test]
fn what_cannot_be_shown_says_why() {
    let folder = folder();
    folder.put("text.spv", "#version 450");
    folder.put("short.spv", &folder_bytes("saxpy.spv")[..400]);
    folder.put("binary.comp", folder_bytes("saxpy.spv"));
    folder.put("shader.txt", "");
    folder.put("empty.wgsl", "");
    folder.put("broken.comp", "#version 450\nvoid main() {\n    y = 1;\n}");
    std::fs::create_dir(folder.path("sub")).expect("the folder is ours");
    folder.put("sub/lost.comp", "#version 450\n#include \"none.glsl\"\nvoid main() {}");
    folder.put("upwards.comp", "#version 450\n#include \"/etc/passwd\"\nvoid main() {}");
    let cases = [
        ("inspect none.spv", "cannot read none.spv"),
        ("inspect shader.txt", "shader.txt: a shader is .wgsl, .comp, .glsl or .spv"),
        ("inspect text.spv", "text.spv: SPIR-V word 0: 3 words are fewer than the 5 of a header"),
        ("inspect short.spv", "short.spv: SPIR-V word 97: an instruction of"),
        ("inspect binary.comp", "cannot read binary.comp"),
        ("inspect empty.wgsl", "empty.wgsl: no compute entry point"),
        ("inspect saxpy.spv --entry other", "no compute entry point `other`; there is `main`"),
        ("inspect reverse.spv --const LANE=1", "no constant `LANE`"),
        ("inspect broken.comp", "broken.comp:3: `y`: undeclared identifier\n    y = 1;"),
        (
            "inspect upwards.comp",
            "which is outside of the include folders: add `Source::include_dir`, in the command `-I DIR`",
        ),
        (
            "inspect sub/lost.comp",
            "sub/lost.comp:2: the `#include` cannot be followed: there is no file `none.glsl` in `sub`",
        ),
        ("inspect saxpy.wgsl --define N=1", "saxpy.wgsl: a macro was given, which only GLSL has"),
    ];
    for (line, part) in cases {
        let message = folder.refused(2, &mut folder.command(line));
        assert!(message.contains(part), "{line}\n{message}");
    }
}

fn folder_bytes(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/shaders/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn shaders_of_all_languages_run() {
    if !crate::device::has_device() {
        return;
    }
    let folder = folder();
    for shader in ["saxpy.wgsl --const WORKGROUP=64", "saxpy.comp", "saxpy.spv"] {
        folder.done(&format!(
            "run {shader} --arg x=arange:f32[100] --arg y=full:f32[100],value=1 --arg a=3 --covering 100 --out y=y.npy --quiet"
        ));
        let bytes = std::fs::read(folder.path("y.npy")).expect("it was written");
        let mut numbers =
            bytes[bytes.len() - 400..].as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number));
        assert_eq!(numbers.next_back(), Some(298.0), "{shader}");
    }
}

/// `saxpy.spv`, changed to multiply its floats as integers: its structure is valid, but it breaks a rule that drivers
/// trust.
fn broken() -> Vec<u8> {
    const F_MUL: u32 = 133;
    const I_MUL: u32 = 132;
    let bytes = folder_bytes("saxpy.spv");
    let mut words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut at = 5;
    while words[at] & 0xffff != F_MUL {
        at += (words[at] >> 16) as usize;
    }
    words[at] = words[at] & 0xffff_0000 | I_MUL;
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn spirv_that_no_validator_passed_is_not_run() {
    if std::env::var_os("GPU_TESTS").is_some_and(|value| value == "skip") {
        return eprintln!("SKIPPED: no device is expected here");
    }
    let folder = folder();
    folder.put("broken.spv", broken());
    let line = |shader: &str| {
        format!("run {shader} --arg x=arange:f32[9] --arg y=zeros:f32[9] --arg a=3 --covering 9 --out y=y.npy --quiet")
    };
    let message = folder.refused(2, &mut folder.command(&line("broken.spv")));
    assert!(message.contains("broken.spv: it is not valid SPIR-V for Vulkan 1.3: "), "{message}");
    let without = |shader: &str| {
        let mut command = folder.command(&line(shader));
        command.env("VKARRAY_SPIRV_VAL", "/no/such/validator");
        command
    };
    let message = folder.refused(2, &mut without("saxpy.spv"));
    for part in ["/no/such/validator cannot be started", "spirv-tools", "VKARRAY_SPIRV_VAL", "spirv_unchecked"] {
        assert!(message.contains(part), "{message}");
    }
    // GLSL is compiled to SPIR-V; what naga translates needs no validation.
    assert!(folder.refused(2, &mut without("saxpy.comp")).contains("saxpy.comp: /no/such/validator cannot be started"));
    assert!(without("saxpy.wgsl").status().expect("the command starts").success());
}

#[test]
fn macros_and_include_folders_of_glsl_are_flags() {
    let folder = folder();
    for name in ["sub", "shared"] {
        std::fs::create_dir(folder.path(name)).expect("the folder is ours");
    }
    folder.put(
        "sub/k.comp",
        "#version 450\n#include \"own.glsl\"\n#include <common.glsl>\nlayout(local_size_x = SIZE) in;\nvoid main() {}",
    );
    folder.put("sub/own.glsl", "#include \"common.glsl\"");
    folder.put("shared/common.glsl", "#ifndef SIZE\n#error no size\n#endif");
    let found = folder.done("inspect sub/k.comp --define SIZE=32 -I shared");
    assert_eq!(text(&found.stdout), "main: workgroup 32×1×1\n");
    let message = folder.refused(2, &mut folder.command("inspect sub/k.comp -I shared"));
    assert!(message.contains("shared/common.glsl:2: `#error`: no size\n#error no size"), "{message}");
    let mut without = folder.command("inspect sub/k.comp -I shared --define SIZE=1");
    let message = folder.refused(2, without.env("VKARRAY_GLSLANG", "/no/such/compiler"));
    for part in
        ["sub/k.comp: /no/such/compiler cannot be started", "glslang-tools", "VKARRAY_GLSLANG", "feature `glslang`"]
    {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn constants_without_a_default_are_taken_as_one() {
    let folder = folder();
    folder.put(
        "open.wgsl",
        "override size: u32; @id(7) override gain: f32; override half = gain * 0.5;
        @group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(size) fn scale(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] *= half; }",
    );
    let found = text(&folder.done("inspect open.wgsl --const size=64").stdout);
    assert!(found.contains("scale: workgroup 64×1×1") && found.contains("array<f32>"), "{found}");
    assert!(found.contains("with `gain` = 1: it has no default that is valid, so it must be set"), "{found}");
    assert!(!found.contains("with `size`"), "{found}");
    let found: serde_json::Value =
        serde_json::from_slice(&folder.done("inspect open.wgsl --json").stdout).expect("JSON");
    assert_eq!(found[0]["instead"], serde_json::json!(["size", "gain"]));
}

#[test]
fn a_default_that_makes_a_kernel_invalid_does_not_hide_what_it_takes() {
    let folder = folder();
    folder.put(
        "inverse.wgsl",
        "override k: f32 = 2.0;
        override m: f32 = 0.0;
        override inverse = 1. / m;
        @group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] *= inverse * k; }",
    );
    let found = text(&folder.done("inspect inverse.wgsl").stdout);
    assert!(found.contains("x        storage 0:0  read_write  array<f32>"), "{found}");
    assert!(found.contains("m        constant                 f32 = 1 (default 0)"), "{found}");
    assert!(found.contains("with `m` = 1: it has no default that is valid, so it must be set"), "{found}");
    let found = text(&folder.done("inspect inverse.wgsl --const m=4").stdout);
    assert!(found.contains("f32 = 4 (default 0)") && !found.contains("not valid"), "{found}");
    // No constant alone makes the shader valid.
    let message = folder.refused(2, &mut folder.command("inspect inverse.wgsl --const m=0"));
    assert!(message.contains("not valid with the constants m = 0"), "{message}");
}
