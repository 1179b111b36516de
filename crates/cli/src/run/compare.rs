//! `--compare NAME=FILE`: a result against an array of a file, with the tolerance of `--rtol` and `--atol`.
//!
//! The file's header is read before a device is opened. `vkarray-test` compares, and keeps the arrays that differ.

use vkarray_test::{Tolerance, check_close};

use super::input::Input;
use super::value::{PictureOptions, parse_file, split_pair};
use crate::args::ComparisonArgs;
use crate::array::HostArray;
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
        for (flag, value) in [("--rtol", args.rtol), ("--atol", args.atol)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::Tolerance { flag, value });
            }
        }
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
        macro_rules! compare {
            ($($variant:ident)*) => {
                match (actual, &self.expected.load()?) {
                    $((HostArray::$variant(actual), HostArray::$variant(expected)) => {
                        check_close(&self.name, actual, expected, self.tolerance)
                    })*
                    (HostArray::Bool(actual), HostArray::Bool(expected)) => {
                        let [actual, expected] = [actual, expected].map(|array| array.mapv(|flag| u8::from(bool::from(flag))));
                        check_close(&self.name, &actual, &expected, self.tolerance)
                    }
                    _ => {
                        let (name, actual, expected) = (self.name.clone(), actual.dtype(), self.expected.dtype());
                        return Err(Error::ComparedTypes { name, actual, expected });
                    }
                }
            };
        }
        compare!(I8 U8 I16 U16 F16 I32 U32 F32 I64 U64 F64).map_err(|message| Error::Differs { message })
    }
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
