//! [`Difference`]: whether two host arrays are close, and the words that say how they are not. Pure.

use std::collections::BTreeMap;
use std::fmt;

use vkarray::ndarray::ArrayD;

use super::Number;

/// The most mismatches that a message lists.
const LISTED: usize = 5;

/// How far an element may be from the expected one. An element is close if at least one of three tolerances accepts it:
/// `rtol` and `atol` together, or `ulp`.
///
/// ```
/// use vkarray_test::Tolerance;
///
/// let tolerance = Tolerance::EXACT.rtol(1e-5).atol(1e-8);
/// assert_eq!(Tolerance::EXACT.equal_nan(false).to_string(), "none, NaN differs");
/// assert_eq!(tolerance.to_string(), "rtol 0.00001, atol 0.00000001");
/// assert_eq!(Tolerance::EXACT.to_string(), "none");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Tolerance {
    rtol: f64,
    atol: f64,
    ulp: u64,
    equal_nan: bool,
}

impl Tolerance {
    /// Accepts equal elements alone, and NaN for NaN.
    pub const EXACT: Self = Self { rtol: 0.0, atol: 0.0, ulp: 0, equal_nan: true };

    /// Accepts a difference of this part of the expected element, added to the part of [`Tolerance::atol`], as in
    /// NumPy: |actual - expected| ≤ atol + rtol × |expected|.
    pub const fn rtol(mut self, rtol: f64) -> Self {
        self.rtol = rtol;
        self
    }

    /// Accepts a difference of this size.
    pub const fn atol(mut self, atol: f64) -> Self {
        self.atol = atol;
        self
    }

    /// Accepts numbers that are at most this many representable numbers apart (units in the last place).
    pub const fn ulp(mut self, ulp: u64) -> Self {
        self.ulp = ulp;
        self
    }

    /// Whether NaN is accepted for NaN, which is the default. NumPy's `allclose` refuses it by default.
    pub const fn equal_nan(mut self, equal_nan: bool) -> Self {
        self.equal_nan = equal_nan;
        self
    }

    fn accepts<T: Number>(&self, actual: T, expected: T) -> bool {
        let (a, e) = (actual.to_f64(), expected.to_f64());
        if actual == expected || a.is_nan() || e.is_nan() || a.is_infinite() || e.is_infinite() {
            return actual == expected || self.equal_nan && a.is_nan() && e.is_nan();
        }
        actual.difference(expected) <= self.atol + self.rtol * e.abs() || actual.ulps(expected) <= self.ulp
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |name, value: f64| (value > 0.0).then(|| format!("{name} {value}"));
        let ulp = (self.ulp > 0).then(|| format!("{} ULP", self.ulp));
        let parts: Vec<String> =
            [part("rtol", self.rtol), part("atol", self.atol), ulp].into_iter().flatten().collect();
        f.write_str(if parts.is_empty() { "none" } else { "" })?;
        f.write_str(&parts.join(", "))?;
        f.write_str(if self.equal_nan { "" } else { ", NaN differs" })
    }
}

/// The size of a difference, for the histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ErrorSize {
    Equal,
    /// Below ten to this power, and not below the power before it.
    Below(i32),
    /// One number is NaN or infinite, and the other is a different NaN, infinity or number.
    NotFinite,
}

impl fmt::Display for ErrorSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("equal"),
            Self::Below(power) => write!(f, "1e{} to 1e{power}", power - 1),
            Self::NotFinite => f.write_str("NaN or infinite"),
        }
    }
}

/// The difference at one element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ElementError {
    /// |actual - expected|; infinite where one of them is not finite and they differ.
    pub(super) size: f64,
    /// Whether the tolerance accepts the difference.
    pub(super) is_close: bool,
}

/// How two arrays that are not close differ.
#[derive(Debug)]
pub(super) struct Difference {
    text: String,
    /// The difference of each element, in C order; empty if the shapes differ.
    pub(super) errors: Vec<ElementError>,
}

