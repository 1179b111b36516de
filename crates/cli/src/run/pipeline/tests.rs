//! Pipeline files as jobs, and the messages of wrong files.

use clap::Parser;

use super::*;
use crate::args::{Command, CommandLine};
use crate::run::generate::{Fill, Generated};
use crate::run::value::Value;

/// The job of `vkarray run p.toml` with a file of this text, and with the flags of one line.
fn job(text: &str, flags: &str) -> std::result::Result<Job, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.toml");
    fs::write(&path, text).unwrap();
    let words = ["vkarray", "run", path.to_str().unwrap()].into_iter().chain(flags.split_whitespace());
    let Command::Run(args) = CommandLine::try_parse_from(words).unwrap().command else { unreachable!("`run`") };
    Job::new(&args).map_err(|error| {
        assert_eq!(error.exit_code(), 2, "{error}");
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    })
}

const TWO_STEPS: &str = r#"
    [arrays]
    a = "zeros:f32[4]"
    b = "padded:@/w.npy"

    [[step]]
    shader = "/k.wgsl"
    entry = "k"
    lib = ["/l.wgsl"]
    const = { TILE = 8, WIDE = true, RATE = 0.5 }
    covering = [151, 99]
    arg = { x = "a", n = 3, f = -1e-7, v = [0.5, 1, 2] }

    [[step]]
    repeat = 500

    [[step.step]]
    shader = "/k.wgsl"
    groups = 7
    allow-small = true

    [[step.step]]
    shader = "/l.wgsl"
    covering = 4
"#;

#[test]
fn keys_become_the_flags_of_the_same_names() {
    let job = job(TWO_STEPS, "").unwrap();
    let names: Vec<_> = job.arrays.iter().map(|array| (array.name.as_str(), array.is_padded)).collect();
    assert_eq!(names, [("a", false), ("b", true)]);
    let repeats: Vec<_> = job.groups.iter().map(|group| (group.repeat, group.steps.len())).collect();
    assert_eq!(repeats, [(1, 1), (500, 2)]);
    let steps: Vec<_> = job.groups.iter().flat_map(|group| &group.steps).collect();
    assert_eq!(steps.iter().map(|step| step.place.as_str()).collect::<Vec<_>>(), ["step 1", "step 2.1", "step 2.2"]);
    let first = &steps[0].dispatch;
    assert_eq!((first.shader.as_path(), first.entry.as_deref()), (Path::new("/k.wgsl"), Some("k")));
    assert_eq!(first.source.libraries, [Path::new("/l.wgsl")]);
    assert_eq!(first.constants, ["RATE=0.5", "TILE=8", "WIDE=true"]);
    assert_eq!((first.covering.as_deref(), first.groups.as_deref(), first.allow_small), (Some("151,99"), None, false));
    let second = &steps[1].dispatch;
    assert_eq!((second.covering.as_deref(), second.groups.as_deref(), second.allow_small), (None, Some("7"), true));
    let numbers = |numbers: &[&str]| StepArgument::Numbers(numbers.iter().map(|&number| number.to_owned()).collect());
    let expected = [
        ("f", numbers(&["-1e-7"])),
        ("n", numbers(&["3"])),
        ("v", numbers(&["0.5", "1", "2"])),
        ("x", StepArgument::Arrays(vec!["a".to_owned()])),
    ];
    assert_eq!(steps[0].arguments, expected.map(|(name, value)| (name.to_owned(), value)));
}

#[test]
fn files_are_looked_for_beside_the_pipeline_file() {
    let folder = Path::new("dir");
    let read = |text: &str| Description::parse("x", text, folder).unwrap().array("x").unwrap().value;
    assert_eq!(read("@a/x.npy"), Value::Npy("dir/a/x.npy".into()));
    assert_eq!(read("@x.npz:a"), Value::Npz("dir/x.npz".into(), "a".to_owned()));
    assert!(matches!(read("@x.png,channels=3"), Value::Picture(path, _) if path == Path::new("dir/x.png")));
    assert_eq!(read("@/x.npy"), Value::Npy("/x.npy".into()));
    let table = StepTable { shader: Some("k.wgsl".into()), lib: vec!["l.wgsl".into()], ..StepTable::default() };
    let dispatch = table.dispatch(String::new(), folder).unwrap().dispatch;
    assert_eq!((dispatch.shader, dispatch.source.libraries), ("dir/k.wgsl".into(), vec!["dir/l.wgsl".into()]));
}

#[test]
fn an_array_of_the_command_line_takes_the_place_of_one_of_the_file() {
    let job = job(TWO_STEPS, "--arg a=arange:u32[2] --arg c=zeros:f32[1]").unwrap();
    let generated = |fill, dtype, shape: &[usize]| Value::Generated(Generated { fill, dtype, shape: shape.to_vec() });
    let arrays: Vec<_> = job.arrays.into_iter().map(|array| (array.name, array.value)).collect();
    let expected = [
        ("a", generated(Fill::Arange, vkarray::DType::U32, &[2])),
        ("c", generated(Fill::Zeros, vkarray::DType::F32, &[1])),
        ("b", Value::Npy("/w.npy".into())),
    ];
    assert_eq!(arrays, expected.map(|(name, value)| (name.to_owned(), value)));
}

#[test]
fn wrong_files_are_shown_with_their_step_and_key() {
    let step = "[[step]]\nshader = \"k.wgsl\"\n";
    let either = "p.toml: step 1: a step has either `shader` or steps of its own";
    let cases = [
        (String::new(), "p.toml: step: there is none"),
        ("step = []".to_owned(), "p.toml: step: there is none"),
        ("[[step]".to_owned(), "p.toml: TOML parse error at line 1"),
        (format!("{step}shadr = 1"), "3 | shadr = 1"),
        (format!("{step}shadr = 1"), "unknown field `shadr`, expected one of `repeat`, `step`, `shader`, `lib`"),
        (format!("{step}repeat = 0"), "3 | repeat = 0"),
        (format!("{step}arg = {{ x = {{ y = 1 }} }}"), "expected a name, a number, or a list of names or of numbers"),
        (format!("{step}arg = {{ x = [\"a\", 1] }}"), "expected a name, a number, or a list of names or of numbers"),
        (format!("{step}arg = {{ x = 1, x = 2 }}"), "duplicate key"),
        ("[[step]]\nentry = \"k\"".to_owned(), "p.toml: step 1: a step has a `shader`, or steps of its own"),
        (format!("{step}[[step.step]]\nshader = \"k.wgsl\""), either),
        (format!("[[step]]\n[[step.step]]\nrepeat = 2\n{}", "shader = \"k.wgsl\""), "p.toml: step 1: only a step that"),
        (format!("[arrays]\na = \"zeros\"\n{step}"), "p.toml: arrays: argument `a`: cannot read `zeros`"),
        (
            format!("[arrays]\na = \"2.5\"\n{step}"),
            "p.toml: arrays: argument `a`: cannot read `2.5`: a pipeline names arrays",
        ),
    ];
    for (text, part) in cases {
        let message = job(&text, "").unwrap_err();
        assert!(message.starts_with("p.toml: ") && message.contains(part), "{text}\n{message}");
    }
    for flag in ["--lib l", "--entry k", "--const A=1", "--covering 4", "--groups 4", "--allow-small"] {
        let message = job(TWO_STEPS, flag).unwrap_err();
        let name = flag.split(' ').next().unwrap();
        assert_eq!(message, format!("`{name}` is for one shader; the steps of p.toml have it as a key"));
    }
    assert!(job(TWO_STEPS, "--arg a=2").unwrap_err().contains("a pipeline names arrays"));
}
