//! GLSL through naga: signatures, and where the subset ends. WGSL is tested with `translate/module.rs`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{Module, Options, Source};

fn signature(text: impl Into<Cow<'static, str>>) -> Result<String, String> {
    let module = Module::parse(&Source::glsl(text).named("k.comp")).map_err(|error| error.to_string())?;
    let translated =
        module.translate(None, &BTreeMap::new(), &Options::default()).map_err(|error| error.to_string())?;
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
fn where_the_subset_ends_there_is_advice() {
    let advice = "for the whole language run `glslangValidator -V` on the file and use the SPIR-V";
    // What the line is, and the place of the error.
    let cases = [
        (
            "#version 450\nlayout(local_size_x = 1) in;\nvoid main() { int x = ; }",
            "k.comp:3:23: the shader does not parse",
        ),
        (
            "#version 450\nlayout(local_size_x = 1) in;\nshared uint s;\nvoid main() { atomicAdd(s, 1u); }",
            "k.comp:4:15: the shader does not parse",
        ),
        (
            "#version 450\n#extension GL_KHR_shader_subgroup_basic : require\nlayout(local_size_x_id = 0) in;\nvoid main() {}",
            "k.comp:3:8: the shader does not parse",
        ),
        ("#version 460 core\nvoid main() { undeclared = 1; }", "k.comp:2:15: the shader does not parse"),
    ];
    for (text, place) in cases {
        let found = signature(text).unwrap_err();
        assert!(found.starts_with(place), "{found}");
        assert!(found.ends_with(advice), "{found}");
    }
}

#[test]
fn what_no_kernel_takes_is_named_with_what_to_do() {
    let texels = "declare a storage buffer of its texels, and index it with `y * width + x`";
    // Declarations, a statement, and how the report begins.
    let cases = [
        (
            "#extension GL_GOOGLE_include_directive : enable\n#include \"common.glsl\"",
            "x[0] = twice(1.0);",
            "k.comp:5:2: `#include \"common.glsl\"` is not followed: this text alone was read, and no folder was searched; \
             run `glslangValidator -V -IFOLDER` on the file"
                .to_owned(),
        ),
        (
            "layout(binding = 1) uniform sampler2D tex;",
            "x[0] = texture(tex, vec2(0.0)).x;",
            "k.comp:4:29: `tex` is a sampled image: declare a storage buffer of the texels".to_owned(),
        ),
        (
            "layout(binding = 1, rgba32f) uniform image2D pic;",
            "imageStore(pic, ivec2(0), vec4(x[0]));",
            format!("kernel `main`: `pic` is a texture or storage image: {texels}"),
        ),
        (
            "layout(binding = 1) buffer B { float y[]; } many[4];",
            "many[1].y[0] = x[0];",
            "kernel `main`: `many` is an array of bindings: declare each buffer alone".to_owned(),
        ),
        (
            "layout(binding = 1) buffer B { float y[2]; } many[4];",
            "many[1].y[0] = x[0];",
            "kernel `main`: `many` is an array of bindings: declare each buffer alone".to_owned(),
        ),
        (
            "layout(binding = 0) buffer B { uint y[]; } other;",
            "other.y[1] = uint(x[0]);",
            "k.comp:4:28: `X` and `other` have the same group 0 and binding 0: give one of them another number; in SPIR-V an entry point may use both".to_owned(),
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

/// Every text that is cut into words is cut between characters: a character outside ASCII may stand anywhere.
#[test]
fn characters_outside_ascii_may_stand_anywhere() {
    let wgsl = "enable f16, subgroups; requires subgroup_id; /* a */ alias half2 = vec2<f16>;
@group(0) @binding(0) var<storage, read_write> x: array<u32>; // b
override N: u32 = 2; fn f(a: float3) -> f32 { return fmod(a.x, 2.0); }
@compute @workgroup_size(1) fn main() { x[0] = u32(bitcast<half2>(x[1]).x); }";
    let glsl = "#version 310 es\n#extension GL_EXT_x : enable /* a */\n#ifdef A\n#define B(c) \\\n (c)\n#endif // b
layout(local_size_x = 1, local_size_y_id = 3) in; precision highp float;
layout(std430, binding = 0) buffer X { float x[]; } own; layout(constant_id = 0) const bool IS = true;
layout(push_constant) uniform P { vec2 a; int n; } p; shared uint s[4];
void main() { own.x[gl_GlobalInvocationID.x] = p.a.x * 0x1Fu + float(p.n); barrier(); }";
    for (text, source) in [(wgsl, Source::wgsl as fn(String) -> Source), (glsl, Source::glsl)] {
        for (at, letter) in (0..=text.len()).flat_map(|at| ["Θ", "→", "\u{85}", "𝛼/*", "ß;"].map(|letter| (at, letter)))
        {
            let changed = [&text[..at], letter, &text[at..]].concat();
            let Ok(module) = Module::parse(&source(changed).named("Θ.wgsl")) else { continue };
            let _ = module.translate(None, &BTreeMap::new(), &Options::default());
        }
    }
}
