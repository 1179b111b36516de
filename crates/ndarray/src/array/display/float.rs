//! Floats as NumPy writes them: with the fewest digits that identify the number, and at most eight after the point.
//!
//! The floats of an array share one notation and one width ([`FloatColumn`]); a scalar has its own rules
//! ([`float_scalar`]). The standard library produces the digits: the shortest digits of an `f32` and an `f64`, and
//! correctly rounded digits.

use half::{bf16, f16};

/// The most digits after the point, in an array.
const MAX_DIGITS: usize = 8;

/// The type of a float. It decides how many digits identify a number, and from where on notation is scientific.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FloatKind {
    Half,
    Brain,
    Single,
    Double,
}

impl FloatKind {
    /// The nearest number of the type.
    fn round(self, value: f64) -> f64 {
        match self {
            Self::Half => f16::from_f64(value).to_f64(),
            Self::Brain => bf16::from_f64(value).to_f64(),
            #[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
            Self::Single => f64::from(value as f32),
            Self::Double => value,
        }
    }

    /// From this magnitude on, arrays are in scientific notation: ten to the power of the type's decimal digits, or 10^8.
    fn array_limit(self) -> f64 {
        match self {
            Self::Brain => 1e2,
            Self::Half => 1e3,
            Self::Single => 1e6,
            Self::Double => 1e8,
        }
    }

    /// From this magnitude on, a scalar is in scientific notation.
    fn scalar_limit(self) -> f64 {
        if self == Self::Double { 1e16 } else { self.array_limit() }
    }

    /// The fewest digits that identify this number, as `d.ddde±x`. Of two equally close numbers it is the even one, as
    /// in NumPy.
    fn shortest(self, value: f64) -> String {
        let is_exact = |text: &String| match self {
            #[expect(clippy::cast_possible_truncation, reason = "it is the value of an `f32`")]
            Self::Single => text.parse() == Ok(value as f32),
            _ => text.parse().is_ok_and(|parsed| self.round(parsed) == value),
        };
        let shortest = match self {
            Self::Double => format!("{value:e}"),
            #[expect(clippy::cast_possible_truncation, reason = "it is the value of an `f32`")]
            Self::Single => format!("{:e}", value as f32),
            Self::Half | Self::Brain => {
                let mut candidates = (0..).map(|digits| format!("{value:.digits$e}"));
                candidates.find(is_exact).expect("enough digits identify any number")
            }
        };
        let digits = shortest.split_once('e').map_or(0, |(mantissa, _)| fraction_of(mantissa).len());
        let even = Some(format!("{value:.digits$e}")).filter(is_exact);
        trimmed_mantissa(&even.unwrap_or(shortest))
    }
}

/// Removes the trailing zeros of the mantissa.
fn trimmed_mantissa(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').expect("scientific notation");
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}e{exponent}")
}

/// The text of a finite number: before the point, after it, and the exponent with its sign.
#[derive(Debug, PartialEq, Eq)]
struct FloatParts {
    whole: String,
    fraction: String,
    exponent: String,
}

/// Scientific notation, with at most this many digits after the point.
fn scientific(value: f64, kind: FloatKind, max_digits: usize) -> FloatParts {
    let shortest = kind.shortest(value);
    let digits = shortest.split_once('e').map_or(0, |(mantissa, _)| fraction_of(mantissa).len());
    let text = if digits > max_digits { trimmed_mantissa(&format!("{value:.max_digits$e}")) } else { shortest };
    split_scientific(&text)
}

fn split_scientific(text: &str) -> FloatParts {
    let (mantissa, exponent) = text.split_once('e').expect("scientific notation");
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |exponent| ("-", exponent));
    FloatParts {
        whole: mantissa.split('.').next().unwrap_or_default().to_owned(),
        fraction: fraction_of(mantissa).to_owned(),
        exponent: format!("{sign}{exponent:0>2}"),
    }
}

