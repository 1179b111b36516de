//! A shader and the files that it includes as one text: [`expand`].
//!
//! The compiler is given one text and reads no file. In place of each `#include` stands the content of the file, and
//! `#line` directives with the names of the files keep every line's place, for messages and for debug information.
//! Directives are followed without regard to `#if`, so a file may be read that the shader then leaves out; an `#include`
//! that cannot be followed becomes an `#error`, which is a refusal only where the compiler reaches it. Files that are
//! included several times, or in a circle, guard themselves by `#ifndef`.
//! Read next: `folders.rs`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::Glsl;
use super::folders::{Folders, Form};

/// Files inside each other, at most.
const MAX_DEPTH: usize = 32;

/// Bytes of a text with all that it includes, at most.
const MAX_BYTES: usize = 8 << 20;

/// How the `#error` begins that stands for an `#include` that cannot be followed; a number follows.
pub(super) const UNRESOLVED: &str = "vkarray_unresolved_include_";

/// A text without `#include`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// Why an `#include` cannot be followed, by the number of its `#error`.
    pub(super) problems: Vec<String>,
}

/// Puts the text, its defines and all that it includes together.
pub(super) fn expand(name: &str, glsl: &Glsl) -> Expanded {
    let (head, rest) = glsl.text.split_at(version_end(&glsl.text));
    let numbers_next_line = numbers_next_line(head);
    let mut expander = Expander {
        folders: Folders::new(&glsl.include_dirs),
        numbers_next_line,
        out: head.to_owned(),
        problems: Vec::new(),
        open: Vec::new(),
    };
    if head.is_empty() {
        expander.out.push_str("#version 450\n");
    }
    expander.out.push_str("#extension GL_GOOGLE_include_directive : enable\n");
    for (name, value) in &glsl.defines {
        expander.define(name, value);
    }
    let first = head.bytes().filter(|&byte| byte == b'\n').count() + 1;
    expander.file(rest, first, name, None);
    Expanded { text: expander.out, problems: expander.problems }
}

/// Where the line of `#version` ends, with the end of the line; 0 if there is none.
fn version_end(text: &str) -> usize {
    let is_version = |line: &Line<'_>| directive(line.text).is_some_and(|rest| rest.starts_with("version"));
    let found = lines(text).find(|line| line.is_code && is_version(line));
    found.map_or(0, |line| line.start + line.text.len())
}

/// Whether `#line n` gives the number to the next line, as since version 330 and in OpenGL ES; in older versions the number is
/// that of the directive itself.
fn numbers_next_line(head: &str) -> bool {
    let version = head.rsplit_once("version").map_or("", |(_, version)| version);
    let mut words = version.split_whitespace();
    let number = words.next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(450);
    number >= 330 || words.next() == Some("es")
}

/// A line of a text, with its end.
struct Line<'a> {
    text: &'a str,
    start: usize,
    /// Whether it begins outside of a comment, and does not continue the line before.
    is_code: bool,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let (mut start, mut is_comment, mut continues) = (0, false, false);
    text.split_inclusive('\n').map(move |line| {
        let found = Line { text: line, start, is_code: !is_comment && !continues };
        start += line.len();
        is_comment = ends_in_comment(line, is_comment);
        continues = line.trim_end_matches(['\n', '\r']).ends_with('\\');
        found
    })
}

/// Whether a line ends inside of `/* … */`.
fn ends_in_comment(line: &str, is_comment: bool) -> bool {
    let (mut rest, mut is_comment) = (line, is_comment);
    loop {
        if is_comment {
            let Some(end) = rest.find("*/") else { return true };
            (rest, is_comment) = (&rest[end + 2..], false);
        }
        let Some(at) = rest.find(['/', '"']) else { return false };
        rest = &rest[at..];
        if rest.starts_with("//") {
            return false;
        }
        if let Some(inner) = rest.strip_prefix("/*") {
            (rest, is_comment) = (inner, true);
        } else if let Some(inner) = rest.strip_prefix('"') {
            rest = inner.split_once('"').map_or("", |(_, after)| after);
        } else {
            rest = &rest[1..];
        }
    }
}

