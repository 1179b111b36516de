//! [`Job`]: what is to run, from the command line or a pipeline file. A command line is a job of one step, and a test of
//! a pipeline file is a job for each of its sizes.
//!
//! `vkarray run --help` shows a pipeline file. The `toml` crate parses it; `step.rs` compares the steps with their
//! shaders.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::Value as Toml;
use toml::de::{DeTable, DeValue, Deserializer};

use super::arrays::{Described, Description, StepArgument, parse_sampler};
use super::value::{extension, split_pair};
use crate::args::{DispatchArgs, RunArgs, SourceArgs};
use crate::error::{Error, Result};

/// Arrays, and groups of dispatches that take them.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) arrays: Vec<Described>,
    pub(crate) groups: Vec<Group<DispatchText>>,
    /// The pipeline file, for messages.
    pub(crate) file: Option<PathBuf>,
}

/// Dispatches in order, which are run several times.
#[derive(Debug)]
pub(crate) struct Group<T> {
    pub(crate) repeat: u32,
    pub(crate) steps: Vec<T>,
}

/// A dispatch and its arguments by name.
#[derive(Debug)]
pub(crate) struct DispatchText {
    pub(crate) dispatch: DispatchArgs,
    pub(crate) arguments: Vec<(String, StepArgument)>,
    /// The place of the dispatch in the pipeline file, such as `step 2`.
    pub(crate) place: String,
}

impl Job {
    /// Reads the arguments of a shader, or a pipeline file.
    ///
    /// # Errors
    ///
    /// [`Error::NotAPair`] and the errors of [`Description::parse`]. For a file also [`Error::Read`],
    /// [`Error::PipelineText`], and [`Error::OfOneShader`] for flags that its steps have as keys.
    pub(crate) fn new(args: &RunArgs) -> Result<Self> {
        let here = Path::new("");
        let given = args.data.values.iter().map(|text| {
            let (name, value) = split_pair("--arg", text)?;
            Ok((name.to_owned(), Description::parse(name, value, here)?))
        });
        let given = given.collect::<Result<Vec<_>>>()?;
        if extension(&args.dispatch.shader).as_deref() == Some("toml") {
            return Self::of_file(&args.dispatch, given);
        }
        let (mut arrays, mut arguments) = (Vec::new(), Vec::new());
        for (name, Description { arrays: described, argument }) in given {
            arrays.extend(described);
            arguments.push((name, argument));
        }
        let step = DispatchText { dispatch: args.dispatch.clone(), arguments, place: String::new() };
        Ok(Self { arrays, groups: vec![Group { repeat: 1, steps: vec![step] }], file: None })
    }

    /// Reads a pipeline file. `given` are arrays of the command line, which replace the arrays of the file of the same
    /// names.
    fn of_file(flags: &DispatchArgs, given: Vec<(String, Description)>) -> Result<Self> {
        let path = &flags.shader;
        if let Some(flag) = of_one_shader(flags) {
            return Err(Error::OfOneShader { flag, path: path.clone() });
        }
        let text = fs::read_to_string(path).map_err(|reason| Error::Read { path: path.clone(), reason })?;
        let (file, _) = PipelineFile::parse(path, &text)?;
        let mut arrays = Vec::new();
        for (name, description) in given {
            arrays.push(description.array(&name)?);
        }
        Self::of_tables(path, arrays, &file.arrays, file.step)
    }

    /// The job of tables of a file. `arrays` replace the `described` ones of the same names.
    ///
    /// # Errors
    ///
    /// [`Error::Pipeline`], with the place in the file.
    pub(crate) fn of_tables(
        path: &Path,
        mut arrays: Vec<Described>,
        described: &BTreeMap<String, String>,
        steps: Vec<StepTable>,
    ) -> Result<Self> {
        let path = path.to_owned();
        let folder = path.parent().unwrap_or(Path::new(""));
        let at = |place: &str, reason| in_file(Some(&path), place, reason);
        for (name, text) in described {
            if arrays.iter().all(|array| array.name != *name) {
                let described = Description::parse(name, text, folder).and_then(|array| array.array(name));
                arrays.push(described.map_err(|reason| at("arrays", reason))?);
            }
        }
        if steps.is_empty() {
            return Err(at("step", Error::StepTable { reason: "there is none" }));
        }
        let mut groups = Vec::new();
        for (number, step) in (1..).zip(steps) {
            let place = format!("step {number}");
            groups.push(step.group(&place, folder).map_err(|reason| at(&place, reason))?);
        }
        Ok(Self { arrays, groups, file: Some(path) })
    }
}

/// The error, with the pipeline file and the place in it if there is a file.
pub(super) fn in_file(file: Option<&PathBuf>, place: &str, reason: Error) -> Error {
    match file {
        Some(path) => Error::Pipeline { path: path.clone(), place: place.to_owned(), reason: Box::new(reason) },
        None => reason,
    }
}

