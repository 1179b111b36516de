//! [`Expected`]: what a result of a test is compared with.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use vkarray::kernel::ScalarValue;
use vkarray::primitives::ElementwiseKernel;
use vkarray_test::{TestContext, Tolerance, check_golden};

use crate::array::{HostArray, with_array};
use crate::error::{Error, Result};
use crate::run::arrays::Description;
use crate::run::compare::{check_arrays, check_tolerances};
use crate::run::eval;
use crate::run::execute::compute;
use crate::run::generate::number;
use crate::run::input::Input;
use crate::run::pipeline::sized;
use crate::run::plan::{BuildArgs, Work};
use crate::run::value::PictureOptions;

/// A value of `expect`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct ExpectTable {
    golden: Option<String>,
    value: Option<String>,
    text: Option<String>,
    array: Option<String>,
    device: Option<String>,
    rtol: f64,
    atol: f64,
    ulp: u64,
    equal_nan: bool,
}

/// Where the expected values come from.
#[derive(Debug)]
enum Origin {
    /// A file that `--bless` writes.
    Golden(PathBuf),
    /// An array of a file, or a generated one.
    Value(Input),
    /// A text in WGSL over the arrays as they are before the run, and over the numbers of the steps.
    Text(Box<ElementwiseKernel>),
    /// Another array after the run.
    Array(String),
    /// What the steps compute on the device of this selector.
    Device(String),
}

/// What a result is compared with, and how exactly.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) name: String,
    origin: Origin,
    tolerance: Tolerance,
}

impl Expected {
    /// Reads the table of the result `name` for one size of a test. Files are looked for in `folder`.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] unless there is one origin; [`Error::Tolerance`]; and the errors of values and their files.
    pub(crate) fn new(name: &str, table: &ExpectTable, size: Option<usize>, folder: &Path) -> Result<Self> {
        let ExpectTable { golden, value, text, array, device, rtol, atol, ulp, equal_nan } = table;
        check_tolerances([("rtol", *rtol), ("atol", *atol)])?;
        let tolerance = Tolerance::EXACT.rtol(*rtol).atol(*atol).ulp(*ulp).equal_nan(*equal_nan);
        let of = |origin: &Option<String>| origin.as_deref().map(|text| sized(text, size));
        let origin = match (of(golden), of(value), of(text), of(array), of(device)) {
            (Some(path), None, None, None, None) => Origin::Golden(golden_path(folder, &path)?),
            (None, Some(value), None, None, None) => {
                let described = Description::parse(name, &value, folder)?.array(name)?;
                Origin::Value(Input::open(described.value, PictureOptions::default())?)
            }
            (None, None, Some(text), None, None) => Origin::Text(Box::new(eval::expression(&text))),
            (None, None, None, Some(array), None) => Origin::Array(array),
            (None, None, None, None, Some(selector)) => Origin::Device(selector),
            _ => {
                let one = "an expectation has one of `text`, `golden`, `value`, `array` and `device`";
                return Err(Error::Setting(one.to_owned()));
            }
        };
        Ok(Self { name: name.to_owned(), origin, tolerance })
    }

    /// The names that a text uses: of arrays, and of numbers of the steps.
    pub(crate) fn names(&self) -> &[String] {
        if let Origin::Text(kernel) = &self.origin { kernel.arguments() } else { &[] }
    }

    /// The result whose array is expected.
    pub(crate) fn other(&self) -> Option<&str> {
        if let Origin::Array(name) = &self.origin { Some(name) } else { None }
    }

    /// Compares a result. `result` finds the arrays after the run.
    ///
    /// # Errors
    ///
    /// [`Error::Differs`], [`Error::ComparedTypes`], and the errors of making the expected array.
    pub(crate) fn check<'a>(
        &self,
        work: &Work,
        (ctx, how): (&TestContext, BuildArgs),
        result: impl Fn(&str) -> Option<&'a HostArray>,
    ) -> Result<()> {
        let found = |name: &str| result(name).expect("the plan has checked the names of results");
        let actual = found(&self.name);
        let compare = |expected: &HostArray| check_arrays(&self.name, actual, expected, self.tolerance);
        match &self.origin {
            Origin::Golden(path) => {
                let checked = with_array!(actual, array => check_golden(path, array, self.tolerance));
                checked.map_err(|message| Error::Differs { message })
            }
            Origin::Value(input) => compare(&input.load()?),
            Origin::Array(name) => compare(found(name)),
            Origin::Text(kernel) => {
                let value = eval::value(ctx, kernel, actual.dtype(), |name| argument(work, name))?;
                compare(&broadcast(value, actual.shape()))
            }
            Origin::Device(selector) => {
                let other = ctx.other_device(selector)?;
                let results = compute(work, &other, BuildArgs { limit: None, ..how }, |name| name == self.name)?;
                results.iter().try_for_each(|(_, expected)| compare(expected))
            }
        }
    }
}

/// The path of a golden file, which is always a `.npy` file.
fn golden_path(folder: &Path, path: &str) -> Result<PathBuf> {
    let path = folder.join(path);
    let is_npy = path.extension().is_some_and(|extension| extension == "npy");
    if is_npy { Ok(path) } else { Err(Error::Setting(format!("{}: a golden file is .npy", path.display()))) }
}

/// The array or number of a text's argument, as it is before the run.
fn argument(work: &Work, name: &str) -> Result<HostArray> {
    if let Some(array) = work.arrays.iter().find(|array| array.name == name) {
        return array.input.load();
    }
    let numbers = work.steps().find_map(|step| step.numbers(name));
    let value: &ScalarValue = &numbers.expect("the plan has found the names of the text")[0];
    number(name, value.to_string(), value.dtype())
}

/// The array repeated to a shape, as in NumPy; unchanged if it does not fit.
fn broadcast(array: HostArray, shape: &[usize]) -> HostArray {
    let repeated = with_array!(&array, array => array.broadcast(shape).map(|view| HostArray::new(view.to_owned())));
    repeated.unwrap_or(array)
}