/// What follows the `#` of a line, without comments and space between.
fn directive(line: &str) -> Option<&str> {
    without_space(line).strip_prefix('#').map(without_space)
}

/// A text without the space and the comments that it begins with.
fn without_space(text: &str) -> &str {
    let rest = text.trim_start();
    match rest.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) {
        Some((_, rest)) => without_space(rest),
        None => rest,
    }
}

/// The file that an `#include` names.
fn included(line: &str) -> Option<(Form, &str)> {
    let rest = without_space(directive(line)?.strip_prefix("include")?);
    let form = match rest.chars().next()? {
        '"' => (Form::Quotes, '"'),
        '<' => (Form::Brackets, '>'),
        _ => return None, // The compiler says what is wrong with it.
    };
    let (name, _) = rest[1..].split_once(form.1)?;
    Some((form.0, name))
}

struct Expander<'a> {
    folders: Folders<'a>,
    numbers_next_line: bool,
    out: String,
    problems: Vec<String>,
    /// The files that include each other, down to the current one.
    open: Vec<PathBuf>,
}

impl Expander<'_> {
    fn define(&mut self, name: &str, value: &str) {
        let value = value.replace(['\n', '\r'], " ");
        // A backslash at the end would continue the line.
        self.write(format_args!("#define {} {}\n", name.replace(['\n', '\r'], " "), value.trim_end_matches('\\')));
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a string takes all");
    }

    /// Says that the next line is the `number`-th of a file.
    fn place(&mut self, number: usize, name: &str) {
        let number = if self.numbers_next_line { number } else { number.saturating_sub(1) };
        self.write(format_args!("#line {number} \"{}\"\n", shown(name)));
    }

    fn file(&mut self, text: &str, first: usize, name: &str, folder: Option<&Path>) {
        self.place(first, name);
        for (number, line) in lines(text).enumerate() {
            let include = if line.is_code { included(line.text) } else { None };
            let Some((form, file)) = include else {
                self.out.push_str(line.text);
                continue;
            };
            if let Err(problem) = self.include(form, file, folder) {
                let index = self.problems.len();
                self.problems.push(problem);
                self.place(first + number, name);
                self.write(format_args!("#error {UNRESOLVED}{index}\n"));
            }
            self.place(first + number + 1, name);
        }
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn include(&mut self, form: Form, file: &str, folder: Option<&Path>) -> Result<(), String> {
        let found = self.folders.find(form, file, folder)?;
        let shown = found.shown.display().to_string();
        if self.open.contains(&found.path) {
            return Err(format!("`{shown}` includes itself, and its `#ifndef` does not stop it"));
        }
        if self.open.len() == MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} files include each other"));
        }
        let text = found.read()?;
        if self.out.len() + text.len() > MAX_BYTES {
            return Err(format!("the shader and what it includes are more than {} MiB", MAX_BYTES >> 20));
        }
        self.open.push(found.path);
        self.file(&text, 1, &shown, found.shown.parent());
        self.open.pop();
        Ok(())
    }
}

/// A name as it stands between the quotes of `#line`, and in messages of the compiler.
pub(super) fn shown(name: &str) -> String {
    name.replace(|c: char| c == '"' || c == '\\' || c.is_control(), "_")
}

impl Expanded {
    /// A line by its file and number, the first that is called so.
    pub(super) fn line(&self, file: &str, number: usize) -> Option<&str> {
        let (mut is_file, mut next) = (false, 0);
        for line in self.text.lines() {
            if let Some((at, name)) = place_of(line) {
                (is_file, next) = (name == file, at);
            } else if is_file && next == number {
                return Some(line);
            } else {
                next += 1;
            }
        }
        None
    }

    /// The names of all files, as the compiler knows them.
    pub(super) fn files(&self) -> BTreeSet<&str> {
        self.text.lines().filter_map(place_of).map(|(_, name)| name).collect()
    }
}

/// Number and name of a `#line` as it is written here.
fn place_of(line: &str) -> Option<(usize, &str)> {
    let (number, name) = line.strip_prefix("#line ")?.split_once(' ')?;
    Some((number.parse().ok()?, name.strip_prefix('"')?.strip_suffix('"')?))
}

#[cfg(test)]
mod tests;
