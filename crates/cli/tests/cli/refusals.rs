//! Lines that are refused before a device is looked for. The texts of single errors are tested beside the code; this
//! file tests each kind of error once, from end to end.

use crate::Folder;

const SAXPY: &str = "run saxpy.wgsl --arg a=2 --covering 4 --out y=y.npy";

#[test]
fn bad_input_ends_with_two_and_leaves_every_file_alone() {
    let folder = Folder::new();
    folder.put("y.npy", "old");
    folder.put("truncated.npy", b"\x93NUMPY\x01\x00");
    folder.put("bad.png", b"\x89PNG\r\n\x1a\n");
    folder.put("bad.wgsl", "fn main( {}");
    folder.put("mistyped.wgsl", "\nfn f() -> u32 { return 1.5; }");
    let arrays = "--arg x=zeros:f32[4] --arg y=zeros:f32[4]";
    // The line, and a part of the message.
    let cases = [
        (format!("{SAXPY} --arg x=@none.npy --arg y=zeros:f32[4]"), "cannot read none.npy"),
        (format!("{SAXPY} --arg x=@truncated.npy --arg y=zeros:f32[4]"), "is not a .npy file"),
        (format!("{SAXPY} --arg x=@bad.png --arg y=zeros:f32[4]"), "cannot decode bad.png"),
        (format!("{SAXPY} --arg x=zeros:u32[4] --arg y=zeros:f32[4]"), "`x` is array<f32>"),
        (format!("{SAXPY} --arg y=zeros:f32[4]"), "no value for `x`"),
        (format!("{SAXPY} {arrays} --arg z=1"), "no argument `z`"),
        (format!("{SAXPY} {arrays} --arg a=3"), "`a` is given twice"),
        (format!("{SAXPY} {arrays} --const WORK=1"), "no constant `WORK`"),
        (format!("{SAXPY} {arrays} --out x=x.npy"), "`x` is only read"),
        (format!("{SAXPY} {arrays} --out y=y.gif"), "an output is .npy, .npz, .png or -"),
        (format!("{SAXPY} --arg x=zeros:f32[4] --arg y=zeros:f32[3]"), "holds 3 elements of f32"),
        (format!("{SAXPY} {arrays}").replace("--covering 4", "--covering 0"), "runs nothing"),
        (format!("{SAXPY} {arrays} --trace none/trace.json"), "there is no folder none"),
        ("run none.wgsl --groups 1".to_owned(), "cannot read none.wgsl"),
        ("run bad.wgsl --groups 1".to_owned(), "bad.wgsl:1:"),
        ("run mistyped.wgsl --groups 1".to_owned(), "mistyped.wgsl:2:"),
    ];
    for (line, part) in cases {
        let message = folder.refused(2, &mut folder.command(&line));
        assert!(message.contains(part), "{line}\n{message}");
    }
}

/// A pipe without a writer, which the command would wait for if it opened the pipe.
#[cfg(unix)]
#[test]
fn pipes_are_refused_as_arguments() {
    let (folder, pipes) = (Folder::new(), tempfile::tempdir().expect("a temporary folder"));
    for (name, array) in [("x.npy", ""), ("x.npz", ":x"), ("x.png", "")] {
        let pipe = pipes.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("`mkfifo`").success());
        let line = format!("{SAXPY} --arg x=@{}{array} --arg y=zeros:f32[4]", pipe.display());
        let message = folder.refused(2, &mut folder.command(&line));
        assert!(message.contains(&format!("{name} is not a regular file")), "{message}");
    }
}

#[test]
fn lines_that_do_not_parse_end_with_two() {
    let folder = Folder::new();
    // The grid is missing, or given twice; flags and commands are unknown; a count is zero.
    for line in [
        "run saxpy.wgsl",
        "run saxpy.wgsl --covering 4 --groups 1",
        "run saxpy.wgsl --groups 1 --colour",
        "run saxpy.wgsl --groups 1 --repeat 0",
        "run --groups 1",
        "walk",
    ] {
        folder.refused(2, &mut folder.command(line));
    }
}

#[test]
fn without_a_driver_all_commands_say_what_to_install() {
    let folder = Folder::new();
    let run = format!("{SAXPY} --arg x=zeros:f32[4] --arg y=zeros:f32[4]");
    // Where there is no device, every choice of one has the error that there is none.
    for line in [&run, &format!("{run} --device cpu"), "devices", "check"] {
        let mut command = folder.command(line);
        command.env("VK_ICD_FILENAMES", "/nonexistent.json").env("VK_DRIVER_FILES", "/nonexistent.json");
        let message = folder.refused(3, &mut command);
        assert!(message.contains("no Vulkan") && message.contains("install"), "{message}");
    }
}

/// A file that is no library stands for a loader that is not installed.
#[cfg(target_os = "linux")]
#[test]
fn without_a_loader_both_commands_say_what_to_install() {
    let folder = Folder::new();
    folder.put("libvulkan.so.1", "not a library");
    folder.put("libvulkan.so", "not a library");
    for line in [format!("{SAXPY} --arg x=zeros:f32[4] --arg y=zeros:f32[4]"), "devices".to_owned()] {
        let message = folder.refused(3, folder.command(&line).env("LD_LIBRARY_PATH", folder.0.path()));
        assert!(message.contains("no Vulkan loader") && message.contains("libvulkan1"), "{message}");
    }
}