/// The first flag that is given and describes a dispatch.
fn of_one_shader(flags: &DispatchArgs) -> Option<&'static str> {
    let DispatchArgs { shader: _, source, entry, constants, covering, groups, allow_small, allow_empty: _ } = flags;
    let given = [
        ("--lib", !source.libraries.is_empty()),
        ("--define", !source.defines.is_empty()),
        ("--include-dir", !source.include_dirs.is_empty()),
        ("--entry", entry.is_some()),
        ("--const", !constants.is_empty()),
        ("--covering", covering.is_some()),
        ("--groups", groups.is_some()),
        ("--allow-small", *allow_small),
    ];
    given.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| *flag)
}

/// A pipeline file, without its tests.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PipelineFile {
    pub(crate) arrays: BTreeMap<String, String>,
    pub(crate) step: Vec<StepTable>,
    /// How many trials of the tests may be skipped on a device.
    pub(crate) skips: Option<usize>,
}

impl PipelineFile {
    /// Reads the text of a file. The tables of its tests are returned as they are.
    ///
    /// # Errors
    ///
    /// [`Error::PipelineText`].
    pub(crate) fn parse<'a>(path: &Path, text: &'a str) -> Result<(Self, Vec<Spanned<DeTable<'a>>>)> {
        let mut document = DeTable::parse(text).map_err(|reason| toml_fault(path, text, reason))?;
        let tests = match document.get_mut().remove("test").map(Spanned::into_inner) {
            Some(DeValue::Array(tests)) => tests.into_iter().map(table).collect(),
            Some(_) => None,
            None => Some(Vec::new()),
        };
        let wrong = || serde::de::Error::custom("`test` is a list of tables: `[[test]]`");
        let tests = tests.ok_or_else(|| toml_fault(path, text, wrong()))?;
        Ok((read_table(path, text, document)?, tests))
    }
}

fn table(value: Spanned<DeValue<'_>>) -> Option<Spanned<DeTable<'_>>> {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => Some(Spanned::new(span, table)),
        _ => None,
    }
}

/// Reads one table of a file. An error shows its line.
///
/// # Errors
///
/// [`Error::PipelineText`].
pub(crate) fn read_table<'a, T: Deserialize<'a>>(path: &Path, text: &str, table: Spanned<DeTable<'a>>) -> Result<T> {
    T::deserialize(Deserializer::from(table)).map_err(|reason| toml_fault(path, text, reason))
}

fn toml_fault(path: &Path, text: &str, mut reason: toml::de::Error) -> Error {
    reason.set_input(Some(text));
    Error::PipelineText { path: path.to_owned(), reason: Box::new(reason) }
}

/// A `[[step]]`: a dispatch, whose keys are the flags of the same names, or a group of dispatches.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct StepTable {
    repeat: Option<NonZeroU32>,
    step: Vec<StepTable>,
    pub(crate) shader: Option<PathBuf>,
    lib: Vec<PathBuf>,
    define: BTreeMap<String, StepArgument>,
    include_dir: Vec<PathBuf>,
    entry: Option<String>,
    r#const: BTreeMap<String, StepArgument>,
    covering: Option<StepArgument>,
    groups: Option<StepArgument>,
    allow_small: bool,
    arg: BTreeMap<String, StepArgument>,
    /// Whether a launch may have no invocations. Only tests say so.
    #[serde(skip)]
    allow_empty: bool,
}

impl StepTable {
    /// The step of a test, with `{n}` in its values replaced by a size.
    pub(crate) fn sized(&self, size: Option<usize>) -> Self {
        let all = |values: &BTreeMap<String, StepArgument>| {
            values.iter().map(|(name, value)| (name.clone(), value.sized(size))).collect()
        };
        Self {
            step: self.step.iter().map(|step| step.sized(size)).collect(),
            define: all(&self.define),
            r#const: all(&self.r#const),
            covering: self.covering.as_ref().map(|counts| counts.sized(size)),
            groups: self.groups.as_ref().map(|counts| counts.sized(size)),
            arg: all(&self.arg),
            allow_empty: true,
            ..self.clone()
        }
    }

    /// Whether the table describes anything to run.
    pub(crate) fn is_some(&self) -> bool {
        self.shader.is_some() || !self.step.is_empty()
    }

    /// The first dispatch.
    pub(crate) fn first(&self) -> &Self {
        self.step.first().unwrap_or(self)
    }

