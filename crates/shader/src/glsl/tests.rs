//! GLSL from its text to a signature, through the installed compiler: what kernels are called by, and what is refused.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;

use vkarray_spirv::internal::line_of;

use super::*;
use crate::{Module, Options, Resource, Source, SpirvError, Translated};

fn translated(source: &Source) -> Result<Translated> {
    Module::parse(source)?.translate(None, &BTreeMap::new(), &Options::default())
}

fn signature(text: impl Into<Cow<'static, str>>) -> std::result::Result<String, String> {
    let translated = translated(&Source::glsl(text).named("k.comp")).map_err(|error| error.to_string())?;
    Ok(translated.signature.to_string())
}

#[test]
fn blocks_are_what_their_authors_think_of() {
    let text = "#version 450
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint SCALE = 2;
struct Item { vec3 at; float mass; };
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 2) buffer Y { uint count; Item items[]; } list;
layout(set = 1, binding = 1) buffer Z { uint first; uint second; };
layout(std140, set = 0, binding = 1) uniform W { vec4 weights[4]; };
layout(push_constant) uniform Push { float a; uint n; } push;
shared float tile[64];
void main() {
    uint i = gl_GlobalInvocationID.x;
    tile[gl_LocalInvocationID.x] = x[i] * weights[1].x;
    barrier();
    if (i < push.n) list.items[i].mass = push.a * tile[0] * float(SCALE);
    second = first;
}";
    let expected = "main: workgroup 64×1×1, shared 256 bytes
  x        storage 0:0  read        array<f32>
  weights  uniform 0:1  read        array<vec4<f32>, 4>
  list     storage 0:2  read_write  Y
  Z        storage 1:1  read_write  Z
  a        push +0                  f32
  n        push +4                  u32
  SCALE    constant @3              u32 = 2
  tile     shared                   256 bytes";
    assert_eq!(signature(text).unwrap(), expected);
}

#[test]
fn a_refusal_has_the_place_a_sentence_and_the_line() {
    let cases = [
        (
            "#version 450\nlayout(local_size_x = 1) in;\nvoid main() { int x = ; }",
            "k.comp:3: syntax error, unexpected SEMICOLON\nvoid main() { int x = ; }",
        ),
        (
            "#version 460 core\nvoid main() { undeclared = 1; }",
            "k.comp:2: `undeclared`: undeclared identifier\nvoid main() { undeclared = 1; }",
        ),
        ("#version 450\nvoid main() {\n a = 1;\n b = 2;\n}", "k.comp:3: `a`: undeclared identifier\n a = 1;"),
        ("#version 450\nvoid f() {}", "k.comp: no compute entry point (`void main() …`)"),
        ("#version 450\n#error too old\nvoid main() {}", "k.comp:2: `#error`: too old\n#error too old"),
    ];
    for (text, expected) in cases {
        assert_eq!(signature(text).unwrap_err(), expected);
    }
}

/// What naga's front end of GLSL had no words for.
#[test]
fn the_whole_language_is_compiled() {
    let cases = [
        "shared uint s;\nvoid main() { atomicAdd(s, 1u); }",
        "#extension GL_KHR_shader_subgroup_basic : require\nlayout(local_size_x_id = 0) in;\nvoid main() { subgroupBarrier(); }",
        "#extension GL_EXT_shader_16bit_storage : require\nlayout(binding = 0) buffer X { float16_t x[]; };\nvoid main() { x[0] = x[1]; }",
        "layout(std140, binding = 0) uniform U { mat3x2 m; layout(offset = 64) float f; };\nlayout(binding = 1) buffer X { float x; };\n\
         void main() { x = m[0].y + f; memoryBarrierBuffer(); }",
        "layout(binding = 0) buffer X { float x[]; };\nlayout(binding = 0) buffer Y { uint y[]; };\nvoid main() { x[0] = float(y[1]); }",
    ];
    for text in cases {
        signature(format!("#version 450\nlayout(local_size_x = 1) in;\n{text}")).unwrap();
    }
}

