//! `vkarray test`: the repository of `examples/shader-repo/` passes, faults planted in a copy of it are found, and errors
//! name their place.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::device::has_device;
use crate::{Folder, text};

/// A copy of the repository in a folder of its own.
struct Repository(Folder);

impl Repository {
    fn new() -> Self {
        let repository = Self(Folder::empty());
        copy_repository(&repository.0.path("."));
        repository
    }

    /// Replaces a text in a file. The text must be there.
    fn replace(&self, file: &str, from: &str, to: &str) {
        let path = self.0.path(file);
        let text = fs::read_to_string(&path).expect("a file of the repository");
        assert!(text.contains(from), "{file}: {from}");
        fs::write(path, text.replace(from, to)).expect("the copy is ours");
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.0.command(&format!("test {line}"));
        command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().expect("the command starts")
    }
}

/// Copies the repository of the example to a folder.
pub(crate) fn copy_repository(to: &Path) {
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shader-repo"), to);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the copy is ours");
    for entry in fs::read_dir(from).expect("a folder of the project") {
        let entry = entry.expect("a folder of the project");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("the copy is ours");
        }
    }
}

const FILES: &str = "tests/elementwise.toml tests/blocks.toml";

#[test]
fn the_repository_passes_and_is_reported() {
    if !has_device() {
        return;
    }
    let repository = Repository::new();
    let output = repository.run(&format!("{FILES} --junit out.xml"));
    let (lines, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{lines}{errors}");
    assert_eq!(lines.lines().filter(|line| line.starts_with("ok  ")).count(), 25, "{lines}");
    assert_eq!(errors, "", "no trial is skipped");
    let junit = fs::read_to_string(repository.0.path("out.xml")).unwrap();
    assert!(junit.contains("<testsuites name=\"vkarray-test\" tests=\"25\" failures=\"0\""), "{junit}");
}

/// The programs of `tests/programs`, which are shaders with results that are known beforehand.
#[test]
fn programs_compute_what_is_known() {
    if !has_device() {
        return;
    }
    let repository = Repository::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");
    let files = ["collective", "images", "memory", "numbers", "addresses"].map(|name| format!("{folder}/{name}.toml"));
    let output = repository.run(&format!("{} --profile plain --unsafe-addresses", files.join(" ")));
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let lines =
        text(&output.stdout).lines().filter(|line| line.starts_with("ok  ") || line.starts_with("skip  ")).count();
    assert_eq!(lines, 107);
}

/// Nothing in the library bounds an address, and on a CPU such an access ends the process.
#[test]
fn the_layer_finds_an_address_that_is_in_no_array() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    folder.put(
        "far.comp",
        "#version 450\n#extension GL_EXT_buffer_reference : require\nlayout(local_size_x = 1) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer X { float v[]; };
layout(push_constant) uniform Push { X x; uint at; };
void main() {
    x.v[at] += 1.0;
}",
    );
    for (at, code, part) in [(3, 0, "1 passed"), (500_000_000, 1, "out of bounds")] {
        let test = format!(
            "[[test]]\nshader = \"far.comp\"\nneeds = [\"buffer_device_address\"]\narrays = {{ x = \"zeros:f32[4]\", i = \"arange:u32[4]\" }}\n\
             groups = 1\narg = {{ x = \"x\", at = {at} }}\nexpect.x = {{ text = \"f32(i == 3)\" }}"
        );
        folder.put("t.toml", test);
        let output = folder.command("test t.toml --profile gpu-av --unsafe-addresses").output().unwrap();
        let printed = text(&output.stdout);
        let is_judged = output.status.code() == Some(code) && printed.contains(part);
        assert!(is_judged || printed.contains("skip  "), "{printed}{}", text(&output.stderr));
    }
}

/// A fault: the file, the text that is replaced, the new text, the flags, and words of the report that all name it.
type Fault = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

