//! Every sentence, with a shader that is refused with it.

use std::collections::BTreeMap;

use crate::{Module, Options, Source};

/// What is said about a shader with these declarations and this statement in its entry point.
fn said(declared: &str, statement: &str) -> String {
    let text = format!(
        "{declared}
        @group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @group(0) @binding(1) var<storage, read> y: array<f32>;
        fn twice(value: f32) -> f32 {{ return 2.0 * value; }}
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = id.x;
            var a = 1.0;
            {statement}
        }}"
    );
    said_of(text)
}

fn said_of(text: impl Into<String>) -> String {
    let translated = Module::parse(&Source::wgsl(text.into()).named("k.wgsl"))
        .and_then(|module| module.translate(None, &BTreeMap::new(), &Options::default()));
    translated.expect_err("it is refused").to_string()
}

/// Statements, and the sentence about each.
const STATEMENTS: &[(&str, &str)] = &[
    ("x[i] = i;", "a value of type `u32` stands where `f32` is needed: convert it with `f32(…)`"),
    ("let b = a + i;", "the left side is `f32` and the right side `u32`: convert one of them, as in `f32(…)`"),
    ("if i < 3i { a = 2.0; }", "the left side is `u32` and the right side `i32`: convert one of them, as in `u32(…)`"),
    (
        "let b: f32 = i;",
        "`b` is declared as `f32`, but its value is `u32`: convert the value with `f32(…)`, or leave the type out",
    ),
    (
        "let b: u32 = 1.5;",
        "`b` is declared as `u32`, but its value is a number with a fraction: convert the value with `u32(…)`, or leave \
         the type out",
    ),
    ("let b: u32 = -1;", "`-1` does not fit the type `u32`"),
    ("a = sqrt(i);", "`sqrt` does not take a value of this type as argument 1: convert it, as in `f32(…)`"),
    ("a = twice(i);", "`twice` takes a value of type `f32` as `value`, and the call has another type"),
    ("a = twice();", "`twice` takes 1 arguments, and the call has 0"),
    ("if i { a = 2.0; }", "the condition is no `bool`: compare the value, as in `i != 0u`"),
    ("x[a] = 1.0;", "an index is an `i32` or a `u32`: convert it with `u32(…)`"),
    ("a = x[-1];", "an index is not negative: arrays begin at 0"),
    ("y[i] = 1.0;", "this cannot be written: a buffer that is written is a `var<storage, read_write>`"),
    ("let target = 1u;", "`target` is a reserved word of WGSL: choose another name"),
    ("let i = 3u;", "`i` is declared twice: choose another name for one of them"),
    ("a = 2.0 a = 3.0;", "a `;` is missing before `a`"),
    ("a = i > 2u ? 1.0 : 2.0;", "WGSL has no `a ? b : c`: write `select(c, b, a)`, the value for false first"),
    (
        "float b = 1.0;",
        "this is no statement of WGSL: variables are declared with `var name = value;` or, if they do not change, \
         `let name = value;`",
    ),
    ("i = 2u;", "this cannot be changed: declare it with `var` in place of `let`, or copy the argument to a `var`"),
    ("a++;", "`++` and `--` change a `var` of type `i32` or `u32`; for other types write `+= 1`"),
    ("let b: float = 1.0;", "`float` is no type of WGSL: it is called `f32`"),
    ("let b = uint(1.0);", "`uint` is no type of WGSL: it is called `u32`"),
    ("let b = float4(1.0);", "`float4` is no type of WGSL: it is called `vec4<f32>`"),
    ("let b = ivec2(1);", "`ivec2` is no type of WGSL: it is called `vec2<i32>`"),
    ("a = fmod(a, 2.0);", "WGSL has no `fmod`: write `a % b`"),
    (
        "x[threadIdx.x] = 1.0;",
        "`threadIdx` is not of WGSL: built-in values are arguments of the entry point, such as \
         `@builtin(global_invocation_id) id: vec3<u32>`",
    ),
    ("a = speed;", "nothing is called `speed` here: declare it, or correct its name"),
    ("const n = i;", "a `const` is computed before the shader runs: use `let` for a value that the kernel computes"),
    (
        "atomicAdd(&x[i], 1.0);",
        "atomic functions take a pointer to an atomic type: declare it `atomic<u32>`, `atomic<i32>` or `atomic<f32>`, \
         an array as `array<atomic<u32>>`",
    ),
    ("if i < 4u { a = 2.0;", "the text ends too early: a `}` or `)` is missing"),
];

