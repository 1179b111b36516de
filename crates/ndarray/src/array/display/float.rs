//! Floats as NumPy writes them: the fewest digits that tell a number from its neighbours, eight after the point at most.
//!
//! A list of floats shares one notation and one set of widths ([`Columns`]); a lone float has its own rules
//! ([`float_text`]). Digits come from the standard library, which finds the shortest for `f32` and `f64`, and rounds
//! exactly.

use half::{bf16, f16};

/// Digits after the point, at most, in a list.
const MAX_DIGITS: usize = 8;

/// Of which type a number is: it decides which digits are enough, and where scientific notation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    Half,
    Brain,
    Single,
    Double,
}

impl Precision {
    /// The nearest number of the type.
    fn round(self, value: f64) -> f64 {
        match self {
            Self::Half => f16::from_f64(value).to_f64(),
            Self::Brain => bf16::from_f64(value).to_f64(),
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
            Self::Single => f64::from(value as f32),
            Self::Double => value,
        }
    }

    /// From where on a list is written in scientific notation: ten to the digits that the type is sure of, or 10^8.
    fn list_limit(self) -> f64 {
        match self {
            Self::Brain => 1e2,
            Self::Half => 1e3,
            Self::Single => 1e6,
            Self::Double => 1e8,
        }
    }

    /// The same for a lone number.
    fn lone_limit(self) -> f64 {
        if self == Self::Double { 1e16 } else { self.list_limit() }
    }

    /// The fewest digits that mean this number, as `d.ddde±x`; of two equally near the even one, as NumPy has it.
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
                candidates.find(is_exact).expect("enough digits mean any number")
            }
        };
        let digits = shortest.split_once('e').map_or(0, |(mantissa, _)| fraction_of(mantissa).len());
        let even = Some(format!("{value:.digits$e}")).filter(is_exact);
        trimmed_mantissa(&even.unwrap_or(shortest))
    }
}

/// Drops the zeros that rounding to a number of digits has left.
fn trimmed_mantissa(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').expect("scientific notation");
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}e{exponent}")
}

/// A finite number, cut into what stands before the point, after it, and the exponent with its sign.
#[derive(Debug, PartialEq, Eq)]
struct Parts {
    whole: String,
    fraction: String,
    exponent: String,
}

/// Scientific notation, with at most this many digits after the point.
fn scientific(value: f64, precision: Precision, max_digits: usize) -> Parts {
    let shortest = precision.shortest(value);
    let digits = shortest.split_once('e').map_or(0, |(mantissa, _)| fraction_of(mantissa).len());
    let text = if digits > max_digits { trimmed_mantissa(&format!("{value:.max_digits$e}")) } else { shortest };
    cut_scientific(&text)
}

fn cut_scientific(text: &str) -> Parts {
    let (mantissa, exponent) = text.split_once('e').expect("scientific notation");
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |exponent| ("-", exponent));
    Parts {
        whole: mantissa.split('.').next().unwrap_or_default().to_owned(),
        fraction: fraction_of(mantissa).to_owned(),
        exponent: format!("{sign}{exponent:0>2}"),
    }
}