const FAULTS: [Fault; 19] = [
    ("kernels/axpy.comp", "a * x[i] + y[i]", "a * x[i] - y[i]", "axpy", &["n = 1: `y` is not close"]),
    ("kernels/axpy.comp", "i < y.length()", "i < y.length() / 64 * 64", "axpy", &["n = 1: `y` is not close"]),
    ("kernels/silu.comp", "exp(-x[i])", "exp(x[i])", "silu", &["`y` is not close", "index | actual | expected"]),
    ("kernels/silu.comp", "1.0 + exp", "1.001 + exp", "silu", &["exceed the tolerance: rtol 0.00001"]),
    ("kernels/row_sum.comp", "column += 64", "column += 65", "row_sum", &["n = 65: `sums` is not close"]),
    ("kernels/row_sum.comp", "half_size = 32", "half_size = 16", "row_sum", &["n = 63: `sums` is not close"]),
    ("kernels/transpose.comp", "tile[local.x][local.y]", "tile[local.y][local.x]", "transpose", &["n = 7: `y`"]),
    ("kernels/transpose.comp", "from.x < n && from.y < n", "from.x < n - 1", "transpose", &["n = 1: `y` is not close"]),
    ("kernels/include/complex.h", "a.x * b.y + a.y", "a.x * b.y - a.y", "complex", &["`z` is not close"]),
    (
        "kernels/gather.wgsl",
        "x[indices[at.x]]",
        "x[indices[at.x] + 1u]",
        "gather",
        &["gather.wgsl:9", "out of range of `x`"],
    ),
    (
        "kernels/matmul.wgsl",
        "        workgroupBarrier();\n        for",
        "        for",
        "matmul",
        &["matmul.wgsl:", "no barrier"],
    ),
    (
        "kernels/matmul.wgsl",
        "        workgroupBarrier(); // The",
        "        // The",
        "matmul",
        &["matmul.wgsl:", "no barrier"],
    ),
    ("kernels/matmul.wgsl", "first += TILE", "first += TILE + 1u", "matmul", &["`c` is not close"]),
    (
        "kernels/running_sum.wgsl",
        "        workgroupBarrier(); // All",
        "        // All",
        "running",
        &["running_sum.wgsl:"],
    ),
    ("kernels/running_sum.wgsl", "step *= 2u", "step *= 4u", "running", &["n = 63: `y` is not close"]),
    ("kernels/histogram.wgsl", "% 16u", "% 17u", "histogram", &["histogram.wgsl:", "out of range of `bins`"]),
    ("kernels/smooth.wgsl", "0.5 * x", "0.51 * x", "smooth", &["smooth-1.npy` is not close", "VKARRAY_BLESS=1"]),
    (
        "tests/elementwise.toml",
        "name = \"gather\"",
        "name = \"gather\"\nneeds = [\"cooperative_matrix\"]",
        "::",
        &["trials were skipped on", "`skips` is 0"],
    ),
    (
        "kernels/gather.wgsl",
        "@workgroup_size(64)",
        "@workgroup_size(1024)",
        "gather --profile limits-mobile",
        &["1024"],
    ),
];

#[test]
fn planted_faults_are_found() {
    if !has_device() {
        return;
    }
    for (file, from, to, flags, parts) in FAULTS {
        let repository = Repository::new();
        repository.replace(file, from, to);
        let output = repository.run(&format!("{FILES} --filter {flags}"));
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{file}, {to}: {printed}");
        assert!(parts.iter().all(|part| printed.contains(part)), "{file}, {to}: expected {parts:?}\n{printed}");
    }
}

