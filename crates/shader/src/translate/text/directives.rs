//! Removes directives of WGSL that naga refuses although it supports what they enable.
//!
//! naga 30 refuses them though it has subgroups, their number and push constants, and though `translate/passes/pointers.rs`
//! has the other feature. Spaces stand where a name was, so that lines and columns stay. Called by
//! `translate/text.rs`.

use crate::chains::{blank_len, is_of_word};

/// Words that begin a directive, with the name of a feature that is supported without it.
const SUPPORTED: [(&str, &str); 5] = [
    ("enable", "subgroups"),
    ("enable", "chromium_experimental_subgroups"),
    ("requires", "unrestricted_pointer_parameters"),
    ("requires", "immediate_address_space"),
    ("requires", "subgroup_id"),
];

/// The text with spaces in place of these names.
pub(super) fn without_supported(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    let mut at = 0;
    // Directives come first.
    loop {
        at += blank_len(&text[at..]);
        let rest = &text[at..];
        let begins = |word: &str| rest.strip_prefix(word).is_some_and(|next| !next.starts_with(is_of_word));
        let Some(end) = rest.find(';').filter(|_| ["enable", "requires", "diagnostic"].into_iter().any(begins)) else {
            break;
        };
        for (word, name) in SUPPORTED.into_iter().filter(|(word, _)| begins(word)) {
            let body = &rest[word.len()..end];
            for (start, len) in removed(body, name) {
                blank(&mut out[at + word.len() + start..][..len]);
            }
            if names(body).all(|(_, found)| found.trim() == name || found.trim().is_empty()) {
                blank(&mut out[at..=at + end]);
            }
        }
        at += end + 1;
    }
    String::from_utf8(out).expect("whole words gave way to spaces")
}

/// What stands between commas, with where it begins.
fn names(body: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    body.split(',').map(move |name| {
        let start = next;
        next += name.len() + 1;
        (start, name)
    })
}

/// Where the name stands, each time with the comma after it or else the one before it.
fn removed(body: &str, name: &str) -> Vec<(usize, usize)> {
    let is_it = |(start, found): (usize, &str)| {
        let with_comma = if start + found.len() < body.len() {
            (start, found.len() + 1)
        } else {
            (start.max(1) - 1, found.len() + 1)
        };
        (found.trim() == name).then_some(with_comma)
    };
    names(body).filter_map(is_it).map(|(start, len)| (start, len.min(body.len() - start))).collect()
}

fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_taken_out_and_nothing_moves() {
        // Text, and what naga sees of it.
        let cases = [
            ("enable subgroups;\nfn f() {}", "                 \nfn f() {}"),
            ("enable f16, subgroups;", "enable f16           ;"),
            ("enable subgroups, f16;", "enable            f16;"),
            ("enable f16;enable\tsubgroups ;x", "enable f16;                  x"),
            ("/* a /* b; */ */ // c;\nenable subgroups;", "/* a /* b; */ */ // c;\n                 "),
            ("enable\nsubgroups;", "      \n          "),
            (
                "diagnostic(off, x); requires unrestricted_pointer_parameters;",
                &format!("diagnostic(off, x); {:41}", ""),
            ),
            ("requires subgroup_id, immediate_address_space, a;", &format!("requires {:37} a;", "")),
            ("enable subgroup;", "enable subgroup;"), // Another name.
            ("fn f() {} enable subgroups;", "fn f() {} enable subgroups;"), // No directive comes so late.
            ("enable subgroups", "enable subgroups"),
            ("/* ü */ enable subgroups, f16, subgroups;", &format!("/* ü */ enable            f16{:11};", "")),
            ("/*", "/*"),
            ("enables subgroups;", "enables subgroups;"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_supported(text), expected, "{text}");
        }
    }
}
