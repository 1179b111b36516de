//! Golden arrays: `.npy` files beside the tests that hold what a kernel is expected to compute.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use vkarray::device::environment::switch;
use vkarray::io::NpyFile;

use super::{AsHost, Tolerance, check_close, save};

/// If this variable is set, golden files are written instead of compared.
const BLESS: &str = "VKARRAY_BLESS";

/// The files that this process has written. Later trials compare with them, so that devices and profiles that disagree
/// are found.
static BLESSED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Fails the test unless an array is close to the array of a `.npy` file, whose path is relative to the package's
/// folder.
///
/// With `VKARRAY_BLESS=1` the first trial that compares with a file writes it. Look at the change before you commit it.
/// The tolerances are described at [`assert_close!`](crate::assert_close).
///
/// ```no_run
/// use vkarray_test::{TestContext, assert_golden};
///
/// fn squares(ctx: &TestContext) -> vkarray::Result<()> {
///     let x = ctx.arange(0.0_f32, 64.0, 1.0)?;
///     assert_golden!("tests/golden/squares.npy", (&x * &x).eval()?, ulp = 1);
///     Ok(())
/// }
/// # use vkarray::prelude::*;
/// ```
#[macro_export]
macro_rules! assert_golden {
    ($path:expr, $actual:expr $(, $tolerance:ident = $value:expr)* $(,)?) => {
        $crate::succeed($crate::check_golden(
            ::std::path::Path::new(::core::env!("CARGO_MANIFEST_DIR")).join($path),
            &$actual,
            $crate::Tolerance::EXACT$(.$tolerance($value))*,
        ))
    };
}

/// Compares like [`assert_golden!`](crate::assert_golden), and returns the message.
///
/// # Errors
///
/// How the arrays differ, or why the file could not be read or written.
pub fn check_golden<A: AsHost>(path: impl AsRef<Path>, actual: &A, tolerance: Tolerance) -> Result<(), String> {
    let blesses = switch(BLESS).map_err(|error| error.to_string())?.unwrap_or(false);
    compare_or_bless(path.as_ref(), actual, tolerance, blesses)
}

fn compare_or_bless<A: AsHost>(path: &Path, actual: &A, tolerance: Tolerance, blesses: bool) -> Result<(), String> {
    let name = path.display();
    if blesses {
        // The lock is held while the file is written, so that no other trial reads a part of it. A panic leaves the set
        // valid.
        let mut blessed = BLESSED.lock().unwrap_or_else(PoisonError::into_inner);
        if blessed.insert(path.to_owned()) {
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| format!("{name}: {error}"))?;
            return save(path, &actual.as_host()?);
        }
    }
    if !path.exists() {
        return Err(format!("there is no golden file {name}; {BLESS}=1 writes it"));
    }
    let expected = NpyFile::open(path).and_then(|file| file.read::<A::Element>()).map_err(|error| error.to_string())?;
    check_close(&format!("the array of {name}"), actual, &expected, tolerance)
        .map_err(|difference| format!("{difference}\nif the new values are right, {BLESS}=1 writes them to the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_missed_written_compared_and_found_stale() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("golden/x.npy");
        let check = |values: [f32; 2], blesses| compare_or_bless(&path, &values, Tolerance::EXACT, blesses);
        assert!(check([1.0, 2.0], false).unwrap_err().ends_with("VKARRAY_BLESS=1 writes it"));
        check([1.0, 2.0], true).unwrap();
        check([1.0, 2.0], false).unwrap();
        let stale = check([1.0, 3.0], false).unwrap_err();
        assert!(stale.contains("\n[1] | 3 | 2 | 1e0 | "), "{stale}");
        assert!(stale.ends_with("if the new values are right, VKARRAY_BLESS=1 writes them to the file"), "{stale}");
        // Another trial of the same run, which computes another result.
        assert!(check([1.0, 3.0], true).is_err());
        assert!(compare_or_bless(&path, &[1_u32], Tolerance::EXACT, false).unwrap_err().contains("f32"));
    }
}
