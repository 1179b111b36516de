//! What `vkarray run` and `eval` read and write: standard input and output, archives, pictures of integers, shared WGSL, arrays
//! whose shape follows from `--covering`, and comparisons.

use std::io::Write;
use std::process::{Output, Stdio};

use image::{DynamicImage, ImageBuffer, Luma, Rgba};
use ndarray::{Array1, Array2, Array3, ArrayD};
use ndarray_npy::{ReadNpyExt, WriteNpyExt, read_npy, write_npy};
use vkarray::io::{NpzFile, NpzWriter};

use crate::device::has_device;
use crate::{Folder, text};

impl Folder {
    /// Runs a line with something on standard input.
    fn fed(&self, line: &str, input: &[u8]) -> Output {
        let mut command = self.command(line);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        child.stdin.take().expect("a pipe").write_all(input).ok(); // A command that fails may not read its input.
        child.wait_with_output().expect("the command ends")
    }
}

#[test]
fn arrays_come_from_standard_input_and_go_to_standard_output() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let (mut npy, x) = (Vec::new(), Array1::from_iter((0..7).map(|i| i as f32)));
    x.write_npy(&mut npy).unwrap();
    let line = "run saxpy.wgsl --arg x=@- --arg y=full:f32[7],value=1 --arg a=2 --covering 7 --out y=-";
    let output = folder.fed(line, &npy);
    let y = Array1::<f32>::read_npy(output.stdout.as_slice()).unwrap();
    assert_eq!(y, x.mapv(|x| 2.0 * x + 1.0));
    assert!(text(&output.stderr).contains("dispatch  "), "the report is on standard error");
    // The shader and a picture, of which the command finds the kind by the first bytes.
    let output = folder.fed(&line.replace("saxpy.wgsl", "-").replace("@-", "ones"), b"");
    assert_eq!(output.status.code(), Some(2));
    let shader = std::fs::read(folder.path("invert.wgsl")).unwrap();
    let output = folder.fed("run - --arg image=full:f32[4],value=0.25 --covering 1 --out image=- --quiet", &shader);
    assert_eq!(Array1::<f32>::read_npy(output.stdout.as_slice()).unwrap().to_vec(), [0.75, 0.75, 0.75, 0.25]);
    assert_eq!(text(&output.stderr), "");
    let mut png = std::io::Cursor::new(Vec::new());
    let picture = DynamicImage::from(ImageBuffer::from_pixel(3, 2, Rgba([255_u8, 0, 51, 255])));
    picture.write_to(&mut png, image::ImageFormat::Png).unwrap();
    let line = "eval z=2*x --arg x=@- --out z=-";
    let output = folder.fed(line, png.get_ref());
    let z = Array3::<f32>::read_npy(output.stdout.as_slice()).unwrap();
    assert_eq!((z.dim(), z[[1, 2, 0]], z[[0, 0, 1]]), ((2, 3, 4), 2.0, 0.0));
    let twice = folder.fed("run - --arg image=@- --covering 1", &shader);
    assert_eq!(text(&twice.stderr), "error: standard input is named twice, and can be read once\n");
    assert_eq!(twice.status.code(), Some(2));
}

#[test]
fn arrays_of_archives_are_read_and_written() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let mut archive = NpzWriter::compressed(std::fs::File::create(folder.path("in.npz")).unwrap());
    archive.add("first", &Array2::from_shape_fn((3, 5), |(i, j)| (5 * i + j) as f32)).unwrap();
    archive.add("second", &Array1::from_elem(5, 0.5_f32)).unwrap();
    archive.finish().unwrap();
    let line = "eval z=x*y;w=x+y --arg x=@in.npz:first --arg y=@in.npz:second --out z=out.npz --out w=out.npz:sum";
    folder.done(line);
    let mut out = NpzFile::open(folder.path("out.npz")).unwrap();
    assert_eq!(out.names(), ["sum", "z"]);
    let z = out.read::<f32>("z").unwrap();
    assert_eq!((z.shape(), z[[2, 4]]), (&[3, 5][..], 7.0));
    assert_eq!(out.read::<f32>("sum").unwrap()[[2, 4]], 14.5);
    let message = folder.refused(2, &mut folder.command("eval x --arg x=@in.npz:third"));
    assert!(message.contains("in.npz has no array `third`; it has `first`, `second`"), "{message}");
    let message =
        folder.refused(2, &mut folder.command("eval x --arg x=arange:f32[3] --out result=a.npz --out result=a.npz"));
    assert!(message.contains("a.npz is the file of two outputs"), "{message}");
}

