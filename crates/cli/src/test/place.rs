//! [`Lines`]: where the keys of a test stand in its file. Pure.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line of each key of a table, by the names of the key and of the tables around it: `arg.x`, `step.0.covering`.
#[derive(Debug)]
pub(crate) struct Lines(BTreeMap<String, usize>);

impl Lines {
    /// The lines of a table of `text`.
    pub(crate) fn of(text: &str, table: &Spanned<DeTable<'_>>) -> Self {
        let mut lines = Self(BTreeMap::new());
        lines.0.insert(String::new(), line(text, table.span().start));
        lines.note(text, "", table.get_ref());
        lines
    }

    /// The line of a key, or else of the innermost table around it that there is.
    pub(crate) fn line(&self, key: &str) -> usize {
        let mut key = key;
        loop {
            if let Some(line) = self.0.get(key) {
                return *line;
            }
            key = key.rsplit_once('.').map_or("", |(around, _)| around);
        }
    }

    fn note(&mut self, text: &str, around: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = format!("{around}{}", key.get_ref());
            self.0.insert(name.clone(), line(text, key.span().start));
            match value.get_ref() {
                DeValue::Table(inner) => self.note(text, &format!("{name}."), inner),
                DeValue::Array(values) => {
                    for (index, value) in values.iter().enumerate() {
                        self.0.insert(format!("{name}.{index}"), line(text, value.span().start));
                        if let DeValue::Table(inner) = value.get_ref() {
                            self.note(text, &format!("{name}.{index}."), inner);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// The number of the line of a byte of the text.
fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_lines_and_others_those_around_them() {
        let text =
            "name = \"a\"\nexpect.y = {\n  rtol = 1,\n  text = \"x\" }\n[arg]\nx = 1\n[[step]]\nshader = \"k\"\n";
        let lines = Lines::of(text, &DeTable::parse(text).unwrap());
        for (key, line) in [
            ("name", 1),
            ("expect.y", 2),
            ("expect.y.text", 4),
            ("expect.y.atol", 2),
            ("expect.z", 2),
            ("arg.x", 6),
            ("arg.y", 5),
            ("step.0.shader", 8),
            ("step.0.covering", 7),
            ("sizes", 1),
            ("", 1),
        ] {
            assert_eq!(lines.line(key), line, "{key}");
        }
    }
}