/// Positional notation, with at most this many digits after the point.
fn positional(value: f64, kind: FloatKind, max_digits: usize) -> FloatParts {
    // If the shortest digits are too many, the value is an exact `f64` too, which is rounded to any number of digits.
    let shortest = kind.shortest(value);
    let (mantissa, exponent) = shortest.split_once('e').expect("scientific notation");
    let exponent: i32 = exponent.parse().expect("a number");
    let digits = fraction_of(mantissa).len().cast_signed() - exponent as isize;
    let digits = digits.max(0).cast_unsigned();
    let text = if digits > max_digits { format!("{value:.max_digits$}") } else { plain(mantissa, exponent) };
    let fraction = fraction_of(&text).trim_end_matches('0').to_owned();
    let whole = text.split('.').next().unwrap_or_default().to_owned();
    FloatParts { whole, fraction, exponent: String::new() }
}

/// Moves the point of a mantissa by the exponent.
fn plain(mantissa: &str, exponent: i32) -> String {
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let digits = mantissa.replace('.', "");
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let digits = format!("{digits:0<width$}", width = exponent + 1);
            let (whole, fraction) = digits.split_at(exponent + 1);
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) => format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
    }
}

fn fraction_of(text: &str) -> &str {
    text.split_once('.').map_or("", |(_, fraction)| fraction)
}

/// How the floats of an array are written.
#[derive(Debug, Default)]
struct FloatColumn {
    is_scientific: bool,
    shows_plus: bool,
    /// Characters before the point.
    left: usize,
    /// Characters after the point, exponent included.
    right: usize,
    /// Digits of the fraction and of the exponent, in scientific notation.
    fraction: usize,
    exponent: usize,
}

impl FloatColumn {
    fn new(values: &[f64], kind: FloatKind, shows_plus: bool) -> Self {
        let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let is_scientific = is_scientific(&finite, kind);
        let write = if is_scientific { scientific } else { positional };
        let parts: Vec<_> = finite.iter().map(|&value| signed(write(value, kind, MAX_DIGITS), shows_plus)).collect();
        let longest = |part: fn(&FloatParts) -> &String| parts.iter().map(|parts| part(parts).len()).max().unwrap_or(0);
        let mut columns = Self { is_scientific, shows_plus, ..Self::default() };
        columns.left = longest(|parts| &parts.whole);
        columns.fraction = longest(|parts| &parts.fraction);
        columns.exponent = longest(|parts| &parts.exponent).saturating_sub(1);
        columns.right = columns.fraction + if is_scientific { columns.exponent + 2 } else { 0 };
        if finite.len() < values.len() {
            let has_sign = shows_plus || values.contains(&f64::NEG_INFINITY);
            let wanted = 3 + usize::from(has_sign);
            columns.left = columns.left.max(3_usize.saturating_sub(columns.right + 1));
            columns.left = columns.left.max(wanted.saturating_sub(columns.right + 1));
        }
        columns
    }

    fn write(&self, value: f64, kind: FloatKind) -> String {
        if !value.is_finite() {
            let width = self.left + self.right + 1;
            return format!("{:>width$}", non_finite_text(value, self.shows_plus));
        }
        let Self { left, right, .. } = *self;
        if self.is_scientific {
            // As in NumPy, every number has as many digits as the longest one, computed rather than filled up with
            // zeros.
            let n_fraction = self.fraction;
            let FloatParts { whole, fraction, exponent } =
                signed(split_scientific(&format!("{value:.n_fraction$e}")), self.shows_plus);
            let (sign, digits) = exponent.split_at(1);
            let n_exponent = self.exponent;
            format!("{whole:>left$}.{fraction}e{sign}{digits:0>n_exponent$}")
        } else {
            let FloatParts { whole, fraction, .. } = signed(positional(value, kind, MAX_DIGITS), self.shows_plus);
            format!("{whole:>left$}.{fraction:<right$}")
        }
    }
}