    /// The names of arrays that the step takes.
    pub(crate) fn array_names(&self) -> impl Iterator<Item = &str> {
        let tables = std::iter::once(self).chain(&self.step);
        let names = tables.flat_map(|table| table.arg.values()).map(|argument| match argument {
            StepArgument::Arrays(names) => names.as_slice(),
            StepArgument::Numbers(_) | StepArgument::Sampler(_) => &[],
        });
        names.flatten().map(String::as_str)
    }

    fn group(mut self, place: &str, folder: &Path) -> Result<Group<DispatchText>> {
        let repeat = self.repeat.take().map_or(1, NonZeroU32::get);
        let tables = std::mem::take(&mut self.step);
        if tables.is_empty() {
            return Ok(Group { repeat, steps: vec![self.dispatch(place.to_owned(), folder)?] });
        }
        if self.shader.is_some() {
            return Err(Error::StepTable { reason: "a step has either `shader` or steps of its own" });
        }
        let numbered = (1..).zip(tables);
        let steps = numbered.map(|(number, table)| {
            if table.repeat.is_some() || !table.step.is_empty() {
                return Err(Error::StepTable { reason: "only a step that is in no other has `repeat` or steps" });
            }
            table.dispatch(format!("{place}.{number}"), folder)
        });
        Ok(Group { repeat, steps: steps.collect::<Result<_>>()? })
    }

    pub(crate) fn dispatch(self, place: String, folder: &Path) -> Result<DispatchText> {
        let shader = self.shader.ok_or(Error::StepTable { reason: "a step has a `shader`, or steps of its own" })?;
        let dispatch = DispatchArgs {
            shader: folder.join(shader),
            source: SourceArgs {
                libraries: self.lib.iter().map(|path| folder.join(path)).collect(),
                defines: pairs(&self.define),
                include_dirs: self.include_dir.iter().map(|path| folder.join(path)).collect(),
            },
            entry: self.entry,
            constants: pairs(&self.r#const),
            covering: self.covering.map(|counts| counts.text()),
            groups: self.groups.map(|counts| counts.text()),
            allow_small: self.allow_small,
            allow_empty: self.allow_empty,
        };
        Ok(DispatchText { dispatch, arguments: self.arg.into_iter().collect(), place })
    }
}

/// Names and values in the form of the flags.
fn pairs(values: &BTreeMap<String, StepArgument>) -> Vec<String> {
    values.iter().map(|(name, value)| format!("{name}={}", value.text())).collect()
}

/// A text of a test, with `{n}` replaced by a size.
pub(crate) fn sized(text: &str, size: Option<usize>) -> String {
    size.map_or_else(|| text.to_owned(), |n| text.replace(SIZE, &n.to_string()))
}

/// What stands for the size in the values of a test.
const SIZE: &str = "{n}";

impl StepArgument {
    /// The value with `{n}` replaced by a size. `{n}` alone is a number.
    fn sized(&self, size: Option<usize>) -> Self {
        match (self, size) {
            (Self::Arrays(texts), Some(n)) if texts[..] == [SIZE] => Self::Numbers(vec![n.to_string()]),
            (Self::Arrays(texts), _) => Self::Arrays(texts.iter().map(|text| sized(text, size)).collect()),
            (Self::Numbers(numbers), _) => Self::Numbers(numbers.iter().map(|text| sized(text, size)).collect()),
            (Self::Sampler(sampler), _) => Self::Sampler(*sampler),
        }
    }

    /// The value as text, in the form of the flags.
    fn text(&self) -> String {
        match self {
            Self::Arrays(texts) | Self::Numbers(texts) => texts.join(","),
            Self::Sampler(_) => "a sampler".to_owned(),
        }
    }
}

impl<'de> Deserialize<'de> for StepArgument {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let number = |value: &Toml| match value {
            Toml::Integer(number) => Some(number.to_string()),
            Toml::Float(number) => Some(format!("{number:?}")),
            Toml::Boolean(flag) => Some(flag.to_string()),
            Toml::String(text) if text == SIZE => Some(text.clone()),
            _ => None,
        };
        let value = Toml::deserialize(deserializer)?;
        let numbers = match &value {
            Toml::String(name) => {
                return match parse_sampler(name) {
                    Some(sampler) => sampler.map(Self::Sampler).map_err(serde::de::Error::custom),
                    None => Ok(Self::Arrays(vec![name.clone()])),
                };
            }
            Toml::Array(values) => {
                let name = |value: &Toml| value.as_str().map(str::to_owned);
                match values.iter().map(name).collect::<Option<Vec<_>>>() {
                    Some(names) if !names.is_empty() => return Ok(Self::Arrays(names)),
                    _ => values.iter().map(number).collect(),
                }
            }
            value => number(value).map(|number| vec![number]),
        };
        let wrong = || serde::de::Error::custom("expected a name, a number, or a list of names or of numbers");
        numbers.map(Self::Numbers).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests;
