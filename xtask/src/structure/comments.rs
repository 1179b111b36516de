//! The openings of comments that point at a thing outside the comment, such as "Those of".
//!
//! A comment is read at its own line, so it names its subject. The check finds the openings that never do; a reviewer
//! finds the other ones. `rules.rs` makes messages of them.

/// Words with which no paragraph of a comment begins, since their subject stands elsewhere.
const OPENINGS: [&str; 9] =
    ["Those", "That of", "These of", "As it", "As that", "So many", "Neither of", "Its own", "The same"];

/// The lines on which a paragraph of a comment begins with one of [`OPENINGS`], counted from one, with the opening.
/// Examples in documentation are left out.
pub(super) fn pointing_openings(text: &str) -> Vec<(usize, &'static str)> {
    let (mut found, mut is_start, mut is_example) = (Vec::new(), true, false);
    for (line, number) in text.lines().zip(1..) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            (is_start, is_example) = (true, false);
            continue;
        };
        let words = comment.trim_start_matches(['/', '!']).trim_start();
        let fence = words.starts_with("```");
        is_example ^= fence;
        if is_start && !is_example && !fence {
            let words = words.strip_prefix("SAFETY: ").or_else(|| words.strip_prefix("- ")).unwrap_or(words);
            found.extend(opening(words).map(|opening| (number, opening)));
        }
        is_start = words.is_empty() || fence;
    }
    found
}

/// The opening that a paragraph begins with, as whole words.
fn opening(words: &str) -> Option<&'static str> {
    OPENINGS.into_iter().find(|&opening| {
        words.strip_prefix(opening).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_that_point_elsewhere_are_found_with_their_lines() {
        let text = [
            "//! Text.",
            "//!",
            "//! As it was.",
            "fn f() {",
            "    // SAFETY: The same as above.",
            "    /// # Errors",
            "    ///",
            "    /// Those of `g`.",
            "}",
            "// Text, as",
            "// Those of others are.",
            "//",
            "// - That of it.",
        ];
        let found = pointing_openings(&text.join("\n"));
        assert_eq!(found, [(3, "As it"), (5, "The same"), (8, "Those"), (13, "That of")]);
    }

    #[test]
    fn other_words_strings_and_examples_are_accepted() {
        let text = [
            "// As items, thosewho, That offer.",
            "let text = \"Those\"; // Those.",
            "/// ```",
            "/// // Those of it.",
            "///",
            "/// So many;",
            "/// ```",
            "/// Text.",
        ];
        assert_eq!(pointing_openings(&text.join("\n")), []);
    }
}