/// Declarations, a statement that uses them, and the sentence.
const DECLARATIONS: &[(&str, &str, &str)] = &[
    (
        "var<immediate> s: f32; var<immediate> t: f32;",
        "a = s + t;",
        "an entry point can use one `var<immediate>`: put them into one struct",
    ),
    (
        "@group(0) @binding(2) var<uniform> u: array<u32, 256>;",
        "a = f32(u[i]);",
        "`u`: elements of an array in `var<uniform>` lie at multiples of 16 bytes, these at 4: use `array<vec4<u32>, 64>`, \
         whose number `i` is `[i / 4][i % 4]`, or `var<storage, read>`",
    ),
    (
        "@group(0) @binding(2) var<uniform> u: array<vec2<f32>, 8>;",
        "a = u[i].x;",
        "`u`: elements of an array in `var<uniform>` lie at multiples of 16 bytes, these at 8: make the elements `vec4`, \
         or use `var<storage, read>`",
    ),
    (
        "var<storage> z: array<f32>;",
        "a = z[i];",
        "`z` needs its place, which no other buffer has: `@group(0) @binding(0)`",
    ),
    (
        "@binding(2) var<storage> z: array<f32>;",
        "a = z[i];",
        "a buffer needs both of its numbers: `@group(0) @binding(0)`",
    ),
    (
        "var z: f32;",
        "a = z;",
        "`z` needs an address space: `var<storage, read_write>` for a buffer, `var<workgroup>` for shared memory, \
         `var<private>` for one invocation",
    ),
    (
        "var<workgroup> t: array<f32>;",
        "a = t[i];",
        "`t` needs a length, as in `array<f32, 64>`: only `var<storage>` may leave it to the buffer",
    ),
    ("var<push_constant> s: f32;", "a = s;", "push constants are declared with `var<immediate>`"),
    ("var<private> h: f16;", "a = f32(h);", "`f16` needs `enable f16;` as the shader's first line"),
    ("struct S { a: f32; b: f32 }", "", "what stands here is separated by `,`, not by `;`"),
    (
        "#define N 4",
        "",
        "WGSL has no `#define` and no `#include`: declare a `const`, or add the other text with `Source::with`",
    ),
    (
        "var<workgroup> c: atomic<u32>;",
        "c += 1u;",
        "an atomic variable is read and changed by functions: `atomicLoad(&a)`, `atomicStore(&a, value)`, \
         `atomicAdd(&a, value)`",
    ),
    ("fn f(v: f32) -> u32 { return v; }", "a = f32(f(a));", "the value is not of the type that the function returns"),
    ("@compute fn other() {}", "", "an entry point needs the size of its workgroups: `@compute @workgroup_size(64)`"),
];

/// Texts with `f16`, and places that a directive may not have.
const WHOLE: &[(&str, &str)] = &[
    (
        "enable f16; @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn main() { x[0] = bitcast<u32>(bitcast<vec2<f16>>(x[1]) + bitcast<vec2<f16>>(x[2])); }",
        "`bitcast<vec2<f16>>(a)` is not translated: write `vec2<f16>(unpack2x16float(a))`, with `a` of type `u32`",
    ),
    (
        "enable f16; @group(0) @binding(0) var<storage, read_write> x: array<vec2<u32>>; alias Four = vec4<f16>;
        @compute @workgroup_size(1) fn main() { let v = bitcast<Four>(x[1]); x[0].x = u32(v.w); }",
        "`bitcast<vec4<f16>>(a)` is not translated: write \
         `vec4<f16>(vec4(unpack2x16float(a.x), unpack2x16float(a.y)))`, with `a` of type `vec2<u32>`",
    ),
    (
        "enable f16; @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn main() { x[0] = bitcast<u32>(vec2<f16>(1h, 2h)); }",
        "`bitcast<u32>` of a vector of `f16` is not translated: write `pack2x16float(vec2<f32>(a))` for each two numbers",
    ),
    (
        "const N = 1; enable f16; @compute @workgroup_size(1) fn main() {}",
        "`enable`, `requires` and `diagnostic` stand before all else in the shader's own text, not in a library",
    ),
    (
        "@group(0) @binding(3) var<storage, read_write> a: array<u32>; @group(0) @binding(3) var<uniform> b: vec4<u32>;
        @compute @workgroup_size(1) fn main() { a[0] = b.x; }",
        "`a` and `b` have the same group 0 and binding 3: give one of them another number",
    ),
];

/// Entry points.
const ENTRY_POINTS: &[(&str, &str)] = &[
    (
        "@compute @workgroup_size(1) fn main(i: u32) {}",
        "each argument of an entry point is a built-in value, such as `@builtin(global_invocation_id) id: vec3<u32>`; \
         numbers are passed as `var<immediate>`, arrays as `var<storage>`",
    ),
    (
        "@compute @workgroup_size(1) fn main() -> f32 { return 1.0; }",
        "a compute entry point returns nothing: write the result into a `var<storage, read_write>`",
    ),
];

#[test]
fn common_mistakes_are_answered_with_what_to_do() {
    let statements = STATEMENTS.iter().map(|(statement, sentence)| (said("", statement), *sentence));
    let declared = DECLARATIONS.iter().map(|(declared, statement, sentence)| (said(declared, statement), *sentence));
    let entries = ENTRY_POINTS.iter().chain(WHOLE).map(|(text, sentence)| (said_of(*text), *sentence));
    let wrong: Vec<_> = statements
        .chain(declared)
        .chain(entries)
        .filter(|(found, sentence)| {
            let first = found.lines().next().unwrap_or_default();
            !first.starts_with("k.wgsl") || first.split_once(": ").map(|(_, rest)| rest) != Some(sentence)
        })
        .map(|(found, sentence)| format!("{found}\nexpected: {sentence}\n"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_lines_and_marks_of_the_shader_follow() {
    let cases = [
        (
            "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(1) fn main() {
    let i = 1u;
    let k = i - 1i;
}",
            "k.wgsl:4:13: the left side is `u32` and the right side `i32`: convert one of them, as in `u32(…)`
  ┌─ k.wgsl:4:13
  │
4 │     let k = i - 1i;
  │             ^^^^^^",
        ),
        (
            "var<immediate> first: f32;
var<immediate> second: f32;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(1) fn main() { x[0] = first + second; }",
            "k.wgsl:2:1: an entry point can use one `var<immediate>`: put them into one struct
  ┌─ k.wgsl:2:1
  │
2 │ var<immediate> second: f32;
  │ ^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "@compute @workgroup_size(1) fn main() {
    let x = 1u
    let y = 2u;
}",
            "k.wgsl:3:5: a `;` is missing before `let`
  ┌─ k.wgsl:3:5
  │
3 │     let y = 2u;
  │     ^^^ expected `;`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(said_of(text), expected);
    }
}
