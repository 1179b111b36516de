//! Variables of the environment as text and as switches. Each setting decides for itself what its text means.

use crate::error::{Error, Result};

/// Words that turn something on.
const ON: [&str; 4] = ["1", "true", "yes", "on"];

/// Words that turn something off.
const OFF: [&str; 4] = ["0", "false", "no", "off"];

/// The text of a variable without white space around it; `None` if the variable is not set or is empty. Text that is
/// not Unicode gets replacement characters, so that it is refused like any other wrong value.
///
/// ```
/// let selector = vkarray_driver::environment::text("VKARRAY_DEVICE");
/// assert!(selector.is_none_or(|selector| !selector.is_empty()));
/// ```
pub fn text(variable: &str) -> Option<String> {
    let text = std::env::var_os(variable)?.to_string_lossy().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Whether a variable turns something on (`1`, `true`, `yes`, `on`) or off (`0`, `false`, `no`, `off`), in upper or
/// lower case; `None` if the variable is not set or is empty.
///
/// ```
/// let validates = vkarray_driver::environment::switch("VKARRAY_VALIDATION")?.unwrap_or(false);
/// # drop(vkarray_driver::Instance::builder().validation(validates));
/// # Ok::<(), vkarray_driver::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::BadSetting`] for another text.
pub fn switch(variable: &'static str) -> Result<Option<bool>> {
    let Some(text) = text(variable) else { return Ok(None) };
    let bad = |text| Error::BadSetting { variable, text, expected: "one of 1, true, yes, on, 0, false, no, off" };
    parse_switch(&text).map(Some).ok_or_else(|| bad(text))
}

/// What [`switch`] reads in a text; `None` for any other word.
///
/// ```
/// use vkarray_driver::environment::parse_switch;
///
/// assert_eq!([parse_switch("Yes"), parse_switch("off"), parse_switch("2")], [Some(true), Some(false), None]);
/// ```
pub fn parse_switch(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text.trim()));
    if is_one_of(ON) { Some(true) } else { is_one_of(OFF).then_some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_turn_on_and_off_and_others_do_neither() {
        for (text, meaning) in [
            ("1", Some(true)),
            ("true", Some(true)),
            ("YES", Some(true)),
            (" on ", Some(true)),
            ("0", Some(false)),
            ("False", Some(false)),
            ("no", Some(false)),
            ("off", Some(false)),
            ("2", None),
            ("enabled", None),
            ("", None),
            ("\u{fffd}", None), // What was no Unicode.
        ] {
            assert_eq!(parse_switch(text), meaning, "{text}");
        }
    }
}
