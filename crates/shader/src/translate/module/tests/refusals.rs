//! Every refusal of the translation, with its whole message where the text is ours.

use super::*;
use crate::Resource;

const REFUSALS: &[Case<'_>] = &[
    (TWO, None, &[], "test.wgsl: name the entry point to use, one of `one`, `two`"),
    (TWO, Some("tow"), &[], "test.wgsl: no compute entry point `tow`; there is `one`, `two` (did you mean `two`?)"),
    (TWO, Some("main"), &[], "test.wgsl: no compute entry point `main`; there is `one`, `two`"),
    ("@fragment fn f() {}", None, &[], "test.wgsl: no compute entry point (`@compute @workgroup_size(64) fn …`)"),
    ("", Some("main"), &[], "test.wgsl: no compute entry point (`@compute @workgroup_size(64) fn …`)"),
    (SAXPY, None, &[("TILE", 1.0)], "kernel `saxpy`: no constant `TILE`; there is none"),
    (
        CONVOLVE,
        None,
        &[("TILES", 1.0)],
        "kernel `convolve`: no constant `TILES`; there is `TILE`, `GAIN`, `HALO` (did you mean `TILE`?)",
    ),
    (CONVOLVE, None, &[("8", 1.0)], "kernel `convolve`: no constant `8`; there is `TILE`, `GAIN`, `HALO`"),
    (
        CONVOLVE,
        None,
        &[],
        "kernel `convolve`: constant `GAIN` has no default and must be set; its constants are `TILE`, `GAIN`, `HALO`",
    ),
    (TWO, Some("two"), &[], "kernel `two`: constant `B` has no default and must be set; its constants are `A`, `B`"),
    (
        CONVOLVE,
        None,
        &[("GAIN", 1.0), ("7", 1.0)],
        "kernel `convolve`: constant `GAIN` is set twice, by name and as `7`",
    ),
    (
        CONVOLVE,
        None,
        &[("TILE", 1.5)],
        "kernel `convolve`: constant `TILE` is u32 and cannot be 1.5: expected a whole number from 0 to 4294967295",
    ),
    (
        CONVOLVE,
        None,
        &[("TILE", -1.0)],
        "kernel `convolve`: constant `TILE` is u32 and cannot be -1: expected a whole number from 0 to 4294967295",
    ),
    (
        CONVOLVE,
        None,
        &[("TILE", f64::NAN)],
        "kernel `convolve`: constant `TILE` is u32 and cannot be NaN: expected a whole number from 0 to 4294967295",
    ),
    (
        CONVOLVE,
        None,
        &[("7", f64::INFINITY)],
        "kernel `convolve`: constant `GAIN` is f32 and cannot be inf: expected a number from -3.4028235e38 to 3.4028235e38",
    ),
    (
        TWO,
        Some("two"),
        &[("B", 2_147_483_648.0)],
        "kernel `two`: constant `B` is i32 and cannot be 2147483648: expected a whole number from -2147483648 to 2147483647",
    ),
    (
        CONVOLVE,
        None,
        &[("TILE", 0.0), ("GAIN", 1.0)],
        "kernel `convolve`: not valid with the constants GAIN = 1, TILE = 0: the workgroup size is not positive",
    ),
];

#[test]
fn refusals_name_the_constant_or_entry_point() {
    for (text, entry, constants, message) in REFUSALS {
        let error = translate_with(*text, *entry, constants, &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), *message);
    }
}

#[test]
fn things_that_are_no_buffers_are_refused_by_name() {
    let cases = [
        (
            "@group(0) @binding(0) var image: texture_depth_2d;
          @compute @workgroup_size(1) fn main() { _ = textureLoad(image, vec2(0), 0); }",
            "image",
            Resource::Image,
        ),
        (
            "@group(0) @binding(0) var many: texture_multisampled_2d<f32>;
          @compute @workgroup_size(1) fn main() { _ = textureLoad(many, vec2(0), 0); }",
            "many",
            Resource::Image,
        ),
        (
            "@group(0) @binding(0) var cube: texture_cube<f32>;
          @compute @workgroup_size(1) fn main() { _ = textureDimensions(cube); }",
            "cube",
            Resource::Image,
        ),
        (
            "@group(0) @binding(0) var image: texture_2d<f32>; @group(0) @binding(1) var comparing: sampler_comparison;
          @compute @workgroup_size(1) fn main() { _ = comparing; }",
            "comparing",
            Resource::Sampler,
        ),
    ];
    for (text, variable, resource) in cases {
        let message = format!("kernel `main`: `{variable}` is {resource}");
        assert_eq!(translate(text, &[]).unwrap_err().to_string(), message);
    }
    // One that no path uses is no obstacle.
    let unused = "@group(0) @binding(0) var image: texture_2d<f32>; @compute @workgroup_size(1) fn main() {}";
    assert_eq!(signature(unused, &[]).params, []);
}

