//! What stands in place of an `#include`, and which files are read.

use std::fs;

use super::*;

fn expanded(text: &'static str, folders: &[&Path]) -> Expanded {
    let mut glsl = Glsl::new(text.into());
    glsl.include_dirs = folders.iter().map(|folder| folder.to_path_buf()).collect();
    expand("k.comp", &glsl)
}

/// A folder with files, by name and text.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn lines_keep_their_numbers_in_every_version() {
    let extension = "#extension GL_GOOGLE_include_directive : enable\n";
    let cases = [
        ("#version 450\nvoid f;\n", format!("#version 450\n{extension}#line 2 \"k.comp\"\nvoid f;\n")),
        ("// a\n # version 310 es\nx", format!("// a\n # version 310 es\n{extension}#line 3 \"k.comp\"\nx\n")),
        ("#version 150\nx\n", format!("#version 150\n{extension}#line 1 \"k.comp\"\nx\n")),
        ("x", format!("#version 450\n{extension}#line 1 \"k.comp\"\nx\n")), // Without a version, as OpenGL's text may be.
        ("/*\n#version 430\n*/", format!("#version 450\n{extension}#line 1 \"k.comp\"\n/*\n#version 430\n*/\n")),
    ];
    for (text, expected) in cases {
        assert_eq!(expanded(text, &[]).text, expected, "{text}");
    }
}

#[test]
fn defines_stand_behind_the_version() {
    let mut glsl = Glsl::new("#version 450\nx".into());
    for (name, value) in [("A", ""), ("N(x)", "(x) +\n 1"), ("B", "2\\")] {
        glsl.define(name.to_owned(), value.to_owned());
    }
    let text = expand("k.comp", &glsl).text;
    assert!(text.contains("enable\n#define A \n#define N(x) (x) +  1\n#define B 2\n#line 2 \"k.comp\"\nx\n"), "{text}");
}

#[test]
fn only_directives_are_followed() {
    let files = folder(&[("a.h", "AAA")]);
    let cases = [
        ("#include \"a.h\"", true),
        (" # /* b */ include <a.h> // c", true),
        ("/* b */ #include \"a.h\"", true),
        ("// #include \"a.h\"", false),
        ("/*\n#include \"a.h\"\n*/", false),
        ("#define X \\\n#include \"a.h\"", false),
        ("\"/*\"\n#include \"a.h\"", true),
        ("#include a.h", false),
        ("#include \"a.h", false),
        ("#includes \"a.h\"", false),
    ];
    for (text, is_followed) in cases {
        let found = expanded(text, &[files.path()]);
        assert_eq!(found.text.contains("AAA"), is_followed, "{text}: {}", found.text);
        assert_eq!(found.problems, [] as [String; 0], "{text}");
    }
}

#[test]
fn a_file_is_found_beside_its_includer_and_then_in_the_folders_in_their_order() {
    let first = folder(&[
        ("sub/a.h", "#include \"b.h\"\n#include <b.h>\n#include \"../c.h\""),
        ("sub/b.h", "SUB"),
        ("c.h", "C"),
    ]);
    let second = folder(&[("b.h", "SECOND"), ("c.h", "WRONG")]);
    let found = expanded("#include \"sub/a.h\"\nend", &[first.path(), second.path()]);
    let words: Vec<_> = found.text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!((words, found.problems), (vec!["SUB", "SECOND", "C", "end"], vec![]));
    let a = first.path().join("sub/a.h").display().to_string();
    assert_eq!(found.text.lines().last(), Some("end"));
    for place in [format!("#line 1 \"{a}\"\n#line"), format!("#line 2 \"{a}\""), "#line 2 \"k.comp\"\nend".to_owned()] {
        assert!(found.text.contains(&place), "{}\n{place}", found.text);
    }
}

