//! Which calls with pointers are translated and which are refused; what they compute is tested on devices.

use std::collections::BTreeMap;

use crate::{Bounds, Limits, Module, Options, Sanitize, Source};

const SHADER: &str = "
struct Item { n: u32, pairs: array<vec2<u32>, 3> }
@group(0) @binding(0) var<storage, read_write> x: array<Item>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<uniform> u: array<vec4<u32>, 4>;
var<workgroup> tile: array<u32, 64>;
var<workgroup> counts: array<atomic<u32>, 3>;
var<private> own: array<u32, 4>;
";

fn translate(declarations: &str, body: &str, options: &Options) -> Result<(), String> {
    let text = format!(
        "{SHADER}{declarations}\n@compute @workgroup_size(64) fn k(@builtin(local_invocation_index) i: u32) {{ {body} }}"
    );
    let module = Module::parse(&Source::wgsl(text).named("k.wgsl")).map_err(|error| error.to_string())?;
    module.translate(None, &BTreeMap::new(), options).map(drop).map_err(|error| error.to_string())
}

#[test]
fn pointers_to_any_variable_are_passed() {
    let cases = [
        ("fn f(p: ptr<function, u32>) { *p += 1u; }", "var a = array(1u, 2u, 3u); f(&a[i % 3u]);"),
        (
            "fn f(p: ptr<function, u32>) -> u32 { return *p; }",
            "var a: Item; var b: array<u32, 5>; y[0] = f(&a.n) + f(&b[i % 5u]);",
        ),
        ("fn f(p: ptr<private, u32>) { *p += 1u; }", "f(&own[i & 3u]);"),
        ("fn f(p: ptr<workgroup, array<u32, 64>>, i: u32) { (*p)[i] = i; }", "f(&tile, i);"),
        ("fn f(p: ptr<workgroup, u32>) { *p = 1u; }", "f(&tile[63u - i]);"),
        ("fn f(p: ptr<workgroup, atomic<u32>>) -> u32 { return atomicAdd(p, 2u); }", "y[i] = f(&counts[i % 3u]);"),
        ("fn f(p: ptr<storage, array<u32>, read_write>) { (*p)[arrayLength(p) - 1u] = 1u; }", "f(&y);"),
        ("fn f(p: ptr<storage, vec2<u32>, read_write>) { (*p).y = 1u; }", "let p = &x[i]; f(&(*p).pairs[i % 3u]);"),
        ("fn f(p: ptr<uniform, vec4<u32>>) -> u32 { return (*p).z; }", "y[i] = f(&u[i & 3u]);"),
        // Through another function, twice, and of two variables.
        (
            "fn g(p: ptr<workgroup, u32>, n: u32) { *p += n; }
            fn f(p: ptr<workgroup, array<u32, 64>>, i: u32) { g(&(*p)[i], 1u); g(&(*p)[i + 1u], 2u); }",
            "f(&tile, i); f(&tile, i + 1u);",
        ),
        (
            "fn f(a: ptr<storage, u32, read_write>, n: u32, b: ptr<workgroup, u32>) { *a = n; *b = n; }",
            "f(&y[i], 7u, &tile[i]); f(&x[i].n, 8u, &tile[0]);",
        ),
        ("fn f(p: ptr<workgroup, u32>) { *p = 1u; }", ""), // It is not called.
        (
            "fn f(p: ptr<workgroup, array<u32, 64>>, i: u32) -> u32 {
                var sum = 0u;
                for (var k = 0u; k < i; k++) { switch (*p)[k] { case 0u: { sum += 1u; } default: { break; } } }
                return workgroupUniformLoad(&(*p)[0]) + sum;
            }",
            "y[i] = f(&tile, i);",
        ),
    ];
    let sanitize = Some(Sanitize { max_shared_bytes: Limits::MINIMUM.max_shared_bytes, max_rounds: 1 });
    let default = Options::default();
    let ways = [
        default,
        Options { bounds: Bounds::Unchecked, ..default },
        Options { robust_buffers: true, ..default },
        Options { sanitize, ..default },
    ];
    for (declarations, body) in cases {
        for options in &ways {
            assert_eq!(translate(declarations, body, options), Ok(()), "{declarations}");
        }
    }
}

#[test]
fn a_pointer_of_another_kind_is_refused_where_it_is() {
    for (declared, given) in [("storage, u32", "tile[0]"), ("workgroup, u32", "tile"), ("storage, u32", "y[i]")] {
        let (function, call) = (format!("fn f(p: ptr<{declared}>) {{}}"), format!("f(&{given});"));
        let message = translate(&function, &call, &Options::default()).unwrap_err();
        let expected = "k.wgsl:10:78: function `f`: the argument for `p` has to point to a variable of the parameter's type, or to a part of one";
        assert_eq!(message, expected, "{declared}, {given}");
    }
}