#[test]
fn parse_errors_show_the_place_and_the_line() {
    let text = "@compute @workgroup_size(1) fn main() {\n    let x = 1 +;\n}";
    let error = Module::parse(&Source::wgsl(text).named("bad.wgsl")).unwrap_err();
    let expected = "\
bad.wgsl:2:16: the shader does not parse
error: expected expression, found \";\"
  ┌─ bad.wgsl:2:16
  │
2 │     let x = 1 +;
  │                ^ expected expression";
    assert_eq!(error.to_string(), expected);
}

/// Shaders that must fail before translation: text, whether it parses, where, and a part of the report.
#[test]
fn bad_shaders_are_refused() {
    let cases = [
        ("fn", false, "test.wgsl:1:3", "expected identifier"),
        ("@compute @workgroup_size(1) fn main() { y = 1; }", false, "test.wgsl:1:41", "nothing is called `y` here"),
        ("var<push_constant> a: f32;", false, "test.wgsl:1:5", "push_constant"), // The older spelling.
        ("@group(0) @binding(0) var<storage> x: array<f16>;", false, "test.wgsl:1:45", "f16"), // Without `enable f16;`.
        (
            "enable f16; var<immediate> h: f16; @compute @workgroup_size(1) fn main() { _ = h; }",
            true,
            "test.wgsl:1:13",
            "not valid for use as a immediate data",
        ),
        (
            "@group(0) @binding(0) var<uniform> u: array<f32, 4>; @compute @workgroup_size(1) fn main() { _ = u[0]; }",
            true,
            "test.wgsl:1:23",
            "use `array<vec4<f32>, 1>`",
        ), // Constant memory requires a stride of 16.
        (
            "var<storage> x: array<f32>; @compute @workgroup_size(1) fn main() { _ = x[0]; }",
            true,
            "test.wgsl:1:1",
            "`x` needs its place",
        ),
        (
            "@compute @workgroup_size(0) fn main() {}",
            true,
            "test.wgsl",
            "a workgroup has 1 to 16384 invocations along each axis",
        ),
        (
            "@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(0) var<storage, read> b: array<u32>;
@compute @workgroup_size(1) fn main() { _ = a[0] + b[0]; }",
            true,
            "test.wgsl:2:23",
            "`a` and `b` have the same group 0 and binding 0: give one of them another number",
        ),
    ];
    let mut wrong = Vec::new();
    for (text, parses, place, part) in cases {
        let error = Module::parse(&Source::wgsl(text).named("test.wgsl")).expect_err(text);
        let found = match &error {
            Error::Parse { place, report } => (false, place.as_str(), report.contains(part)),
            Error::Invalid { place, report } => (true, place.as_str(), report.contains(part)),
            other => panic!("{text}: {other}"),
        };
        if found != (parses, place, true) {
            wrong.push(format!("expected {:?}, found {found:?}\n{error}", (parses, place, part)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn hostile_text_is_an_error_not_a_crash() {
    let deep = |open: &str, close: &str, n: usize| {
        format!("@compute @workgroup_size(1) fn main() {{ let x = {}1{}; }}", open.repeat(n), close.repeat(n))
    };
    let texts = [
        deep("(", ")", 100_000),
        deep("-", "", 100_000),
        format!("@compute @workgroup_size(1) fn main() {{ {} {} }}", "{".repeat(100_000), "}".repeat(100_000)),
        format!("@group(0) @binding(0) var<storage> x: {}f32{};", "array<".repeat(100_000), ">".repeat(100_000)),
        "\u{0}\u{feff}@compute".to_owned(),
        format!("@compute @workgroup_size(1) fn main() {{ let x = 1{}; }}", " + 1".repeat(100_000)),
        format!("@compute @workgroup_size(1) fn main() {{ if true {{}}{} }}", " else if true {}".repeat(100_000)),
    ];
    for text in texts {
        let start: String = text.chars().take(80).collect();
        let error = Module::parse(&Source::wgsl(text)).expect_err(&start);
        assert!(matches!(error, Error::Parse { .. } | Error::Invalid { .. }), "{start}");
    }
}

#[test]
fn constants_that_break_an_array_are_an_error() {
    let text = "
override N: u32 = 4;
var<workgroup> w: array<u32, N * N>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() { out[0] = w[0]; }";
    // No elements, 6.4 GB, and a square that wraps to zero, as WGSL's unsigned arithmetic does.
    for n in [0.0, 40_000.0, 65_536.0] {
        let error = translate(text, &[("N", n)]).unwrap_err();
        assert!(matches!(error, Error::Constants { .. }), "{n}: {error:?}");
        assert!(
            error.to_string().starts_with(&format!("kernel `main`: not valid with the constants N = {n}: ")),
            "{error}"
        );
    }
}

#[test]
fn a_workgroup_too_large_to_tell_apart_is_refused() {
    let text = "@compute @workgroup_size(64, 8, 5) fn main() {}";
    let options = Options {
        sanitize: Some(Sanitize { max_shared_bytes: 1 << 15, max_rounds: Sanitize::MAX_ROUNDS }),
        ..Options::default()
    };
    let error = Module::parse(&Source::wgsl(text)).unwrap().translate(None, &Default::default(), &options).unwrap_err();
    let expected =
        "kernel `main` cannot be sanitized: a workgroup has 2560 invocations, the checks support at most 2048";
    assert_eq!(error.to_string(), expected);
}