impl Difference {
    /// Compares two arrays. `None` if they are close.
    pub(super) fn find<T: Number>(actual: &ArrayD<T>, expected: &ArrayD<T>, tolerance: Tolerance) -> Option<Self> {
        if actual.shape() != expected.shape() {
            let text = format!("has shape {:?} where {:?} is expected", actual.shape(), expected.shape());
            return Some(Self { text, errors: Vec::new() });
        }
        let pairs = || actual.iter().copied().zip(expected.iter().copied());
        let errors: Vec<ElementError> = pairs().map(|(a, e)| element_error(a, e, tolerance)).collect();
        let n_mismatches = errors.iter().filter(|error| !error.is_close).count();
        if n_mismatches == 0 {
            return None;
        }
        let (shape, dtype) = (actual.shape(), T::DTYPE.short_name());
        let mut lines = vec![format!(
            "is not close: {n_mismatches} of {} elements of {dtype}, shape {shape:?}, exceed the tolerance: {tolerance}",
            errors.len()
        )];
        lines.push("index | actual | expected | difference | ULP".to_owned());
        let mismatches = actual.indexed_iter().zip(expected).zip(&errors).filter(|(_, error)| !error.is_close);
        lines.extend(mismatches.take(LISTED).map(|(((index, &a), &e), error)| {
            let ulps = if error.size.is_finite() { a.ulps(e).to_string() } else { "-".to_owned() };
            format!("{:?} | {a} | {e} | {:e} | {ulps}", vkarray::ndarray::Dimension::slice(&index), error.size)
        }));
        if n_mismatches > LISTED {
            lines.push(format!("and {} more", n_mismatches - LISTED));
        }
        lines.push(format!("differences: {}", histogram(&errors)));
        Some(Self { text: lines.join("\n"), errors })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn element_error<T: Number>(actual: T, expected: T, tolerance: Tolerance) -> ElementError {
    let is_nan = tolerance.equal_nan && actual.to_f64().is_nan() && expected.to_f64().is_nan();
    let is_same = actual == expected || is_nan;
    let size = if is_same { 0.0 } else { actual.difference(expected) };
    let size = if size.is_nan() { f64::INFINITY } else { size };
    ElementError { size, is_close: tolerance.accepts(actual, expected) }
}

fn histogram(errors: &[ElementError]) -> String {
    let mut counts = BTreeMap::new();
    for error in errors {
        let size = match error.size {
            0.0 => ErrorSize::Equal,
            size if size.is_infinite() => ErrorSize::NotFinite,
            #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a double is below 1024")]
            size => ErrorSize::Below(size.log10().floor() as i32 + 1),
        };
        *counts.entry(size).or_insert(0) += 1;
    }
    counts.iter().map(|(size, count)| format!("{count} {size}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use vkarray::ndarray::array;

    use super::*;

    #[test]
    fn each_tolerance_accepts_what_it_says() {
        let exact = Tolerance::EXACT;
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        // Actual, expected, tolerance, whether they are close.
        for (actual, expected, tolerance, is_close) in [
            (1.0, 1.0, exact, true),
            (1.0_f32.next_up(), 1.0, exact, false),
            (1.0_f32.next_up(), 1.0, exact.ulp(1), true),
            (1.5, 1.0, exact.atol(0.5), true),
            (1.5, 1.0, exact.atol(0.4), false),
            (110.0, 100.0, exact.rtol(0.1), true),
            (100.0, 110.0, exact.rtol(0.09), false), // Relative to the expected value.
            (111.0, 100.0, exact.rtol(0.1).atol(1.0), true), // Both tolerances are added.
            (nan, nan, exact, true),
            (nan, nan, exact.equal_nan(false).atol(f64::INFINITY), false),
            (1.0, 1.0, exact.equal_nan(false), true),
            (nan, 1.0, exact.atol(f64::MAX), false),
            (1.0, nan, exact.ulp(u64::MAX), false),
            (infinity, infinity, exact, true),
            (infinity, -infinity, exact.atol(f64::INFINITY), false),
            (f32::MAX, infinity, exact.ulp(1), false),
            (-0.0, 0.0, exact, true),
        ] {
            assert_eq!(tolerance.accepts(actual, expected), is_close, "{actual} for {expected}, {tolerance}");
        }
    }

    #[test]
    fn a_message_has_the_count_the_first_mismatches_and_a_histogram() {
        let expected = array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]].into_dyn();
        let mut actual = expected.clone();
        assert!(Difference::find(&actual, &expected, Tolerance::EXACT).is_none());
        actual[[0, 1]] = 2.5;
        actual[[1, 0]] = f32::NAN;
        actual[[1, 2]] = 6.0625; // Accepted.
        let difference = Difference::find(&actual, &expected, Tolerance::EXACT.atol(0.1)).unwrap();
        let text = "is not close: 2 of 6 elements of f32, shape [2, 3], exceed the tolerance: atol 0.1\n\
                    index | actual | expected | difference | ULP\n\
                    [0, 1] | 2.5 | 2 | 5e-1 | 1048576... \n";
        let lines: Vec<String> = difference.to_string().lines().map(str::to_owned).collect();
        assert_eq!(lines[..2], text.lines().take(2).map(str::to_owned).collect::<Vec<_>>()[..]);
        assert_eq!(lines[2], "[0, 1] | 2.5 | 2 | 5e-1 | 2097152");
        assert_eq!(lines[3], "[1, 0] | NaN | 4 | inf | -");
        assert_eq!(lines[4], "differences: 3 equal, 1 1e-2 to 1e-1, 1 1e-1 to 1e0, 1 NaN or infinite");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn other_shapes_are_a_difference() {
        let (a, b) = (array![1, 2].into_dyn(), array![[1, 2]].into_dyn());
        let difference = Difference::find(&a, &b, Tolerance::EXACT).unwrap();
        assert_eq!(difference.to_string(), "has shape [2] where [1, 2] is expected");
    }

    #[test]
    fn long_lists_are_cut() {
        let (a, b) = (ArrayD::from_elem(vec![100], 1_u32), ArrayD::from_elem(vec![100], 3_u32));
        let text = Difference::find(&a, &b, Tolerance::EXACT.ulp(1)).unwrap().to_string();
        assert!(
            text.starts_with("is not close: 100 of 100 elements of u32, shape [100], exceed the tolerance: 1 ULP\n")
        );
        assert!(text.ends_with("[4] | 1 | 3 | 2e0 | 2\nand 95 more\ndifferences: 100 1e0 to 1e1"), "{text}");
    }
}