#[test]
fn a_selector_of_no_device_is_wrong_input() {
    if !crate::device::has_device() {
        return;
    }
    let folder = Folder::new();
    let line = format!("{SAXPY} --arg x=zeros:f32[4] --arg y=zeros:f32[4]");
    let message = folder.refused(2, folder.command(&line).env("VKARRAY_DEVICE", "misspelt"));
    assert!(message.contains("no device matches \"misspelt\" (from VKARRAY_DEVICE)"), "{message}");
}

#[test]
fn help_and_documentation_have_the_same_exit_codes() {
    let documented = include_str!("../../../../docs/command.md");
    let row = |line: &str| -> Option<(u8, String)> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", code, meaning, ""] = cells[..] { Some((code.parse().ok()?, meaning.to_owned())) } else { None }
    };
    let documented: Vec<(u8, String)> = documented.lines().filter_map(row).collect();
    assert_eq!(documented.len(), 5);
    let folder = Folder::new();
    for line in [
        "--help",
        "run --help",
        "inspect --help",
        "devices --help",
        "check --help",
        "eval --help",
        "cache --help",
        "completions --help",
        "man --help",
    ] {
        let output = folder.command(line).output().expect("the command starts");
        let help = crate::text(&output.stdout);
        let codes = help.split("Exit codes:\n").nth(1).unwrap_or_else(|| panic!("{line}: {help}"));
        let row =
            |line: &str| line.trim().split_once("  ").map(|(code, text)| (code.parse().unwrap(), text.to_owned()));
        assert_eq!(codes.lines().filter_map(row).collect::<Vec<_>>(), documented, "{line}");
        assert!(help.contains("\nExample:\n  vkarray "), "{line}: {help}");
    }
}

#[test]
fn a_file_is_neither_written_twice_nor_read_and_written() {
    let folder = Folder::new();
    ndarray_npy::write_npy(folder.path("in.npy"), &ndarray::arr1(&[0.0_f32])).expect("the folder is ours");
    let run = "run saxpy.wgsl --arg a=2 --arg x=@in.npy --arg y=zeros:f32[1] --covering 1";
    let in_place = "run saxpy.wgsl --arg a=2 --arg y=@in.npy --arg x=zeros:f32[1] --covering 1 --compare y=in.npy";
    for (line, part) in [
        ("eval b=x;c=x --arg x=arange:f32[3] --out b=d.npy --out c=./d.npy".to_owned(), "./d.npy is the file of two"),
        ("eval b=x;c=x --arg x=arange:f32[3] --out b=- --out c=-".to_owned(), "- is the file of two"),
        (format!("{run} --out y=y.npy --trace ./y.npy"), "./y.npy is the file of two"),
        (format!("{run} --trace in.npy"), "in.npy is a file that is read"),
        (format!("{run} --trace saxpy.wgsl"), "saxpy.wgsl is a file that is read"),
        // The file is the value of another argument.
        (format!("{run} --out y=in.npy"), "in.npy is a file that is read"),
        // The file is the file to compare with.
        (format!("{in_place} --out y=in.npy"), "in.npy is a file that is read"),
        ("run heat.toml --trace heat.toml".to_owned(), "heat.toml is a file that is read"),
        ("run heat.toml --trace heat.wgsl".to_owned(), "heat.wgsl is a file that is read"),
        ("eval y=x --arg x=@in.npy --out y=in.npy".to_owned(), "in.npy is a file that is read"),
    ] {
        let message = folder.refused(2, &mut folder.command(&line));
        assert!(message.contains(part), "{line}\n{message}");
    }
}

#[test]
fn a_bad_value_of_a_variable_is_named_and_ends_with_two() {
    if !crate::device::has_device() {
        return;
    }
    let folder = Folder::new();
    let line = format!("{SAXPY} --arg x=zeros:f32[4] --arg y=zeros:f32[4]");
    for (variable, value) in [
        ("VKARRAY_VALIDATION", "maybe"),
        ("VKARRAY_SANITIZE", "2"),
        ("VKARRAY_LIMITS", "foo"),
        ("VKARRAY_DEVICE", "misspelt"),
        ("VKARRAY_DEVICE", "uuid:1"),
        ("VKARRAY_VISIBLE_DEVICES", "misspelt"),
        ("VKARRAY_REQUIRE", "fast"),
        ("VKARRAY_CACHE", "readonly"),
        ("VKARRAY_CACHE_MAX_BYTES", "1GB"),
        ("VKARRAY_MEMORY_MANAGER", "misspelt"),
        ("VKARRAY_MAX_PENDING_DEALLOCS_COUNT", "ten"),
        ("VKARRAY_MAX_PENDING_DEALLOCS_RATIO", "half"),
        ("VKARRAY_TRACE", "none/trace.json"),
    ] {
        let message = folder.refused(2, folder.command(&line).env(variable, value));
        assert!(message.contains(variable), "{variable}={value}: {message}");
    }
    for (variable, value) in [("VKARRAY_SANITIZE", "off"), ("VKARRAY_VALIDATION", "False"), ("VKARRAY_CACHE", "no")] {
        let output = folder.command(&line).args(["--quiet"]).env(variable, value).output().unwrap();
        assert!(output.status.success(), "{variable}={value}: {}", crate::text(&output.stderr));
    }
    folder.put(
        "out.wgsl",
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @compute @workgroup_size(64) fn f(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = 1u; }",
    );
    let line = "run out.wgsl --arg x=zeros:u32[3] --covering 3";
    for value in ["1", "true", "yes", "ON"] {
        let message = folder.refused(2, folder.command(line).env("VKARRAY_SANITIZE", value));
        assert!(message.contains("out of range"), "{value}: {message}");
    }
}