#[test]
fn what_no_kernel_takes_is_named_with_what_to_do() {
    // Declarations, a statement, and how the report begins.
    let cases = [
        (
            "#extension GL_GOOGLE_include_directive : enable\n#include \"common.glsl\"",
            "x[0] = twice(1.0);",
            "k.comp:5: the `#include` cannot be followed: `common.glsl` is not read, since there is no include folder: \
             add `Source::include_dir`, in the command `-I DIR`"
                .to_owned(),
        ),
        (
            "layout(binding = 1) uniform samplerCube tex;",
            "x[0] = textureLod(tex, vec3(0.0), 0.0).x;",
            format!("kernel `main`: `tex` is {}", Resource::Image),
        ),
        (
            "layout(binding = 1) uniform sampler2DShadow shadow;",
            "x[0] = textureLod(shadow, vec3(0.0), 0.0);",
            format!("kernel `main`: `shadow` is {}", Resource::Image),
        ),
        (
            "layout(binding = 1) buffer B { float y[]; } many[4];\nlayout(binding = 1) buffer C { float y[]; } one;",
            "many[1].y[0] = one.y[0];",
            "kernel `main`: `one` is at the binding of another number of buffers: give it a binding of its own".to_owned(),
        ),
        (
            "layout(push_constant) uniform P { int n; };\nuniform int m;",
            "x[0] = float(n + m);",
            "k.comp:5: `non-opaque uniforms outside a block`: not allowed".to_owned(),
        ),
    ];
    for (declared, statement, start) in cases {
        let text = format!(
            "#version 450\nlayout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer X {{ float x[]; }};\n{declared}\n\
             void main() {{ {statement} }}"
        );
        let found = signature(text).unwrap_err();
        assert!(found.starts_with(&start), "{found}\n{start}");
    }
}

#[test]
fn images_and_samplers_are_parameters() {
    let text = "#version 450
layout(local_size_x = 1) in;
layout(binding = 0) uniform sampler2D both;
layout(binding = 1) uniform itexture3D parts;
layout(binding = 2) uniform sampler how;
layout(binding = 3, rgba8) uniform readonly image2DArray from;
layout(binding = 4, r32ui) uniform uimage1D counts;
layout(binding = 5) uniform writeonly image2D target;
layout(binding = 6) uniform usamplerBuffer texels;
void put(ivec2 at, vec4 value) { imageStore(target, at, value); }
void main() {
    vec4 sum = texture(both, vec2(0.5)) + imageLoad(from, ivec3(0)) + vec4(texelFetch(texels, 0));
    sum += texture(isampler3D(parts, how), vec3(0.5));
    put(ivec2(0), sum);
    imageAtomicAdd(counts, 0, 1u);
}";
    let expected = "main: workgroup 1×1×1, needs writes of storage images without a format
  both    image 0:0    read        texture_2d<f32>
  parts   image 0:1    read        texture_3d<i32>
  how     sampler 0:2  read        sampler
  from    image 0:3    read        texture_storage_2d_array<rgba8unorm>
  counts  image 0:4    read_write  texture_storage_1d<r32uint>
  target  image 0:5    write       texture_storage_2d<f32>
  texels  texels 0:6   read        texel_buffer<u32>";
    let found = translated(&Source::glsl(text)).unwrap().signature;
    assert_eq!(found.to_string(), expected);
    let written: Vec<_> = found.params.iter().filter(|param| param.writes).map(|param| param.name.as_str()).collect();
    assert_eq!(written, ["counts", "target"]);
}

#[test]
fn uniform_variables_become_push_constants() {
    let text = "#version 310 es
precision highp float;
layout(local_size_x = 1) in;
uniform int width;
layout(location = 3) uniform highp vec2 at, shift;
uniform float weights[3];
layout(std140, binding = 0) uniform Other { float scale; int more; };
layout(std430, binding = 1) writeonly buffer X { float x[]; };
float f(int i) { return weights[i] + at.x; }
void main() { x[width] = f(2) * shift.y * scale + float(more); }";
    let expected = "main: workgroup 1×1×1
  Other    uniform 0:0  read   Other
  x        storage 0:1  write  array<f32>
  width    push +0             i32
  at       push +8             vec2<f32>
  shift    push +16            vec2<f32>
  weights  push +32            array<f32, 3>";
    assert_eq!(signature(text).unwrap(), expected);
}

