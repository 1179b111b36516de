//! Chains of operators and of `else if`: naga recurses with each link of one, and takes the square of their number. glslang
//! recurses with them too, which matters where it is a part of the process.
//!
//! Both limit the nesting of brackets themselves. A chain (`x + x + x …`) nests without brackets, and one that is too long
//! would end the process, since a stack that overflows cannot be caught. Called by `translate/text.rs` and
//! `glsl/in_process.rs`. Others that look at a text before its compiler does take its words from here too.

use std::ops::Range;

/// The most links of a chain. naga's parser takes 2 s for so many, and up to 3 KiB of stack for each, in a build without
/// optimisation (naga 30.0, 2026-11-26); the stack of `translate/module.rs` has room for twice as much.
pub(crate) const MOST_LINKS: usize = 20_000;

/// What is said of a chain that is too long.
pub(crate) const TOO_LONG: &str =
    "a chain of more than 20000 operators or `else if` in one statement: use several statements, or a loop";

/// The byte at which a chain becomes too long.
///
/// Links are counted for each open bracket, from the last `,` or `;`. An operator of two characters counts as two links.
pub(crate) fn too_long(text: &str) -> Option<usize> {
    let (mut outer, mut links) = (Vec::new(), 0);
    let mut tokens = tokens(text).map(|place| (place.start, &text[place])).peekable();
    while let Some((at, token)) = tokens.next() {
        match token {
            "(" | "[" | "{" => outer.push(std::mem::take(&mut links)),
            ")" | "]" => links = outer.pop().unwrap_or(0) + 1,
            "}" => {
                let goes_on = tokens.peek().is_some_and(|(_, next)| next.starts_with("else"));
                links = outer.pop().filter(|_| goes_on).unwrap_or(0);
            }
            "," | ";" => links = 0,
            _ if token.starts_with("else") || "+-*/%&|^<>=!~.?".contains(token) => links += 1,
            _ => {}
        }
        if links > MOST_LINKS {
            return Some(at);
        }
    }
    None
}

/// Where the words of a text stand, and every other character alone, without white space and comments.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += blank_len(&text[at..]);
        let (start, rest) = (at, &text[at..]);
        let first = rest.chars().next()?;
        at += if is_of_word(first) { rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        Some(start..at)
    })
}

/// Whether a character is part of a name or a number.
pub(crate) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of white space and comments at the beginning.
pub(crate) fn blank_len(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let white = rest.len() - rest.trim_start().len();
        at += match (white, &rest[white..]) {
            (_, rest) if rest.starts_with("//") => white + rest.find('\n').unwrap_or(rest.len()),
            (_, rest) if rest.starts_with("/*") => white + comment_len(rest),
            (0, _) => return at,
            _ => white,
        };
    }
}

/// Bytes of a comment that may hold others.
fn comment_len(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match text.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_counted_to_the_end_of_a_statement_or_an_element() {
        let n = MOST_LINKS;
        let long = [
            format!("x = a{};", " + b".repeat(n)),
            format!("x = (a{});", " + b".repeat(n + 1)),
            format!("x = a{};", " /* - */ + (b, c)".repeat(n / 2 + 1)),
            format!("if a {{}}{}", " else if b { x = c; }".repeat(n + 1)),
            format!("x = a{};", "[0]".repeat(n)),
        ];
        for text in long {
            assert!(too_long(&text).is_some_and(|at| at > text.len() / 2), "{}", &text[..80]);
        }
        let short = [
            format!("x = a{};", " + b".repeat(n - 1)),
            format!("const TABLE = array({});", "-1.5, ".repeat(n)),
            "x = a + b;\n".repeat(n),
            "if a {} else { x = b; }\n".repeat(n),
            "// ----- + -----\n".repeat(n),
            ")]}".repeat(n / 2 - 1),
            String::new(),
        ];
        for text in short {
            assert_eq!(too_long(&text), None, "{}", text.chars().take(80).collect::<String>());
        }
    }
}