#[test]
fn pictures_of_integers_keep_their_numbers() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let grey = ImageBuffer::from_fn(5, 3, |x, y| Luma([u16::try_from(20_000 * y + 1000 * x).unwrap()]));
    DynamicImage::from(grey.clone()).save(folder.path("grey.png")).unwrap();
    folder.put(
        "double.wgsl",
        "@group(0) @binding(0) var<storage, read> x: array<u32>;
         @group(0) @binding(1) var<storage, read_write> y: array<u32>;
         @compute @workgroup_size(8, 8) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
             if id.x < 5u && id.y < 3u { y[id.y * 5u + id.x] = x[id.y * 5u + id.x] + 1u; }
         }",
    );
    // The shader's elements are u32, and it only writes y, whose shape is the shape of the invocations.
    folder.done("run double.wgsl --arg x=@grey.png --covering 5,3 --out y=y.npy --out y=y.png,bits=16");
    let y: Array2<u32> = read_npy(folder.path("y.npy")).unwrap();
    assert_eq!(
        y,
        Array2::from_shape_fn((3, 5), |(row, column)| u32::try_from(20_000 * row + 1000 * column + 1).unwrap())
    );
    let written = image::open(folder.path("y.png")).unwrap();
    let DynamicImage::ImageLuma16(written) = written else { panic!("{:?}", written.color()) };
    assert!(written.pixels().zip(grey.pixels()).all(|(found, before)| found.0[0] == before.0[0] + 1));
    folder.done("eval y=x --arg x=@grey.png,dtype=u16 --out y=copy.png");
    assert_eq!(image::open(folder.path("copy.png")).unwrap(), DynamicImage::from(grey));
    folder.done("eval y=x>0.5 --arg x=@grey.png --out y=mask.png");
    let mask = image::open(folder.path("mask.png")).unwrap().into_luma8();
    assert_eq!((mask.get_pixel(0, 0).0, mask.get_pixel(4, 2).0), ([0], [255]));
}

#[test]
fn an_array_that_is_only_written_has_an_element_for_each_invocation() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let line = "run julia.wgsl --arg width=7 --arg height=5 --arg c_re=-0.8 --arg c_im=0.156 --arg scale=0.9";
    folder.done(&format!("{line} --covering 7,5 --out image=image.npy --out image=image.png"));
    let image: ArrayD<f32> = read_npy(folder.path("image.npy")).unwrap();
    assert_eq!(image.shape(), [5, 7, 4]);
    // Without the invocations there is no shape. An array that the shader reads needs a value.
    for line in [format!("{line} --groups 1"), "run saxpy.wgsl --arg x=zeros:f32[4] --arg a=1 --covering 4".to_owned()]
    {
        let message = folder.refused(2, &mut folder.command(&line));
        assert!(message.contains("no value for `"), "{message}");
    }
}

#[test]
fn results_are_compared_before_anything_is_written() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    write_npy(folder.path("expected.npy"), &Array1::from(vec![0.0_f32, 1.0, 4.0, 9.001])).unwrap();
    let line = "eval y=x*x --arg x=arange:f32[4] --out y=y.npy --compare y=expected.npy";
    let output = folder.command(line).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(4), ""));
    assert!(
        message.contains("`y` is not close: 1 of 4 elements of f32, shape [4]") && message.contains("[3] | 9 | 9.001"),
        "{message}"
    );
    assert!(!folder.path("y.npy").exists());
    for tolerance in ["--rtol 1e-3", "--atol 0.01"] {
        folder.done(&format!("{line} {tolerance}"));
    }
    let run = "run saxpy.wgsl --arg x=zeros:f32[4] --arg y=@expected.npy --arg a=1 --covering 4 --quiet";
    folder.done(&format!("{run} --compare y=expected.npy"));
    for (line, part) in [
        ("eval y=x --arg x=arange:i32[4] --compare y=expected.npy", "result `y` is i32, and f32 is expected"),
        ("eval y=x --arg x=arange:i32[4] --compare z=expected.npy", "there is no array `z` to read back; there is `y`"),
        (
            "eval y=x --arg x=arange:f32[4] --compare y=expected.npy --rtol nan",
            "`--rtol NaN`: expected a finite number",
        ),
        ("eval y=x --arg x=arange:f32[4] --compare y", "`--compare y`: expected NAME=FILE"),
    ] {
        let message = folder.refused(2, &mut folder.command(line));
        assert!(message.contains(part), "{line}\n{message}");
    }
}

