//! What `kernel!` expands to, and what it refuses.

use syn::parse::Parser;

use super::*;
use syn::parse::Parse;

fn expanded(text: &str) -> Result<String> {
    let declaration = Declaration::parse.parse_str(text)?;
    // The text without blanks, which depend on the printer.
    expand(&declaration).map(|tokens| tokens.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
}

const HEAD: &str = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;";
const MAIN: &str = "@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>)";

#[test]
fn arguments_have_the_types_of_the_shader() {
    // The declarations, their uses, and the parameters of `dispatch`.
    let cases = [
        (HEAD, "x[0] = 1.0;", "x : & :: vkarray :: DeviceNDArray < f32 >"),
        (
            "@group(0) @binding(0) var<storage, read_write> y: array<vec4<u32>>; var<immediate> a: i32;",
            "y[0].x = u32(a);",
            "y : & :: vkarray :: DeviceNDArray < u32 > , a : i32",
        ),
        (
            "struct P { n: u32, color: vec3<f32> } var<immediate> p: P;
             @group(0) @binding(0) var<storage, read_write> counts: array<atomic<u32>, 4>;",
            "atomicAdd(&counts[0], p.n + u32(p.color.x));",
            "counts : & :: vkarray :: DeviceNDArray < u32 > , n : u32 , color : [f32 ; 3usize]",
        ),
        (
            "@group(1) @binding(0) var<uniform> taps: array<vec4<f32>, 4>;
             @group(0) @binding(3) var<storage, read_write> stream: array<f32>;",
            "stream[0] = taps[0].x;",
            "stream_ : & :: vkarray :: DeviceNDArray < f32 > , taps : & impl :: vkarray :: kernel :: AsArg",
        ),
        (
            "struct List { n: atomic<u32>, items: array<u32> } @group(0) @binding(0) var<storage, read_write> list: List;",
            "list.items[0] = 1u;",
            "list : & :: vkarray :: DeviceNDArray < u8 >",
        ),
        (
            "@group(0) @binding(0) var tex: texture_2d<f32>; @group(0) @binding(1) var s: sampler;
             @group(0) @binding(2) var to: texture_storage_2d<rgba8unorm, write>;",
            "textureStore(to, vec2(0), textureSampleLevel(tex, s, vec2(0.5), 0.0));",
            "tex : & impl :: vkarray :: kernel :: AsArg , s : :: vkarray :: kernel :: Sampler , \
             to : & impl :: vkarray :: kernel :: AsArg",
        ),
        ("", "", ""),
    ];
    for (declarations, body, expected) in cases {
        let text =
            expanded(&format!("struct K {{ wgsl: {:?} }}", format!("{declarations}{MAIN} {{ {body} }}"))).unwrap();
        let dispatch = text.split("groups : :: vkarray :: Groups < '_ > ,").nth(1).expect("there is a dispatch");
        let found = dispatch.split(')').next().unwrap().trim();
        assert_eq!(found, expected, "{declarations}");
    }
}

#[test]
fn constants_become_methods_or_must_be_given() {
    let shader = format!(
        "{HEAD} override TILE: u32 = 4; override GAIN: f32; override Build: bool = true; {MAIN} {{ x[TILE] = select(0.0, GAIN, Build); }}"
    );
    let text = expanded(&format!("pub(crate) struct K {{ wgsl: {shader:?}, }}")).unwrap();
    for part in [
        "pub (crate) fn build (ctx : & :: vkarray :: Context , gain : f32)",
        "pub (crate) fn builder (ctx : & :: vkarray :: Context , gain : f32) -> KBuilder",
        "pub (crate) fn tile (mut self , value : u32) -> Self",
        "pub (crate) fn build_ (mut self , value : bool) -> Self",
        ". entry (\"main\") . constant (\"GAIN\" , gain)",
    ] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
}

#[test]
fn more_arguments_than_a_tuple_holds_go_by_name() {
    let members: Vec<_> = (0..13).map(|i| format!("m{i}: u32")).collect();
    let shader =
        format!("struct P {{ {} }} var<immediate> p: P; {HEAD} {MAIN} {{ x[p.m12] = 1.0; }}", members.join(", "));
    let text = expanded(&format!("struct K {{ wgsl: {shader:?} }}")).unwrap();
    assert!(text.contains("\"m12\" , :: vkarray :: kernel :: AsArg :: as_arg (& m12)"), "{text}");
}

#[test]
fn what_is_wrong_is_said_at_build_time() {
    let valid = format!("{HEAD} {MAIN} {{ x[0] = 1.0; }}");
    let particles = format!(
        "struct Particle {{ mass: f32, id: u32 }} @group(0) @binding(0) var<storage, read_write> p: array<Particle>; {MAIN} {{ p[0].id = 1u; }}"
    );
    let two =
        format!("{HEAD} @compute @workgroup_size(1) fn a() {{ x[0] = 1.0; }} @compute @workgroup_size(1) fn b() {{}}");
    // The text between the braces, and a part of the message.
    let cases = [
        (format!("wgsl: {:?}", "fn main(\n{}"), "kernel!:2:1: the shader does not parse\nerror: "),
        (format!("wgsl: {:?}", "\n\nfn f() -> u32 { return 1.5; }"), "kernel!:3:24"),
        ("wgsl: \"\"".to_owned(), "kernel!: no compute entry point"),
        (format!("wgsl: {two:?}"), "kernel!: name the entry point to use, one of `a`, `b`"),
        (format!("wgsl: {two:?}, entry: \"c\""), "kernel!: no compute entry point `c`; there is `a`, `b`"),
        ("file: \"none.wgsl\"".to_owned(), "cannot read none.wgsl: "),
        ("entry: \"main\"".to_owned(), "say where the shader is: `file: \"path\"` or `wgsl: \"text\"`"),
        (format!("wgsl: {valid:?}, wgsl: \"\""), "this is said already"),
        (format!("wgsl: {valid:?}, name: \"x\""), "there is `file`, `wgsl`, `entry` and `structs`"),
        (
            format!("wgsl: {particles:?}"),
            "`p` holds the shader's struct `Particle`; name the host's: `structs: { Particle: … }`",
        ),
        (
            format!("wgsl: {particles:?}, structs: {{ Particle: P, Partikel: Q }}"),
            "no argument of the kernel holds a struct `Partikel`; there is `Particle`",
        ),
        (
            format!("wgsl: {valid:?}, structs: {{ P: P }}"),
            "no argument of the kernel holds a struct `P`; there is none",
        ),
        (
            format!("wgsl: {:?}, structs: {{ P: P }}", format!("var<immediate> a: f32; {HEAD} {MAIN} {{ x[0] = a; }}")),
            "no argument of the kernel holds a struct `P`; there is none",
        ),
    ];
    for (content, message) in cases {
        let error = expanded(&format!("struct K {{ {content} }}")).unwrap_err().to_string();
        assert!(error.contains(message), "{content}\n{error}");
    }
}

#[test]
fn structs_are_compared_field_by_field() {
    let shader = format!(
        "struct Body {{ position: vec3<f32>, mass: f32 }} struct Pair {{ n: u32, body: Body }}
         @group(0) @binding(0) var<storage, read_write> pairs: array<Pair>; {MAIN} {{ pairs[0].n = 1u; }}"
    );
    let text =
        expanded(&format!("struct K {{ wgsl: {shader:?}, structs: {{ Pair: host::Pair, Body: Body }} }}")).unwrap();
    for part in [
        "assert_field (\"Pair\" , \"body\" , 16usize , :: core :: mem :: offset_of ! (host :: Pair , body))",
        "assert_field (\"Body\" , \"mass\" , 12usize , :: core :: mem :: offset_of ! (Body , mass))",
        "assert_size (\"Pair\" , 32usize , :: core :: mem :: size_of :: < host :: Pair > ())",
        "pairs : & :: vkarray :: DeviceNDArray < host :: Pair >",
    ] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
}

#[test]
fn push_constants_are_one_struct_where_one_is_named() {
    let shader = format!(
        "struct Params {{ n: u32, by: vec3<f32> }} var<immediate> params: Params; {HEAD} {MAIN} {{ x[params.n] = params.by.x; }}"
    );
    let text = expanded(&format!("struct K {{ wgsl: {shader:?}, structs: {{ Params: host::Params }} }}")).unwrap();
    for part in [
        "x : & :: vkarray :: DeviceNDArray < f32 > , params : & host :: Params",
        "(x , :: vkarray :: kernel :: Immediate (params) ,)",
        "assert_field (\"Params\" , \"by\" , 16usize , :: core :: mem :: offset_of ! (host :: Params , by))",
        "assert_size (\"Params\" , 32usize , :: core :: mem :: size_of :: < host :: Params > ())",
    ] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
    // The structs in declarations of their own.
    let text = expanded(&format!("struct K {{ wgsl: {shader:?} }}")).unwrap();
    assert!(text.contains("n : u32 , by : [f32 ; 3usize]"), "{text}");
}
