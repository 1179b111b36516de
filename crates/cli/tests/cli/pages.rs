//! `vkarray cache`, `completions` and `man`.

use crate::device::has_device;
use crate::{Folder, text};

#[test]
fn the_cache_is_listed_and_cleared() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let cached = |line: &str| {
        let mut command = folder.command(line);
        command.env("VKARRAY_CACHE_DIR", folder.path("kernels")).env_remove("VKARRAY_CACHE");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(cached("cache list").starts_with("0 files, 0 B of at most 256.00 MiB, in "));
    cached("run invert.wgsl --arg image=zeros:f32[4] --covering 1 --quiet");
    let listed = cached("cache list");
    let n_files = listed.lines().count() - 1;
    assert!(n_files > 0 && listed.contains(&format!("\n{n_files} files, ")) && listed.contains("  spirv-"), "{listed}");
    assert_eq!(listed.matches("  invert.wgsl: invert\n").count(), n_files, "{listed}");
    assert!(cached("cache clear").starts_with(&format!("{n_files} files were removed from ")));
    assert!(cached("cache list").starts_with("0 files"));
    let output = folder.command("cache list").env("VKARRAY_CACHE", "off").output().unwrap();
    assert_eq!(text(&output.stdout), "the cache is off\n");
    let folder = Folder::new();
    let refused = folder.refused(2, folder.command("cache list").env("VKARRAY_CACHE", "maybe"));
    assert!(refused.contains("VKARRAY_CACHE"), "{refused}");
}

#[test]
fn completions_and_manual_pages_have_every_command() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("man")).unwrap();
    folder.done("man man");
    for command in ["devices", "run", "eval", "inspect", "check", "cache", "completions", "man"] {
        let page = std::fs::read_to_string(folder.path(&format!("man/vkarray-{command}.1"))).unwrap();
        assert!(page.contains("Example:"), "{command}: {page}");
        for shell in ["bash", "zsh", "fish"] {
            assert!(text(&folder.done(&format!("completions {shell}")).stdout).contains(command), "{shell}");
        }
    }
    let folder = Folder::new();
    let message = folder.refused(2, &mut folder.command("man none"));
    assert_eq!(message, "error: there is no folder none\n");
}