/// Plain notation, with at most this many digits after the point.
fn positional(value: f64, precision: Precision, max_digits: usize) -> Parts {
    // The shortest digits as a plain number: they are digits of an `f64` too, which prints as many as it is given.
    let shortest = precision.shortest(value);
    let (mantissa, exponent) = shortest.split_once('e').expect("scientific notation");
    let exponent: i32 = exponent.parse().expect("a number");
    let digits = fraction_of(mantissa).len().cast_signed() - exponent as isize;
    let digits = digits.max(0).cast_unsigned();
    let text = if digits > max_digits { format!("{value:.max_digits$}") } else { plain(mantissa, exponent) };
    let fraction = fraction_of(&text).trim_end_matches('0').to_owned();
    let whole = text.split('.').next().unwrap_or_default().to_owned();
    Parts { whole, fraction, exponent: String::new() }
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

/// How a list of floats is written.
#[derive(Debug, Default)]
struct Columns {
    is_scientific: bool,
    shows_plus: bool,
    /// Characters before the point.
    left: usize,
    /// Characters after it, exponent included.
    right: usize,
    /// Digits of the fraction and of the exponent, in scientific notation.
    fraction: usize,
    exponent: usize,
}

impl Columns {
    fn new(values: &[f64], precision: Precision, shows_plus: bool) -> Self {
        let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let is_scientific = is_scientific(&finite, precision);
        let write = if is_scientific { scientific } else { positional };
        let parts: Vec<_> =
            finite.iter().map(|&value| signed(write(value, precision, MAX_DIGITS), shows_plus)).collect();
        let longest = |part: fn(&Parts) -> &String| parts.iter().map(|parts| part(parts).len()).max().unwrap_or(0);
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

    fn write(&self, value: f64, precision: Precision) -> String {
        if !value.is_finite() {
            let width = self.left + self.right + 1;
            return format!("{:>width$}", odd_text(value, self.shows_plus));
        }
        let Self { left, right, .. } = *self;
        if self.is_scientific {
            // As many digits as the longest has, not zeros after the shortest: what NumPy prints.
            let n_fraction = self.fraction;
            let Parts { whole, fraction, exponent } =
                signed(cut_scientific(&format!("{value:.n_fraction$e}")), self.shows_plus);
            let (sign, digits) = exponent.split_at(1);
            let n_exponent = self.exponent;
            format!("{whole:>left$}.{fraction}e{sign}{digits:0>n_exponent$}")
        } else {
            let Parts { whole, fraction, .. } = signed(positional(value, precision, MAX_DIGITS), self.shows_plus);
            format!("{whole:>left$}.{fraction:<right$}")
        }
    }
}

/// Whether finite numbers are large, small or far apart.
fn is_scientific(finite: &[f64], precision: Precision) -> bool {
    let sizes = finite.iter().map(|value| value.abs()).filter(|&size| size != 0.0);
    let (low, high) = sizes.fold((f64::INFINITY, 0.0_f64), |(low, high), size| (low.min(size), high.max(size)));
    // In the type's own arithmetic, as NumPy compares.
    let ratio = precision.round(high / low);
    high != 0.0 && (high >= precision.list_limit() || low < precision.round(1e-4) || ratio > 1000.0)
}

fn signed(parts: Parts, shows_plus: bool) -> Parts {
    if !shows_plus || parts.whole.starts_with('-') {
        return parts;
    }
    Parts { whole: format!("+{}", parts.whole), ..parts }
}

fn odd_text(value: f64, shows_plus: bool) -> String {
    let plus = if shows_plus { "+" } else { "" };
    match value {
        _ if value.is_nan() => format!("{plus}nan"),
        f64::NEG_INFINITY => "-inf".to_owned(),
        _ => format!("{plus}inf"),
    }
}

/// A list of floats, each in the same width.
pub(super) fn float_words(values: &[f64], precision: Precision, shows_plus: bool) -> Vec<String> {
    let columns = Columns::new(values, precision, shows_plus);
    values.iter().map(|&value| columns.write(value, precision)).collect()
}

/// A list of complex numbers, each in the same width.
pub(super) fn complex_words(values: &[[f64; 2]], precision: Precision) -> Vec<String> {
    let [real, imaginary] = [0, 1].map(|part| values.iter().map(|value| value[part]).collect::<Vec<_>>());
    let imaginary = float_words(&imaginary, precision, true);
    let join = |(real, imaginary): (String, String)| {
        // The `j` follows the digits, the blanks that align the column follow the `j`.
        let digits = imaginary.trim_end();
        format!("{real}{digits}j{}", &imaginary[digits.len()..])
    };
    float_words(&real, precision, false).into_iter().zip(imaginary).map(join).collect()
}

/// A lone float.
pub(super) fn float_text(value: f64, precision: Precision) -> String {
    let text = lone_text(value, precision, false);
    // A whole number keeps one zero, unless it has an exponent.
    if value.is_finite() && !text.contains(['.', 'e']) { text + ".0" } else { text }
}

/// A lone complex number.
pub(super) fn complex_text([real, imaginary]: [f64; 2], precision: Precision) -> String {
    if real == 0.0 && real.is_sign_positive() {
        return format!("{}j", lone_text(imaginary, precision, false));
    }
    format!("({}{}j)", lone_text(real, precision, false), lone_text(imaginary, precision, true))
}

fn lone_text(value: f64, precision: Precision, shows_plus: bool) -> String {
    if !value.is_finite() {
        return odd_text(value, shows_plus);
    }
    let size = value.abs();
    let is_plain = size == 0.0 || size >= 1e-4 && size < precision.lone_limit();
    let write = if is_plain { positional } else { scientific };
    let Parts { whole, fraction, exponent } = signed(write(value, precision, usize::MAX), shows_plus);
    let point = if fraction.is_empty() { "" } else { "." };
    let mark = if is_plain { "" } else { "e" };
    format!("{whole}{point}{fraction}{mark}{exponent}")
}
