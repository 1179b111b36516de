//! Plans of whole command lines, and the messages of wrong command lines.

use clap::Parser;
use tempfile::TempDir;
use vkarray_shaders::sample;

use vkarray::kernel::ScalarValue;

use super::*;
use crate::args::{Command, CommandLine};
use crate::run::step::NO_LIMITS;

/// A folder with a shader `k.wgsl`. Arguments name the folder by `DIR`.
struct Bench(TempDir);

impl Bench {
    fn new(shader: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("k.wgsl"), shader).unwrap();
        Self(folder)
    }

    /// Plans a run with the arguments of one line.
    fn plan(&self, line: &str) -> Result<Plan> {
        let folder = self.0.path().display().to_string();
        let words = line.split_whitespace().map(|word| word.replace("DIR", &folder));
        let shader = self.0.path().join("k.wgsl").display().to_string();
        let words = ["vkarray", "run", &shader].map(str::to_owned).into_iter().chain(words);
        match CommandLine::try_parse_from(words).unwrap().command {
            Command::Run(args) => Plan::new(&args),
            other => unreachable!("`run` was typed, not {other:?}"),
        }
    }

    /// The error of a plan, without the folder.
    fn message(&self, line: &str) -> String {
        let error = self.plan(line).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

const GOOD_CONVOLVE: &str = "--arg source=random:f32[5,7,4] --arg target_image=zeros:f32[5,7,4] \
    --arg weights=padded:full:f32[9],value=0.25 --arg width=7 --arg height=5 --arg radius_x=1 --arg radius_y=1";

#[test]
fn a_good_line_becomes_a_plan() {
    let bench = Bench::new(sample("convolve").unwrap());
    let line = "--covering 7,5 --const TILE=8 --out target_image=DIR/x.png --out target_image=DIR/x.npy --repeat 3 --device cpu";
    let plan = bench.plan(&format!("{GOOD_CONVOLVE} {line}")).unwrap();
    let step = &plan.work.groups[0].steps[0];
    assert_eq!(step.signature.workgroup_size, [8, 8, 1]);
    assert_eq!(step.grid.resolve([8, 8, 1], &NO_LIMITS).unwrap(), Some([1, 1, 1]));
    let arrays: Vec<&str> = plan.work.arrays.iter().map(|array| array.name.as_str()).collect();
    assert_eq!(arrays, ["source", "target_image", "weights"]);
    assert_eq!(step.numbers("width"), Some(&[ScalarValue::U32(7)][..]));
    assert_eq!(plan.outputs.len(), 2); // One array may go to two files.
    assert_eq!((plan.device.as_deref(), plan.repeat), (Some("cpu"), 3));
}

#[test]
fn numbers_become_what_the_shader_declares() {
    let shader = "struct P { a: u32, b: i32, c: f32, d: vec3<f32>, }
        var<immediate> p: P;
        @group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(1) fn k() { x[p.a] = f32(p.b) + p.c + p.d.x; }";
    let bench = Bench::new(shader);
    let plan =
        bench.plan("--arg x=zeros:f32[1] --arg a=0x10 --arg b=-3 --arg c=1e-1 --arg d=1,2,3 --groups 1").unwrap();
    let values = ["a", "b", "c", "d"].map(|name| plan.work.groups[0].steps[0].numbers(name).unwrap());
    let d = [1.0, 2.0, 3.0].map(ScalarValue::F32);
    assert_eq!(values, [&[ScalarValue::U32(16)][..], &[ScalarValue::I32(-3)], &[ScalarValue::F32(0.1)], &d]);

    let rest = "--arg x=zeros:f32[1] --arg b=1 --arg c=1 --groups 1";
    let cases = [
        ("--arg a=1.5 --arg d=1,2,3", "argument `a`: cannot read `1.5` as u32: not a whole number"),
        (
            "--arg a=-1 --arg d=1,2,3",
            "argument `a`: cannot read `-1` as u32: expected a whole number from 0 to 4294967295",
        ),
        ("--arg a=1 --arg d=1,2", "kernel `k`: `d` is vec3<f32>, 3 numbers, got 2"),
        ("--arg a=1,2 --arg d=1,2,3", "kernel `k`: `a` is u32, 1 numbers, got 2"),
    ];
    for (line, expected) in cases {
        assert_eq!(bench.message(&format!("{line} {rest}")), expected, "{line}");
    }
}

#[test]
fn wrong_arguments_are_named() {
    let takes = "`x`, `y`, `a`";
    let cases = [
        ("", format!("kernel `saxpy` takes 3 arguments ({takes}), got 0")),
        ("--arg x=zeros:f32[4] --arg y=zeros:f32[4]", format!("kernel `saxpy`: no value for `a`, which is f32; it takes {takes}")),
        (
            "--arg x=zeros:f32[4] --arg y=zeros:f32[4] --arg a=1 --arg b=2",
            format!("kernel `saxpy` has no argument `b`; it takes {takes}"),
        ),
        (
            "--arg x=zeros:f32[4] --arg x=zeros:f32[4] --arg y=zeros:f32[4] --arg a=1",
            "kernel `saxpy`: `x` is given twice".to_owned(),
        ),
        (
            "--arg x=zeros:f32[4] --arg y=zeros:f32[4] --arg a=1 --arg WORKGROUP=64",
            "kernel `saxpy`: `WORKGROUP` is a constant of the shader, not an argument; set it before the kernel is built"
                .to_owned(),
        ),
        (
            "--arg x=1 --arg y=zeros:f32[4] --arg a=1",
            "kernel `saxpy`: `x` is an array, array<f32>, got 1 (f64)".to_owned(),
        ),
        (
            "--arg x=zeros:f32[4] --arg y=zeros:f32[4] --arg a=zeros:f32[1]",
            "kernel `saxpy`: `a` is a scalar, f32, got an array of f32 with shape (1,)".to_owned(),
        ),
        ("--arg x=zeros:f32[0] --arg y=zeros:f32[4] --arg a=1", "kernel `saxpy`: `x` is empty, but the launch is not".to_owned()),
        ("--arg x", "`--arg x`: expected NAME=VALUE".to_owned()),
        ("--arg x=@DIR/none.npy", "cannot read none.npy: No such file or directory (os error 2)".to_owned()),
        ("--arg x=@DIR/k.npy", "k.npy is not a .npy file: it does not start with \"\\x93NUMPY\"".to_owned()),
    ];
    let bench = Bench::new(sample("saxpy").unwrap());
    std::fs::write(bench.0.path().join("k.npy"), "text").unwrap();
    for (line, expected) in cases {
        assert_eq!(bench.message(&format!("{line} --covering 4")), expected, "{line}");
    }
    let f64_line = "--arg x=zeros:f64[4] --arg y=zeros:f32[4] --arg a=1 --covering 4";
    let message = bench.message(f64_line);
    assert!(message.starts_with("kernel `saxpy`: `x` is array<f32>, got an array of f64 with shape (4,)"), "{message}");
}

#[test]
fn written_arrays_hold_an_element_for_every_invocation() {
    let julia = "--arg width=8 --arg height=4 --arg c_re=0 --arg c_im=0 --arg scale=1";
    let bench = Bench::new(sample("julia").unwrap());
    bench.plan(&format!("{julia} --arg image=zeros:f32[4,8,4] --covering 8,4")).unwrap();
    let small = format!("{julia} --arg image=zeros:f32[4,7,4] --covering 8,4");
    assert_eq!(
        bench.message(&small),
        "argument `image` holds 28 elements of vec4<f32>, but `--covering` asks for 32 invocations; give it as many \
         elements, or pass --allow-small if the shader writes fewer"
    );
    bench.plan(&format!("{small} --allow-small")).unwrap();
    // `--groups` names workgroups, so the lengths of the arrays are not compared.
    bench.plan(&small.replace("--covering 8,4", "--groups 1")).unwrap();

    // Only the length of a written array is compared; `y` is written, and `x` may be short.
    let bench = Bench::new(sample("saxpy").unwrap());
    bench.plan("--arg x=zeros:f32[1] --arg y=zeros:f32[4] --arg a=1 --covering 4").unwrap();
    let message = bench.message("--arg x=zeros:f32[4] --arg y=zeros:f32[1] --arg a=1 --covering 4");
    assert!(message.starts_with("argument `y` holds 1 elements of f32, but"), "{message}");
    let largest = u64::MAX; // The product of three axes overflows even 128 bits.
    let message = bench.message(&format!(
        "--arg x=zeros:f32[1] --arg y=zeros:f32[4] --arg a=1 --covering {largest},{largest},{largest}"
    ));
    assert_eq!(message, "72057594037927936 workgroups on axis x, the device allows 4294967295");
}

#[test]
fn wrong_grids_and_constants_are_named() {
    let cases = [
        ("--covering 0", "`--covering 0`: a count of zero runs nothing"),
        ("--groups 1,0", "`--groups 1,0`: a count of zero runs nothing"),
        ("--groups 4294967296", "`--groups 4294967296`: a count is at most 4294967295"),
        ("--covering 4,4294967296", "4294967296 workgroups on axis y, the device allows 4294967295"),
        (
            "--covering 4 --const WORKGROUP=1.5",
            "kernel `saxpy`: constant `WORKGROUP` is u32 and cannot be 1.5: expected a whole number from 0 to 4294967295",
        ),
        ("--covering 4 --const TILE=16", "kernel `saxpy`: no constant `TILE`; there is `WORKGROUP`"),
        ("--covering 4 --const WORKGROUP=x", "`--const WORKGROUP=x`: expected a number, true or false"),
        ("--covering 4 --const WORKGROUP", "`--const WORKGROUP`: expected NAME=VALUE"),
        ("--covering 4 --const WORKGROUP=64 --const WORKGROUP=64", "constant `WORKGROUP` is given twice"),
    ];
    let bench = Bench::new(sample("saxpy").unwrap());
    for (line, expected) in cases {
        let arguments = "--arg x=zeros:f32[4] --arg y=zeros:f32[4] --arg a=1";
        assert_eq!(bench.message(&format!("{arguments} {line}")), expected, "{line}");
    }
}

#[test]
fn wrong_outputs_are_named() {
    let cases = [
        ("source=DIR/x.npy", "x.npy: `source` is only read, so there is nothing to write"),
        ("weights=DIR/x.npy", "x.npy: `weights` is only read, so there is nothing to write"),
        ("width=DIR/x.npy", "x.npy: `width` is a number, not an array"),
        ("target=DIR/x.npy", "x.npy: there is no array `target` to read back; there is `target_image`"),
        ("target_image", "`--out target_image`: expected NAME=FILE"),
        ("target_image=DIR/x.jpg", "x.jpg: an output is .npy, .npz, .png or -"),
        ("target_image=DIR/none/x.npy", "none/x.npy: there is no folder none"),
        ("target_image=DIR/x.npy --out target_image=DIR/x.npy", "x.npy is the file of two outputs"),
    ];
    let bench = Bench::new(sample("convolve").unwrap());
    for (line, expected) in cases {
        assert_eq!(bench.message(&format!("{GOOD_CONVOLVE} --covering 7,5 --out {line}")), expected, "{line}");
    }
    let bench = Bench::new(sample("invert").unwrap());
    assert_eq!(
        bench.message("--arg image=zeros:f32[12] --covering 3 --out image=DIR/x.png"),
        "x.png: `image` is f32[12]; a .png holds bool, u8, u16, i32, u32 or f32 of shape h x w or h x w x 1, 3 or 4, a .npy any array"
    );
}

#[test]
fn wrong_shaders_are_shown_with_their_line() {
    // The shader, the flags, and parts of the message.
    let valid = "@compute @workgroup_size(1) fn k() {}";
    let cases: &[(&str, &str, &[&str])] = &[
        ("fn k( {}\n", "", &["k.wgsl:1:7: the shader does not parse", "fn k( {}"]),
        ("\nfn k() -> u32 { return 1.5; }\n", "", &["k.wgsl:2:", "return 1.5;"]),
        ("fn k() {}", "", &["k.wgsl: no compute entry point"]),
        (valid, "--entry x", &["k.wgsl: no compute entry point `x`; there is `k`"]),
    ];
    for (shader, flags, parts) in cases {
        let message = Bench::new(shader).message(&format!("{flags} --groups 1"));
        for part in *parts {
            assert!(message.contains(part), "{message}");
        }
    }
    let bench = Bench::new(&format!("{valid} {}", valid.replace("fn k", "fn l")));
    assert_eq!(bench.message("--groups 1"), "k.wgsl: name the entry point to use, one of `k`, `l`");
    bench.plan("--entry l --groups 1").unwrap();
    std::fs::remove_file(bench.0.path().join("k.wgsl")).unwrap();
    assert_eq!(bench.message("--groups 1"), "cannot read k.wgsl: No such file or directory (os error 2)");
}

#[test]
fn constant_memory_takes_an_array_as_any_other() {
    let bench = Bench::new(sample("convolve").unwrap());
    let with = |weights: &str| GOOD_CONVOLVE.replace("padded:full:f32[9],value=0.25", weights) + " --covering 7,5";
    bench.plan(&with("zeros:f32[1024]")).unwrap();
    let message = bench.message(&with("zeros:f32[1025]"));
    assert!(message.contains("at most 4096 bytes, got 4100 bytes"), "{message}");
    // An array that is shorter than the constant memory must be marked `padded`.
    let message = bench.message(&with("zeros:f32[1023]"));
    let expected = "`weights` is array<vec4<f32>, 256> in constant memory, 4096 bytes, got 4092 bytes; \
                    give the rest, or use `padded`, which reads it as zeros";
    assert!(message.contains(expected), "{message}");
    bench.plan(&with("padded:zeros:f32[1023]")).unwrap();
    let message = bench.message(&with("padded:0.5"));
    assert_eq!(message, "argument `weights`: cannot read `padded:0.5`: only an array can be padded");
}