#[test]
fn no_file_outside_of_the_folders_is_read() {
    let root = folder(&[("in/a.h", "A"), ("in/up.h", "#include \"../secret.h\""), ("secret.h", "SECRET")]);
    let inside = root.path().join("in");
    let secret = root.path().join("secret.h").display().to_string();
    #[cfg(unix)]
    std::os::unix::fs::symlink(root.path().join("secret.h"), inside.join("link.h")).unwrap();
    let outside = |name: &str| {
        format!(
            "`{name}` is `{}`, which is outside of the include folders",
            fs::canonicalize(&secret).unwrap().display()
        )
    };
    let cases = [
        ("#include \"../secret.h\"".to_owned(), outside("../secret.h")),
        ("#include \"up.h\"".to_owned(), outside("../secret.h")),
        (format!("#include \"{secret}\""), outside(&secret)),
        #[cfg(unix)]
        ("#include \"link.h\"".to_owned(), outside("link.h")),
        ("#include \".\"".to_owned(), format!("there is no file `.` in `{}`", inside.display())),
    ];
    for (text, problem) in cases {
        let mut glsl = Glsl::new(text.clone().into());
        glsl.include_dirs = vec![inside.clone()];
        let found = expand("k.comp", &glsl);
        assert!(!found.text.contains("SECRET"), "{text}");
        assert!(found.problems.iter().any(|found| found.starts_with(&problem)), "{:?}\n{problem}", found.problems);
    }
    // A name that leads upwards and back, and one that is absolute, inside of the folder.
    let back = format!("#include \"../in/a.h\"\n#include \"{}\"", inside.join("a.h").display());
    let mut glsl = Glsl::new(back.into());
    glsl.include_dirs = vec![inside];
    let found = expand("k.comp", &glsl);
    assert_eq!((found.text.matches("\nA\n").count(), found.problems), (2, vec![]));
}

#[test]
fn circles_depth_and_size_are_bounded() {
    let chain: Vec<_> = (0..40).map(|i| (format!("{i}.h"), format!("#include \"{}.h\"\n", i + 1))).collect();
    let big = "x".repeat(MAX_BYTES / 3);
    let mut files: Vec<(&str, &str)> = chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.extend([("40.h", "end"), ("self.h", "#ifndef A\n#define A\n#include \"self.h\"\n#endif\n"), ("big.h", &big)]);
    let files = folder(&files);
    let cases = [
        ("#include \"self.h\"", "self.h` includes itself, and its `#ifndef` does not stop it"),
        ("#include \"0.h\"", "more than 32 files include each other"),
        ("#include \"big.h\"\n#include \"big.h\"\n#include \"big.h\"\n", "are more than 8 MiB"),
    ];
    for (text, problem) in cases {
        let found = expanded(text, &[files.path()]);
        assert!(matches!(found.problems.as_slice(), [only] if only.ends_with(problem)), "{:?}", found.problems);
        assert!(found.text.len() < 2 * MAX_BYTES);
    }
}

#[test]
fn a_line_is_found_by_its_file_and_number() {
    let files = folder(&[("a.h", "one\ntwo\n")]);
    let found = expanded("#version 450\nfirst\n#include \"a.h\"\nlast\n", &[files.path()]);
    let a = files.path().join("a.h").display().to_string();
    assert_eq!(found.files(), BTreeSet::from(["k.comp", &a]));
    for (file, number, line) in [("k.comp", 2, "first"), ("k.comp", 4, "last"), (&a, 2, "two")] {
        assert_eq!(found.line(file, number), Some(line));
    }
    assert_eq!((found.line(&a, 7), found.line("b.h", 1)), (None, None));
}

/// Every text that is cut is cut between characters: a character outside of ASCII may stand anywhere.
#[test]
fn characters_outside_ascii_may_stand_anywhere() {
    let text =
        "#version 310 es\n#extension GL_EXT_x : enable /* a */\n#include \"a.h\"\n#define B(c) \\\n (c)\n#endif // b\n";
    for (at, letter) in
        (0..=text.len()).flat_map(|at| ["Θ", "→", "\u{85}", "𝛼/*", "ß;", "\""].map(|letter| (at, letter)))
    {
        let glsl = Glsl::new([&text[..at], letter, &text[at..]].concat().into());
        assert!(!expand("Θ.comp", &glsl).text.is_empty());
    }
}