/// Whether the numbers are so large, so small or so different that NumPy uses scientific notation.
fn is_scientific(finite: &[f64], kind: FloatKind) -> bool {
    let sizes = finite.iter().map(|value| value.abs()).filter(|&size| size != 0.0);
    let (low, high) = sizes.fold((f64::INFINITY, 0.0_f64), |(low, high), size| (low.min(size), high.max(size)));
    // NumPy compares in the type's own arithmetic.
    let ratio = kind.round(high / low);
    high != 0.0 && (high >= kind.array_limit() || low < kind.round(1e-4) || ratio > 1000.0)
}

fn signed(parts: FloatParts, shows_plus: bool) -> FloatParts {
    if !shows_plus || parts.whole.starts_with('-') {
        return parts;
    }
    FloatParts { whole: format!("+{}", parts.whole), ..parts }
}

fn non_finite_text(value: f64, shows_plus: bool) -> String {
    let plus = if shows_plus { "+" } else { "" };
    match value {
        _ if value.is_nan() => format!("{plus}nan"),
        f64::NEG_INFINITY => "-inf".to_owned(),
        _ => format!("{plus}inf"),
    }
}

/// A float with this many digits after the point.
pub(super) fn rounded(value: f64, precision: usize) -> String {
    if value.is_finite() { format!("{value:.precision$}") } else { non_finite_text(value, false) }
}

/// A complex number whose parts have this many digits after the point.
pub(super) fn rounded_complex([re, im]: [f64; 2], precision: usize) -> String {
    let sign = if im.is_sign_negative() && !im.is_nan() { "" } else { "+" };
    format!("{}{sign}{}j", rounded(re, precision), rounded(im, precision))
}

/// The floats of an array as text, all of the same width.
pub(super) fn float_words(values: &[f64], kind: FloatKind, shows_plus: bool) -> Vec<String> {
    let columns = FloatColumn::new(values, kind, shows_plus);
    values.iter().map(|&value| columns.write(value, kind)).collect()
}

/// The complex numbers of an array as text, all of the same width.
pub(super) fn complex_words(values: &[[f64; 2]], kind: FloatKind) -> Vec<String> {
    let [real, imaginary] = [0, 1].map(|part| values.iter().map(|value| value[part]).collect::<Vec<_>>());
    let imaginary = float_words(&imaginary, kind, true);
    let join = |(real, imaginary): (String, String)| {
        // The `j` comes after the digits and before the spaces that align the column.
        let digits = imaginary.trim_end();
        format!("{real}{digits}j{}", &imaginary[digits.len()..])
    };
    float_words(&real, kind, false).into_iter().zip(imaginary).map(join).collect()
}

/// A scalar float.
pub(super) fn float_scalar(value: f64, kind: FloatKind) -> String {
    let text = scalar_text(value, kind, false);
    // An integer has one zero after the point, unless the number has an exponent.
    if value.is_finite() && !text.contains(['.', 'e']) { text + ".0" } else { text }
}

/// A scalar complex number.
pub(super) fn complex_scalar([real, imaginary]: [f64; 2], kind: FloatKind) -> String {
    if real == 0.0 && real.is_sign_positive() {
        return format!("{}j", scalar_text(imaginary, kind, false));
    }
    format!("({}{}j)", scalar_text(real, kind, false), scalar_text(imaginary, kind, true))
}

fn scalar_text(value: f64, kind: FloatKind, shows_plus: bool) -> String {
    if !value.is_finite() {
        return non_finite_text(value, shows_plus);
    }
    let size = value.abs();
    let is_plain = size == 0.0 || size >= 1e-4 && size < kind.scalar_limit();
    let write = if is_plain { positional } else { scientific };
    let FloatParts { whole, fraction, exponent } = signed(write(value, kind, usize::MAX), shows_plus);
    let point = if fraction.is_empty() { "" } else { "." };
    let mark = if is_plain { "" } else { "e" };
    format!("{whole}{point}{fraction}{mark}{exponent}")
}
