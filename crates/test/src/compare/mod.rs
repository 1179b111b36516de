//! Comparing arrays: [`assert_close!`](crate::assert_close), its message about a difference, and the files it keeps.
//!
//! A comparison is a pure function of two host arrays and a [`Tolerance`] (`difference.rs`, which to read first).
//! `number.rs` measures the distance of two numbers, `picture.rs` draws where arrays differ, and `golden.rs` compares with
//! files. This folder reads arrays from the device, but never launches anything.

mod difference;
mod golden;
mod number;
mod picture;

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use vkarray::ndarray::{ArrayBase, ArrayD, ArrayView, Data, Dimension, IxDyn};
use vkarray::{DeviceNDArray, Element, io};

pub use difference::Tolerance;
pub use golden::check_golden;
pub use number::Number;

use difference::Difference;

/// What can be compared: an array of the device or of the host, a vector, a slice.
pub trait AsHost {
    /// The type of the elements.
    type Element: Number;

    /// The elements on the host.
    ///
    /// # Errors
    ///
    /// Why the elements could not be copied from the device.
    fn as_host(&self) -> Result<ArrayD<Self::Element>, String>;
}

impl<T: Number> AsHost for DeviceNDArray<T> {
    type Element = T;

    fn as_host(&self) -> Result<ArrayD<T>, String> {
        self.copy_to_host().map_err(|error| error.to_string())
    }
}

impl<T: Number, S: Data<Elem = T>, D: Dimension> AsHost for ArrayBase<S, D> {
    type Element = T;

    fn as_host(&self) -> Result<ArrayD<T>, String> {
        Ok(self.to_owned().into_dyn())
    }
}

impl<T: Number> AsHost for [T] {
    type Element = T;

    fn as_host(&self) -> Result<ArrayD<T>, String> {
        Ok(ArrayView::from(self).to_owned().into_dyn())
    }
}

impl<T: Number> AsHost for Vec<T> {
    type Element = T;

    fn as_host(&self) -> Result<ArrayD<T>, String> {
        self.as_slice().as_host()
    }
}

impl<T: Number, const N: usize> AsHost for [T; N] {
    type Element = T;

    fn as_host(&self) -> Result<ArrayD<T>, String> {
        self.as_slice().as_host()
    }
}

impl<A: AsHost + ?Sized> AsHost for &A {
    type Element = A::Element;

    fn as_host(&self) -> Result<ArrayD<A::Element>, String> {
        (**self).as_host()
    }
}

/// Fails the test unless two arrays have one shape and each pair of elements is close.
///
/// Without tolerances, elements have to be equal. With `rtol`, `atol` or `ulp`, an element is close if at least one of
/// them accepts it: see [`Tolerance`]. NaN is close only to NaN, and an infinity only to the same infinity.
///
/// The message has the number of mismatches, the first of them with index and both values, and how large the differences
/// are. Both arrays are kept as `actual.npy` and `expected.npy` in a folder of the test below `target/vkarray-test/`, with
/// a picture of where they differ.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray_test::assert_close;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let thirds = (&ctx.arange(0.0_f32, 3.0, 1.0)? / 3.0).eval()?;
/// assert_close!(thirds, [0.0, 1.0 / 3.0, 2.0 / 3.0], ulp = 1);
/// assert_close!(thirds, [0.0, 0.333, 0.667], rtol = 2e-3, atol = 1e-6);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! assert_close {
    ($actual:expr, $expected:expr $(, $tolerance:ident = $value:expr)* $(,)?) => {
        $crate::succeed($crate::check_close(
            stringify!($actual),
            &$actual,
            &$expected,
            $crate::Tolerance::EXACT$(.$tolerance($value))*,
        ))
    };
}

/// Panics, at the line of the caller, with the message of a comparison that failed.
#[doc(hidden)]
#[track_caller]
pub fn succeed(comparison: Result<(), String>) {
    if let Err(message) = comparison {
        panic!("{message}");
    }
}

/// Compares like [`assert_close!`](crate::assert_close), and returns the message. `what` names the array in the
/// message.
///
/// # Errors
///
/// How the arrays differ, or why they could not be read.
pub fn check_close<A: AsHost, B: AsHost<Element = A::Element>>(
    what: &str,
    actual: &A,
    expected: &B,
    tolerance: Tolerance,
) -> Result<(), String> {
    let (actual, expected) = (actual.as_host()?, expected.as_host()?);
    let Some(difference) = Difference::find(&actual, &expected, tolerance) else { return Ok(()) };
    let kept = keep(&actual, &expected, &difference).unwrap_or_else(|error| format!("no files were kept: {error}"));
    Err(format!("`{what}` {difference}\n{kept}"))
}

thread_local! {
    /// The folder for the files of the test that runs on this thread.
    static FOLDER: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Sets the folder for the files of the test that runs on this thread from now on. Files of an earlier run are removed.
pub(crate) fn set_folder(folder: PathBuf) {
    // The folder need not exist. If it cannot be removed, writing to it later reports the reason.
    fs::remove_dir_all(&folder).ok();
    FOLDER.set(Some(folder));
}

/// `vkarray-test/` in cargo's folder for what it builds, where test programs are in `PROFILE/deps/`; otherwise in the
/// system's folder for temporary files.
pub(crate) fn target_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let deps = program.parent().filter(|folder| folder.ends_with("deps"));
    deps.and_then(|deps| deps.ancestors().nth(2)).map_or_else(std::env::temp_dir, Path::to_owned).join("vkarray-test")
}

/// Writes both arrays and, if they have the same shape, a picture of their difference. Returns a line that names them.
fn keep<T: Number>(actual: &ArrayD<T>, expected: &ArrayD<T>, difference: &Difference) -> Result<String, String> {
    // Outside of a trial each process has a folder of its own, so that it does not replace arrays that another process
    // kept.
    let outside = || target_folder().join(format!("outside-{}", std::process::id()));
    let folder = FOLDER.with_borrow(Clone::clone).unwrap_or_else(outside);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    save(&folder.join("actual.npy"), actual)?;
    save(&folder.join("expected.npy"), expected)?;
    let mut names = "actual.npy, expected.npy".to_owned();
    if picture::write(&folder.join("difference.png"), &difference.errors, actual.shape())? {
        names.push_str(", difference.png");
    }
    Ok(format!("kept in {}: {names}", folder.display()))
}

/// Writes a `.npy` file.
pub(crate) fn save<T: Element>(path: &Path, array: &ArrayBase<impl Data<Elem = T>, IxDyn>) -> Result<(), String> {
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    io::write_npy(BufWriter::new(file), array).map_err(|error| format!("{}: {error}", path.display()))
}
