//! `--compare NAME=FILE`: a result against an array of a file, with the tolerance of `--rtol` and `--atol`.
//!
//! The file's header is read before a device is opened. `vkarray-test` compares, and keeps the arrays that differ.

use vkarray_test::{Tolerance, check_close};

use super::input::Input;
use super::value::{PictureOptions, parse_file, split_pair};
use crate::args::ComparisonArgs;
use crate::array::{HostArray, HostElement, with_array};
use crate::error::{Error, Result};
use crate::files::Files;

/// An array that a result is compared with.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The name of the result.
    pub(crate) name: String,
    /// The file, as the user wrote it.
    file: String,
    expected: Input,
    tolerance: Tolerance,
}

impl Comparison {
    /// Reads every `--compare NAME=FILE`. `check` judges the name before the file is opened. `files` are the files of
    /// the call.
    ///
    /// # Errors
    ///
    /// [`Error::NotAPair`], [`Error::Tolerance`], and the errors of `check` and of [`Input::open`].
    pub(crate) fn parse_all(
        args: &ComparisonArgs,
        check: impl Fn(&str, &str) -> Result<()>,
        files: &mut Files,
    ) -> Result<Vec<Self>> {
        check_tolerances([("--rtol", args.rtol), ("--atol", args.atol)])?;
        let tolerance = Tolerance::EXACT.rtol(args.rtol).atol(args.atol).equal_nan(args.equal_nan);
        let parse = |text: &String| {
            let (name, file) = split_pair("--compare", text)?;
            check(name, file)?;
            let value = parse_file(name, file)?;
            value.path().into_iter().for_each(|path| files.read(path, None));
            let expected = Input::open(value, PictureOptions::default())?;
            Ok(Self { name: name.to_owned(), file: file.to_owned(), expected, tolerance })
        };
        args.expected.iter().map(parse).collect()
    }

    /// Compares the array of the file with the result.
    ///
    /// # Errors
    ///
    /// [`Error::Differs`]; [`Error::ComparedTypes`]; and the errors of [`Input::load`].
    pub(crate) fn check(&self, actual: &HostArray) -> Result<()> {
        check_arrays(&self.name, actual, &self.expected.load()?, self.tolerance)
    }
}

/// Refuses a tolerance that is negative or no number. Each has the name of its flag or key.
///
/// # Errors
///
/// [`Error::Tolerance`].
pub(crate) fn check_tolerances(tolerances: [(&'static str, f64); 2]) -> Result<()> {
    let is_wrong = |(_, value): &(_, f64)| !(*value >= 0.0 && value.is_finite());
    tolerances.into_iter().find(is_wrong).map_or(Ok(()), |(flag, value)| Err(Error::Tolerance { flag, value }))
}

/// Compares a result with an array of the same type.
///
/// # Errors
///
/// [`Error::Differs`], [`Error::ComparedTypes`].
pub(crate) fn check_arrays(name: &str, actual: &HostArray, expected: &HostArray, tolerance: Tolerance) -> Result<()> {
    with_array!(actual, array => match HostElement::typed(expected) {
        Some(expected) => {
            check_close(name, array, expected, tolerance).map_err(|message| Error::Differs { message })
        }
        None => {
            let (name, actual, expected) = (name.to_owned(), actual.dtype(), expected.dtype());
            Err(Error::ComparedTypes { name, actual, expected })
        }
    })
}

/// Makes every comparison. `result` finds a result by its name. Returns a line for each comparison.
///
/// # Errors
///
/// The error of the first comparison that fails.
pub(crate) fn check_all<'a>(
    comparisons: &[Comparison],
    result: impl Fn(&str) -> Option<&'a HostArray>,
) -> Result<String> {
    let mut lines = String::new();
    for comparison in comparisons {
        let Some(array) = result(&comparison.name) else { continue };
        comparison.check(array)?;
        let Comparison { name, file, tolerance, .. } = comparison;
        lines += &format!("compared  {name}: close to {file}, tolerance {tolerance}\n");
    }
    Ok(lines)
}
