//! [`TestFile`]: the tests of a pipeline file, planned. An error names the file, the line, the test and the key.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;
use vkarray::device::Features;
use vkarray::kernel::Error as KernelError;
use vkarray_test::Profile;

use super::case::{Case, Sized};
use super::expected::{ExpectTable, Expected};
use super::place::Lines;
use super::sizes::Sizes;
use crate::error::{Error, Result};
use crate::run::arrays::StepArgument;
use crate::run::pipeline::{Job, PipelineFile, StepTable, read_table, sized};
use crate::run::plan::Work;
use crate::run::step::Shaders;

/// A file with tests.
#[derive(Debug)]
pub(crate) struct TestFile {
    pub(crate) path: PathBuf,
    /// How many trials may be skipped on a device, if the file says so.
    pub(crate) skips: Option<usize>,
    pub(crate) cases: Vec<Arc<Case>>,
}

/// The keys of a `[[test]]` that a step does not have.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TestTable {
    name: Option<String>,
    sizes: Sizes,
    arrays: BTreeMap<String, String>,
    expect: BTreeMap<String, ExpectTable>,
    needs: Vec<String>,
    without: Vec<String>,
}

/// The names of those keys.
const OWN_KEYS: [&str; 6] = ["name", "sizes", "arrays", "expect", "needs", "without"];

impl TestFile {
    /// Reads and plans the tests of a file.
    ///
    /// # Errors
    ///
    /// [`Error::Read`], [`Error::PipelineText`], [`Error::NoTests`], and [`Error::TestFile`] for the first test with a
    /// fault.
    pub(crate) fn read(path: &Path, shaders: &mut Shaders) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|reason| Error::Read { path: path.to_owned(), reason })?;
        let (file, tables) = PipelineFile::parse(path, &text)?;
        if tables.is_empty() {
            return Err(Error::NoTests { path: path.to_owned() });
        }
        let cases =
            tables.into_iter().map(|table| Planner::new(path, &text, &file, table)?.case(shaders).map(Arc::new));
        Ok(Self { path: path.to_owned(), skips: file.skips, cases: cases.collect::<Result<_>>()? })
    }
}

/// One test while it is planned.
struct Planner<'a> {
    path: &'a Path,
    file: &'a PipelineFile,
    lines: Lines,
    name: String,
    table: TestTable,
    /// The steps of the test, or those of its file.
    steps: Vec<StepTable>,
    has_own_steps: bool,
}

impl<'a> Planner<'a> {
    fn new(path: &'a Path, text: &str, file: &'a PipelineFile, table: Spanned<DeTable<'_>>) -> Result<Self> {
        let (lines, span) = (Lines::of(text, &table), table.span());
        let is_own = |key: &str| OWN_KEYS.contains(&key);
        let (own, step) = table.into_inner().into_iter().partition(|(key, _)| is_own(key.get_ref()));
        let table: TestTable = read_table(path, text, Spanned::new(span.clone(), own))?;
        let step: StepTable = read_table(path, text, Spanned::new(span, step))?;
        let has_own_steps = step.is_some();
        let steps = if has_own_steps { vec![step] } else { file.step.clone() };
        let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let shader = steps.first().and_then(|step| step.first().shader.as_deref());
        let name = table.name.clone().or_else(|| shader.map(stem)).unwrap_or_else(|| "test".to_owned());
        Ok(Self { path, file, lines, name: format!("{}::{name}", stem(path)), table, steps, has_own_steps })
    }

    fn case(&self, shaders: &mut Shaders) -> Result<Case> {
        let needs = needs(&self.table.needs).map_err(|reason| self.at("needs", reason))?;
        let without = self.table.without.iter().map(|text| text.parse().map_err(Error::Setting));
        let without: Vec<Profile> = without.collect::<Result<_>>().map_err(|reason| self.at("without", reason))?;
        if self.table.expect.is_empty() {
            return Err(
                self.at("", Error::Setting("it expects nothing: `expect.RESULT = { … }` is missing".to_owned()))
            );
        }
        let sizes = self.sizes(shaders)?.into_iter().map(|size| self.sized(size, shaders));
        let sizes: Vec<Sized> = sizes.collect::<Result<_>>()?;
        let steps = || sizes.iter().flat_map(|sized| sized.work.steps());
        let described = |step: &crate::run::step::Step| format!("`{}` of {}", step.signature.entry, step.source.name());
        let kernels: BTreeSet<String> = steps().map(described).collect();
        let named: BTreeSet<String> = steps().map(|step| step.source.name().to_owned()).collect();
        Ok(Case {
            name: self.name.clone(),
            file: self.path.to_owned(),
            line: self.lines.line(""),
            shaders: named.into_iter().collect(),
            subject: kernels.into_iter().collect::<Vec<_>>().join(", "),
            needs,
            without,
            sizes,
        })
    }

    /// The sizes of the test, which may depend on the workgroup of its first kernel.
    fn sizes(&self, shaders: &mut Shaders) -> Result<Vec<Option<usize>>> {
        let Some(first) = self.steps.first() else {
            let missing = "it has no `shader`, and its file has no `[[step]]`".to_owned();
            return Err(self.at("", Error::Setting(missing)));
        };
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let text = first.first().sized(Some(1)).dispatch("step 1".to_owned(), folder);
        let shader =
            text.and_then(|text| shaders.read(&text.dispatch)).map_err(|reason| self.of_step(reason, "step 1"))?;
        self.table.sizes.resolve(shader.signature.workgroup_size[0]).map_err(|reason| self.at("sizes", reason))
    }

