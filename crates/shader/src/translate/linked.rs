//! A shader and its libraries as one text: [`LinkedSource`], which finds the file and line of each place in it.
//!
//! The shader comes first, so its lines keep their numbers. Lines after it belong to a library. naga reads one file only,
//! so the places in its messages are changed here to the library's name and line.
//! Called by `text.rs`.

use std::fmt::Write;

use crate::translate::source::Library;

/// The texts of a shader, put together.
#[derive(Clone, Debug)]
pub(crate) struct LinkedSource {
    pub(crate) text: String,
    /// Each file's name and first line, counted from 1.
    files: Vec<(String, u32)>,
}

impl LinkedSource {
    pub(crate) fn new(name: &str, text: &str, libraries: &[Library]) -> Self {
        let mut linked = Self { text: text.to_owned(), files: vec![(name.to_owned(), 1)] };
        for library in libraries {
            linked.text.push('\n');
            let lines = linked.text.bytes().filter(|&byte| byte == b'\n').count();
            linked.files.push((library.name.to_string(), u32::try_from(lines + 1).unwrap_or(u32::MAX)));
            linked.text.push_str(&library.text);
        }
        linked
    }

    /// `file:line:column` of the first place in a report, or else of the location: naga sometimes takes that from a label
    /// that has no place.
    pub(crate) fn place_of(&self, report: &str, location: Option<naga::SourceLocation>) -> String {
        let shown = report.lines().find_map(|line| Some(line.split_once("┌─ ")?.1.trim().to_owned()));
        shown.unwrap_or_else(|| self.place(location))
    }

    /// `file:line:column` of a place in the whole text.
    pub(crate) fn place(&self, location: Option<naga::SourceLocation>) -> String {
        location.map_or_else(|| self.files[0].0.clone(), |at| self.at(at.line_number, at.line_position))
    }

    fn at(&self, line: u32, column: u32) -> String {
        let (name, first) = self.files.iter().rev().find(|(_, first)| *first <= line).unwrap_or(&self.files[0]);
        format!("{name}:{}:{column}", line + 1 - first)
    }

    /// A report of naga's, its places translated. The numbers beside the lines stay those of the whole text.
    pub(crate) fn report(&self, report: &str) -> String {
        let (report, prefix) = (report.trim_end(), format!("─ {}:", self.files[0].0));
        if self.files.len() == 1 {
            return report.to_owned();
        }
        let mut out = String::new();
        for (i, line) in report.lines().enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            let numbers = line.split_once(&prefix).and_then(|(before, after)| {
                let (row, column) = after.split_once(':')?;
                Some((before, row.parse().ok()?, column.parse().ok()?))
            });
            let written = match numbers {
                Some((before, row, column)) => write!(out, "{end}{before}─ {}", self.at(row, column)),
                None => write!(out, "{end}{line}"),
            };
            written.expect("a string takes all");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Module, Options, Source};

    fn refusal(text: &'static str, libraries: &[(&'static str, &'static str)]) -> String {
        let add = |source: Source, &(name, text): &(&'static str, &'static str)| source.with(Library::new(name, text));
        let source = libraries.iter().fold(Source::wgsl(text).named("main.wgsl"), add);
        let translated =
            Module::parse(&source).and_then(|module| module.translate(None, &BTreeMap::new(), &Options::default()));
        translated.map_or_else(|error| error.to_string(), |translated| translated.signature.to_string())
    }

    #[test]
    fn an_error_is_where_it_was_written() {
        type Case<'a> = (&'static str, &'a [(&'static str, &'static str)], &'a str);
        let main = "@compute @workgroup_size(1) fn main() { twice(1u); }";
        let twice = "// 2 x\nfn twice(x: u32) -> u32 {\n    return 2u * x;\n}";
        let broken = "\n\nfn broken() -> u32 { return 1.5; }";
        // Shader, libraries, place; the same place is in the report.
        let cases: &[Case<'_>] = &[
            ("fn f( {}", &[("a.wgsl", twice)], "main.wgsl:1:7"),
            (main, &[], "main.wgsl:1:41"), // Nothing is called `twice`.
            (main, &[("a.wgsl", twice), ("b.wgsl", broken)], "b.wgsl:3:"),
            (main, &[("a.wgsl", twice), ("a2.wgsl", twice)], "a.wgsl:2:4"), // Twice the same.
            ("\nfn g() -> u32 { return 1.5; }", &[("a.wgsl", twice)], "main.wgsl:2:"),
        ];
        for (text, libraries, place) in cases {
            let found = refusal(text, libraries);
            assert!(found.starts_with(place), "{found}\n{place}");
            assert!(found.lines().any(|line| line.contains(&format!("─ {place}"))), "{found}");
        }
        assert_eq!(refusal(main, &[("a.wgsl", twice)]), "main: workgroup 1×1×1");
    }

    #[test]
    fn libraries_are_wgsl() {
        let source = Source::glsl("void main() {}").with(Library::new("a.wgsl", ""));
        let message = "shader.comp: adding `a.wgsl` is done while a shader is translated, and only WGSL has libraries";
        assert_eq!(Module::parse(&source).unwrap_err().to_string(), message);
    }
}
