//! What is taken out, and what is left to naga.

use super::*;

const HEAD: &str = "layout(local_size_x = 4) in;\n";

/// The module that naga makes of an adapted shader.
fn module(text: &str) -> Result<Module, String> {
    let adapted = adapt(text);
    assert!(adapted.is_longer || adapted.text.len() == text.len(), "places move: {}", adapted.text);
    let options = naga::front::glsl::Options::from(naga::ShaderStage::Compute);
    let parsed = naga::front::glsl::Frontend::default().parse(&options, &adapted.text);
    let mut module = parsed.map_err(|errors| errors.emit_to_string(&adapted.text))?;
    adapted.finish(&mut module).map_err(|(at, reason)| format!("{at}: {reason}"))?;
    Ok(module)
}

#[test]
fn what_changes_nothing_is_taken_out() {
    let cases = [
        ("precision highp float; x", "                       x"),
        ("precision lowp\n int;", "              \n     "),
        ("highp float f(lowp float mediump_);", "      float f(     float mediump_);"), // A name is no precision.
        ("#version 310 es\nx", "#version 450   \nx"),
        ("  # version 430 core", "  # version 450 core"),
        ("#version 460\nint v = 430;", "#version 460\nint v = 430;"),
        ("float f(const in int i)", "float f(const    int i)"),
        ("float f(in int i)", "float f(in int i)"),
        ("// highp\n/* writeonly */ /* highp", "// highp\n/* writeonly */ /* highp"),
        ("writeonly buffer X { readonly float x[]; };", "          buffer X {          float x[]; };"),
        ("readonly restrict buffer X { restrict float x[]; };", "readonly restrict buffer X {          float x[]; };"),
        ("#define OUT writeonly buffer\n", "#define OUT           buffer\n"),
        ("; memoryBarrierShared(); barrier();", ";                        barrier();"),
        (
            "{ barrier(); groupMemoryBarrier(); memoryBarrier(); x",
            "{ barrier();                                        x",
        ),
        ("; memoryBarrierShared(); x;", "; memoryBarrierShared(); x;"), // Alone: naga refuses it.
        ("if (a) memoryBarrierShared(); barrier();", "if (a) memoryBarrierShared(); barrier();"),
        ("buffer X { layout(offset = 4) uint a; };", "buffer X {                    uint a; };"),
        ("buffer X { layout(row_major) mat2 a; };", "buffer X { layout(row_major) mat2 a; };"),
        ("ü highp ü", "ü       ü"),
    ];
    for (text, expected) in cases {
        assert_eq!(adapt(text).text, expected);
    }
}

#[test]
fn uniform_variables_become_push_constants() {
    let block = |members: &str| format!("layout(push_constant, std430) uniform Uniforms {{ {members} }};");
    let cases = [
        ("uniform int n;", format!("{}              ", block("int n;"))),
        (
            "layout(location = 3) uniform highp vec2 a, b; uniform float w[4]; x",
            format!("{}{:46}{:20}x", block("vec2 a, b;float w[4];"), "", ""),
        ),
        ("uniform sampler2D s;", "uniform sampler2D s;".to_owned()),
        ("uniform float s = 1.0;", "uniform float s = 1.0;".to_owned()),
        ("uniform U { float s; };", "uniform U { float s; };".to_owned()),
        ("#if A\nuniform float s;\n#endif", "#if A\nuniform float s;\n#endif".to_owned()),
        ("layout(push_constant) uniform P { int n; }; uniform int m;", String::new()),
        ("uniform int\n// n\nn;", String::new()),
    ];
    for (text, expected) in cases {
        let expected = if expected.is_empty() { text.to_owned() } else { expected };
        assert_eq!(adapt(text).text.trim_end(), expected.trim_end());
    }
}

#[test]
fn naga_reads_what_is_left() {
    let cases = [
        "layout(binding = 0) writeonly buffer X { float x[]; }; void main() { x[0] = 1.0; }",
        "layout(binding = 0) buffer X { readonly highp float x[]; }; void main() { lowp float y = x[0]; }",
        "uniform uint n; layout(binding = 0) buffer X { uint x[]; }; void main() { x[0] = n; }",
        "shared uint t[4]; void main() { t[0] = 1u; memoryBarrierShared(); barrier(); }",
        "layout(std140, binding = 0) uniform U { layout(offset = 0) float a; layout(offset = 16) vec4 b; }; void main() {}",
    ];
    for case in cases {
        for version in ["#version 310 es\nprecision highp float;", "#version 430", "#version 450 core"] {
            let text = format!("{version}\n{HEAD}{case}");
            assert!(module(&text).is_ok(), "{text}\n{:?}", module(&text));
        }
    }
}

#[test]
fn a_coherent_buffer_makes_all_coherent() {
    let text = format!(
        "#version 450\n{HEAD}layout(binding = 0) coherent buffer X {{ float x[]; }};
        layout(binding = 1) buffer Y {{ float y[]; }}; void main() {{ y[0] = x[0]; }}"
    );
    for (text, expected) in [(text.replace("coherent", ""), false), (text, true)] {
        let module = module(&text).unwrap();
        let is_coherent = |variable: &GlobalVariable| variable.memory_decorations.contains(MemoryDecorations::COHERENT);
        assert!(module.global_variables.iter().all(|(_, variable)| is_coherent(variable) == expected));
    }
}

#[test]
fn an_offset_that_naga_does_not_keep_is_refused() {
    let text = format!(
        "#version 450\n{HEAD}layout(std430, binding = 0) buffer X {{ float a; layout(offset = 32) float b; }}; void main() {{}}"
    );
    let at = text.find("layout(offset").unwrap();
    let message = format!("{at}: `X.b` is to lie at byte 32, naga puts it at byte 4");
    assert_eq!(module(&text).unwrap_err(), message);
}

#[test]
fn a_barrier_waits_for_the_workgroup() {
    let text = format!(
        "#version 450\n{HEAD}layout(binding = 0) buffer X {{ float x[]; }}; shared float t[4];
        void wait() {{ for (int i = 0; i < 3; i++) {{ barrier(); }} }}
        void main() {{ t[0] = x[0]; barrier(); wait(); switch (1) {{ case 1: barrier(); }} x[1] = t[3]; }}"
    );
    let module = module(&text).unwrap();
    let shown: String = module.functions.iter().map(|(_, function)| format!("{:?}", function.body)).collect();
    let [all, right] =
        ["ControlBarrier(", "ControlBarrier(Barrier(STORAGE | WORK_GROUP))"].map(|what| shown.matches(what).count());
    assert_eq!((all, right), (3, 3), "{shown}");
}

#[test]
fn any_text_is_taken() {
    for text in [
        "",
        "#",
        "uniform",
        "uniform {",
        "{",
        "}",
        "layout(",
        "layout(offset = ",
        "precision",
        "/*",
        "//",
        "#if\n#endif\n#endif",
        "in",
        "buffer {",
        "uniform ;",
        "barrier();",
    ] {
        adapt(text);
    }
}