#[test]
fn errors_name_the_file_the_line_and_the_key() {
    let folder = Folder::new();
    let head = "[[test]]\nname = \"a\"\nshader = \"saxpy.wgsl\"\narrays = { x = \"arange:f32[4]\" }\n";
    for (rest, part) in [
        ("", "t.toml:1: test `t::a`: it expects nothing"),
        ("covering = 4\nexpect.y = {}", "t.toml:6: test `t::a`: `expect.y`: an expectation has one of"),
        ("covering = 4\nexpect.y = { text = \"x\", rtol = -1 }", "t.toml:6: test `t::a`: `expect.y`: `rtol -1`"),
        (
            "covering = 4\nexpect.y = { golden = \"y.png\" }",
            "t.toml:6: test `t::a`: `expect.y`: y.png: a golden file is",
        ),
        ("covering = 0.5\nexpect.y = { text = \"x\" }", "t.toml:5: test `t::a`: `covering`: "),
        (
            "covering = 4\narg = { x = \"z\" }\nexpect.y = { text = \"x\" }",
            "t.toml:6: test `t::a`: `arg`: there is no array `z`",
        ),
        ("covering = 4\narg.x = \"x\"\nexpect.y = { text = \"x\" }", "t.toml:6: test `t::a`: `arg`: "),
        ("sizes = [\"huge\"]\nexpect.y = { text = \"x\" }", "t.toml:5: test `t::a`: `sizes`: `huge` is no size"),
        ("needs = [\"wings\"]", "t.toml:5: test `t::a`: `needs`: `wings` is no feature"),
        ("without = [\"sanitised\"]", "t.toml:5: test `t::a`: `without`: `sanitised` is no profile"),
        ("expct = 1", "TOML parse error at line 5, column 1"),
        ("sizes = 1.5", "TOML parse error at line 5, column 9"),
        ("const = { A = \"x\" }\nexpect.y = { text = \"x\" }", "t.toml:5: test `t::a`: `const`: `--const A=x`"),
    ] {
        folder.put("t.toml", format!("{head}{rest}\n"));
        let message = folder.refused(2, &mut folder.command("test t.toml"));
        assert!(message.contains(part), "{rest}: {message}");
    }
    for (content, line, part) in [
        ("x = 1", "test t.toml", "unknown field `x`"),
        ("test = 1", "test t.toml", "`test` is a list of tables"),
        ("[[step]]\nshader = \"saxpy.wgsl\"", "test t.toml", "t.toml: there is no `[[test]]`"),
        ("[[test]]\nexpect.y = { text = \"x\" }", "test t.toml", "t.toml:1: test `t::test`: it has no `shader`"),
        (
            "[[test]]\nshader = \"none.wgsl\"\nexpect.y = { text = \"x\" }",
            "test t.toml",
            "t.toml:2: test `t::none`: `shader`",
        ),
        ("", "test none.toml", "cannot read none.toml"),
        ("", "test t.toml --profile limits-none", "is not a limit profile"),
        ("", "test t.toml --profile sanitised", "`sanitised` is no profile"),
        ("", "test t.toml --junit none/x.xml", "there is no folder none"),
    ] {
        folder.put("t.toml", content);
        let message = folder.refused(2, &mut folder.command(line));
        assert!(message.contains(part), "{content}: {message}");
    }
}

#[test]
fn golden_files_are_written_once_and_compared_afterwards() {
    if !has_device() {
        return;
    }
    let repository = Repository::new();
    fs::remove_dir_all(repository.0.path("tests/golden")).unwrap();
    let line = "tests/blocks.toml --filter smooth";
    let missing = repository.run(line);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stdout).contains("there is no golden file tests/golden/smooth-1.npy"));
    assert!(repository.run(&format!("{line} --bless")).status.success());
    let golden: ndarray::ArrayD<f32> = ndarray_npy::read_npy(repository.0.path("tests/golden/smooth-65.npy")).unwrap();
    assert_eq!(golden.shape(), [65]);
    assert!(repository.run(line).status.success());
}

#[test]
fn a_trial_that_does_not_end_is_named_and_the_others_run() {
    if !has_device() {
        return;
    }
    let repository = Repository::new();
    // Rounds of a loop are bounded, but there are many invocations.
    let slow = "var s = x[indices[at.x]]; for (var k = 0u; k < 60000u; k += 1u) { s = sin(s); } y[at.x] = s;";
    repository.replace("kernels/gather.wgsl", "y[at.x] = x[indices[at.x]];", slow);
    repository.replace(
        "tests/elementwise.toml",
        "sizes = [1, \"workgroup-1\", \"workgroup+1\", \"prime\"]\narrays = { x = \"random:f32[{n}],seed=5\"",
        "sizes = [8388608]\narrays = { x = \"random:f32[{n}],seed=5\"",
    );
    let output = repository.run(&format!("{FILES} --profile plain --time-limit 4 --junit out.xml"));
    let lines = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{lines}{}", text(&output.stderr));
    let part = "`gather` of tests/../kernels/gather.wgsl has not ended within its time limit of 4 s";
    assert!(lines.contains(part) && lines.contains("blocks::matmul"), "{lines}");
    assert!(fs::read_to_string(repository.0.path("out.xml")).unwrap().contains("has not ended"));
}