#[test]
fn defines_and_includes_are_part_of_the_shader_and_have_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("twice.glsl");
    fs::write(&file, "float twice(float v) {\n    return FACTOR * v;\n}\n").unwrap();
    let text = "#version 450
#extension GL_GOOGLE_include_directive : require
#include \"twice.glsl\"
layout(local_size_x = SIZE) in;
layout(std430, binding = 0) buffer X { float x[]; };
void main() { x[0] = twice(x[1]); }";
    let source = || Source::glsl(text).named("k.comp").include_dir(folder.path()).define("SIZE", "32");
    let good = translated(&source().define("FACTOR", "2.0")).unwrap();
    assert_eq!(good.signature.workgroup_size, [32, 1, 1]);
    let shown = file.display().to_string();
    let places: Vec<_> = (0..good.spirv.len()).filter_map(|word| line_of(&good.spirv, word)).collect();
    assert!(places.contains(&"k.comp:6".to_owned()) && places.contains(&format!("{shown}:2")), "{places:?}");
    let error = translated(&source()).unwrap_err().to_string();
    assert_eq!(error, format!("{shown}:2: `FACTOR`: undeclared identifier\n    return FACTOR * v;"));
    // What a file says, and which macros there are, make different kernels; a resolved source keeps what it has read.
    let resolved = source().resolved();
    assert_ne!(resolved, source().define("FACTOR", "2.0").resolved());
    fs::write(&file, "float twice(float v) { return v; }").unwrap();
    assert_ne!(resolved, source().resolved());
    translated(&resolved).unwrap_err();
    translated(&source()).unwrap();
}

#[test]
fn a_missing_or_failing_compiler_is_an_error_that_says_what_to_do() {
    let compiler = |program: &str| Compiler::Program(program.into());
    let missing = compiler("/no/such/glslangValidator").compile("", Rules::Vulkan).unwrap_err().to_string();
    for part in ["/no/such/glslangValidator cannot be started", "glslang-tools", "VKARRAY_GLSLANG", "feature `glslang`"]
    {
        assert!(missing.contains(part), "{missing}");
    }
    #[cfg(unix)]
    for program in ["true", "false"] {
        let failed = compiler(program).compile("", Rules::Vulkan).unwrap_err().to_string();
        assert!(failed.starts_with(&format!("{program} gave no answer: it ended with exit status: ")), "{failed}");
    }
}

#[test]
fn hostile_text_is_an_error_not_a_crash() {
    let main =
        |body: String| format!("#version 450\nlayout(local_size_x = 1) in;\nvoid main() {{ float x = 1.0; {body} }}");
    let doubled: String = (1..18).map(|i| format!("#define A{i} A{0} + A{0}\n", i - 1)).collect();
    let texts = [
        main(format!("x = {}1.0{};", "(".repeat(20_000), ")".repeat(20_000))),
        main("{".repeat(20_000)),
        main(format!("x = x{};", " + x".repeat(50_000))),
        format!("#version 450\n#define A0 x + x\n{doubled}{}", &main("x = A17;".to_owned())[13..]),
        "\0\u{feff}#version 450".to_owned(),
        "#version 450\n#line 7 \"k.comp\"\n#error vkarray_unresolved_include_9\n".to_owned(),
    ];
    // What is just short enough is compiled, or refused by the compiler.
    let long = main(format!("x = x{};", " + x".repeat(19_000)));
    for text in texts.into_iter().chain([long, main(format!("x = {}1.0{};", "sin(".repeat(900), ")".repeat(900)))]) {
        let start: String = text.chars().take(80).collect();
        match translated(&Source::glsl(text)) {
            Ok(_)
            | Err(
                Error::Parse { .. }
                | Error::NoEntryPoint { .. }
                | Error::GlslCompiler { .. }
                | Error::Spirv(SpirvError::Malformed { .. }),
            ) => {}
            Err(other) => panic!("{start}: {other}"),
        }
    }
}

#[test]
fn a_block_and_an_array_have_different_names() {
    let text = "#version 450\nlayout(local_size_x = 1) in;
layout(binding = 0) buffer a { float x[]; };
shared uint a[4];
void main() { x[0] = 1; }";
    let error = signature(text).unwrap_err();
    assert!(error.contains("`a`: red"), "{error}");
}