    fn sized(&self, size: Option<usize>, shaders: &mut Shaders) -> Result<Sized> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let mut expected = Vec::new();
        for (name, table) in &self.table.expect {
            let of_key = |reason| self.at(&format!("expect.{name}"), reason);
            expected.push(Expected::new(name, table, size, folder).map_err(of_key)?);
        }
        let steps: Vec<StepTable> = self.steps.iter().map(|step| step.sized(size)).collect();
        let used = steps.iter().flat_map(StepTable::array_names).map(str::to_owned);
        let used: BTreeSet<String> =
            used.chain(expected.iter().flat_map(|expected| expected.names().to_vec())).collect();
        // An array of the file need not be one of every test.
        let shared = self.file.arrays.iter().filter(|(name, _)| used.contains(*name));
        let arrays: BTreeMap<String, String> =
            shared.chain(&self.table.arrays).map(|(name, text)| (name.clone(), sized(text, size))).collect();
        let job = Job::of_tables(self.path, Vec::new(), &arrays, steps).map_err(|reason| self.located(reason))?;
        let numbers: BTreeSet<&str> = job.numbers().collect();
        let read = expected.iter().flat_map(Expected::names).map(String::as_str);
        let read: Vec<String> = read.filter(|name| !numbers.contains(name)).map(str::to_owned).collect();
        let read: Vec<&str> = read.iter().map(String::as_str).collect();
        let work = Work::new(job, &read, shaders).map_err(|reason| self.located(reason))?;
        for of in &expected {
            let key = format!("expect.{}", of.name);
            let names = [Some(of.name.as_str()), of.other()];
            let checked = names.into_iter().flatten().try_for_each(|name| work.check_output(name, key.clone().into()));
            checked.map_err(|reason| self.at(&key, reason))?;
        }
        Ok(Sized { size, work, expected })
    }

    /// The error, at a key of the test.
    fn at(&self, key: &str, reason: Error) -> Error {
        let (path, line, test) = (self.path.to_owned(), self.lines.line(key), self.name.clone());
        Error::TestFile { path, line, test, key: key.to_owned(), reason: Box::new(reason) }
    }

    /// An error that names a place of a pipeline file, at the key of the test.
    fn located(&self, error: Error) -> Error {
        match error {
            Error::Pipeline { place, reason, .. } if place == "arrays" => {
                let name = named(&reason).map(|name| format!(".{name}")).unwrap_or_default();
                self.at(&format!("arrays{name}"), *reason)
            }
            Error::Pipeline { place, reason, .. } => self.of_step(*reason, &place),
            other => self.at("", other),
        }
    }

    /// The error of a step. Only steps of the test have keys in it.
    fn of_step(&self, reason: Error, place: &str) -> Error {
        if !self.has_own_steps {
            return self.at(place, reason);
        }
        let inner = place.split_once('.').and_then(|(_, number)| number.parse::<usize>().ok());
        let table = inner.map(|number| format!("step.{}.", number.saturating_sub(1))).unwrap_or_default();
        self.at(&format!("{table}{}", key_of(&reason)), reason)
    }
}

/// The argument that an error names.
fn named(error: &Error) -> Option<&str> {
    match error {
        Error::Value { name, .. } | Error::Number { name, .. } | Error::TooFewElements { name, .. } => Some(name),
        Error::ArangeRange { name, .. } | Error::ShapeOverflow { name, .. } => Some(name),
        Error::InputExtension { name, .. } | Error::UnusedArray { name } => Some(name),
        _ => None,
    }
}

/// The key of a step that an error is about.
fn key_of(error: &Error) -> String {
    if let Some(name) = named(error) {
        return format!("arg.{name}");
    }
    match error {
        Error::Read { .. } | Error::ShaderExtension { .. } => "shader",
        Error::ConstantValue { .. } | Error::DuplicateConstant { .. } => "const",
        Error::Grid { flag, .. } => flag.trim_start_matches('-'),
        Error::GroupsRange { .. } => "groups",
        Error::Array(error) => match &**error {
            vkarray::Error::Kernel(KernelError::Shader(_)) => "shader",
            vkarray::Error::Kernel(_) => "arg",
            _ => "",
        },
        Error::UnknownArray { .. } => "arg",
        _ => "",
    }
    .to_owned()
}

/// Features by their names.
fn needs(names: &[String]) -> Result<Features> {
    let mut features = serde_json::to_value(Features::default()).expect("plain values");
    for name in names {
        match features.get_mut(name) {
            Some(feature) => *feature = true.into(),
            None => return Err(Error::Setting(format!("`{name}` is no feature; `vkarray devices --json` lists them"))),
        }
    }
    Ok(serde_json::from_value(features).expect("the same fields"))
}

impl Job {
    /// The names of arguments that are one number.
    fn numbers(&self) -> impl Iterator<Item = &str> {
        let arguments = self.groups.iter().flat_map(|group| &group.steps).flat_map(|step| &step.arguments);
        arguments.filter_map(|(name, argument)| match argument {
            StepArgument::Numbers(numbers) if numbers.len() == 1 => Some(name.as_str()),
            _ => None,
        })
    }
}
