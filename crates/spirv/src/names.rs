//! Names in messages: those that exist ([`Names`]) and the one that may have been meant ([`Hint`]).

use std::fmt;

/// Names that exist, printed as `` `a`, `b` ``, or `none`.
///
/// ```
/// use vkarray_spirv::Names;
///
/// assert_eq!(Names::from_iter(["x", "y"]).to_string(), "`x`, `y`");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl<S: Into<String>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        write!(f, "`{}`", self.0.join("`, `"))
    }
}

/// The name the user may have meant, printed as `` (did you mean `a`?)`` with a space before it, or as nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint(pub Option<String>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |name| write!(f, " (did you mean `{name}`?)"))
    }
}

/// The name nearest to `text`, if it is near enough to be a typing error: a third of its letters, at least one.
pub fn nearest<S: AsRef<str>>(text: &str, names: &[S]) -> Hint {
    let distance = |name: &str| strsim::damerau_levenshtein(&text.to_lowercase(), &name.to_lowercase());
    let allowed = (text.chars().count() / 3).max(1);
    let near = names.iter().map(|name| (distance(name.as_ref()), name.as_ref())).min_by_key(|&(distance, _)| distance);
    // A name of one letter is one error away from every other.
    Hint(near.filter(|&(d, name)| d <= allowed && d < name.chars().count()).map(|(_, name)| name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_a_likely_typing_error() {
        let names = ["input", "output", "a"];
        let cases = [
            ("inptu", Some("input")),
            ("Output", Some("output")), // Case is an error.
            ("b", None),                // Everything is near a single letter.
            ("kernel", None),
            ("", None),
        ];
        for (text, name) in cases {
            assert_eq!(nearest(text, &names).0.as_deref(), name, "{text}");
        }
    }
}