#[test]
fn a_known_failure_passes_until_it_is_repaired() {
    if !has_device() {
        return;
    }
    let repository = Repository::new();
    let entry = "count = 1\n[[expect]]\ntest = \"elementwise::gather\"\ndriver = \"\"\nbehaviour = \"fail\"\n\
                 message = \"out of range of `x`\"\nreason = \"off by one\"\nlink = \"https://example.org/1\"\n\
                 profile = \"sanitized\"\nuntil = \"2999-12-31\"\n";
    let devices = repository.0.command("devices --json").output().expect("the command starts");
    let devices: Value = serde_json::from_slice(&devices.stdout).expect("JSON");
    let driver = devices[0]["driver"]["name"].as_str().expect("a name");
    repository.0.put("known.toml", entry.replace("driver = \"\"", &format!("driver = \"{driver}\"")));
    let line = "tests/elementwise.toml --filter gather --profile sanitized --expectations known.toml --device 0";
    let passes = repository.run(line);
    let printed = text(&passes.stdout) + &text(&passes.stderr);
    assert_eq!(passes.status.code(), Some(1), "{printed}");
    assert!(printed.contains("passed unexpectedly; remove the expectation: elementwise::gather"), "{printed}");
    repository.replace("kernels/gather.wgsl", "x[indices[at.x]]", "x[indices[at.x] + 1u]");
    let fails = repository.run(line);
    let printed = text(&fails.stdout) + &text(&fails.stderr);
    assert!(fails.status.success() && printed.starts_with("xfail "), "{printed}");
}

#[test]
fn jobs_of_github_get_annotations_and_a_summary() {
    if !has_device() {
        return;
    }
    let repository = Repository::new();
    repository.replace("kernels/gather.wgsl", "x[indices[at.x]]", "x[indices[at.x] + 1u]");
    let mut command = repository.command("tests/elementwise.toml --filter gather");
    let summary = repository.0.path("summary.md");
    let output = command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary).output().unwrap();
    let lines = text(&output.stdout);
    let annotations: Vec<&str> = lines.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(annotations.len(), 2, "{lines}");
    assert!(annotations[0].starts_with("::error file=tests/elementwise.toml,line="), "{lines}");
    assert!(annotations[1].starts_with("::error file=kernels/gather.wgsl,line=9,title="), "{lines}");
    let summary = fs::read_to_string(summary).unwrap();
    assert!(
        summary.contains("| sanitized | 0 | 1 | 0 |") && summary.contains("- **elementwise::gather** on "),
        "{summary}"
    );
}

#[test]
fn a_first_file_is_written_from_the_shaders() {
    let repository = Repository::new();
    let before = fs::read_dir(repository.0.path("kernels")).unwrap().count();
    let output = repository.0.command("test --init kernels").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("kernels/tests.toml: 12 tests of 12 shaders"), "{}", text(&output.stdout));
    assert_eq!(fs::read_dir(repository.0.path("kernels")).unwrap().count(), before + 1);
    let again = repository.0.refused(2, &mut repository.0.command("test --init kernels"));
    assert!(again.contains("kernels/tests.toml exists"), "{again}");
    let names = text(&repository.0.command("test kernels/tests.toml --list").output().unwrap().stdout);
    assert_eq!(names.lines().count(), 12, "{names}");
    if !has_device() {
        return;
    }
    let line = "kernels/tests.toml --profile plain";
    assert!(repository.run(&format!("{line} --bless")).status.success());
    let output = repository.run(&format!("{line} --json"));
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(results["trials"].as_array().unwrap().iter().all(|trial| trial["outcome"] == "passed"), "{results}");
}