#[test]
fn nan_differs_from_nan_unless_it_is_to_be_equal() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    write_npy(folder.path("nan.npy"), &Array1::from(vec![1.0_f32, f32::NAN])).unwrap();
    let line = "eval y=x --arg x=@nan.npy --compare y=nan.npy";
    let output = folder.command(&format!("{line} --atol 1")).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{message}");
    assert!(message.contains("[1] | NaN | NaN | inf | -") && message.contains("atol 1, NaN differs"), "{message}");
    let output = folder.done(&format!("{line} --equal-nan"));
    assert!(text(&output.stdout).ends_with("\ncompared  y: close to nan.npy, tolerance none\n"), "{output:?}");
    let run = "run saxpy.wgsl --arg x=zeros:f32[2] --arg y=@nan.npy --arg a=1 --covering 2 --equal-nan";
    let output = folder.done(&format!("{run} --compare y=nan.npy --rtol 0.5"));
    assert!(text(&output.stdout).ends_with("\ncompared  y: close to nan.npy, tolerance rtol 0.5\n"), "{output:?}");
}

#[test]
fn standard_input_has_that_name_in_errors() {
    let folder = Folder::new();
    let mut long = Vec::new();
    Array1::from(vec![1.0_f32; 3]).write_npy(&mut long).unwrap();
    long.pop();
    for input in [&b"\x93NUMPY\x01\x00"[..], &long, b"\x89PNG\r\n\x1a\nxx", b"text"] {
        let output = folder.fed("run invert.wgsl --arg image=@- --covering 1", input);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("standard input") && !message.contains("tmp"), "{message}");
    }
}

#[test]
fn an_array_is_updated_in_its_file() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    write_npy(folder.path("y.npy"), &Array1::from(vec![1.0_f32, 2.0])).unwrap();
    folder.done("run saxpy.wgsl --arg x=full:f32[2],value=1 --arg y=@y.npy --arg a=3 --covering 2 --out y=./y.npy");
    assert_eq!(read_npy::<_, Array1<f32>>(folder.path("y.npy")).unwrap().to_vec(), [4.0, 5.0]);
}

#[test]
fn an_expression_is_repeated_or_evaluated_in_silence() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let line = "eval y=x*x --arg x=linspace:f32[3],start=0,stop=1 --out y=y.npy";
    assert_eq!(text(&folder.done(&format!("{line} --quiet")).stdout), "");
    assert_eq!(read_npy::<_, Array1<f32>>(folder.path("y.npy")).unwrap().to_vec(), [0.0, 0.25, 1.0]);
    let output = text(&folder.done(&format!("{line} --repeat 3")).stdout);
    assert!(output.lines().any(|line| line.starts_with("time  ") && line.contains("(median of 3; min ")), "{output}");
    let json = folder.done("eval y=x --arg x=normal:f32[9],seed=3 --repeat 2 --json").stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json[0]["time"]["count"], 2);
}

#[test]
fn shared_wgsl_is_added_to_the_shader() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    folder.put("twice.wgsl", "fn twice(x: f32) -> f32 { return 2.0 * x; }");
    folder.put("wrong.wgsl", "fn twice(x: f32) -> f32 { return 2u; }");
    folder.put(
        "use.wgsl",
        "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
         @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
             if id.x < arrayLength(&x) { x[id.x] = twice(x[id.x]); }
         }",
    );
    let line = "run use.wgsl --arg x=arange:f32[3] --covering 3 --out x=x.npy";
    folder.done(&format!("{line} --lib twice.wgsl"));
    assert_eq!(read_npy::<_, Array1<f32>>(folder.path("x.npy")).unwrap().to_vec(), [0.0, 2.0, 4.0]);
    assert!(text(&folder.done("inspect use.wgsl --lib twice.wgsl").stdout).contains("double"));
    for (files, part) in
        [("--lib wrong.wgsl", "wrong.wgsl:1:"), ("--lib none.wgsl", "cannot read none.wgsl"), ("", "twice")]
    {
        let message = folder.refused(2, &mut folder.command(&format!("{line} {files}")));
        assert!(message.contains(part), "{message}");
    }
}
