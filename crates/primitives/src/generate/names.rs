//! [`Names`]: which arguments and results a text in WGSL has. Whether the text is valid is decided by its translation.

use std::sync::Arc;

use vkarray_kernel::DType;
use vkarray_ndarray::Function;

/// The names that a text of statements uses and does not declare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    /// Those that are only read, in the order of their first use.
    pub(crate) inputs: Arc<[String]>,
    /// Those with which a statement begins, which assigns a value to them. An expression has [`RESULT`].
    pub(crate) outputs: Arc<[String]>,
    /// Whether the text is an expression, not statements.
    pub(crate) is_expression: bool,
}

/// The name of the result of an expression.
const RESULT: &str = "result";

/// Words of WGSL that are not names of values.
const WORDS: &str = " let var const const_assert if else for while loop switch case default break continue continuing \
                     return discard true false bool i32 u32 f16 f32 f64 i64 u64 vec2 vec3 vec4 array bitcast ptr function ";

impl Names {
    pub(crate) fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let is_expression = !tokens.contains(&"=");
        let (mut declared, mut read, mut outputs) = (Vec::new(), Vec::<&str>::new(), Vec::<&str>::new());
        for (i, &token) in tokens.iter().enumerate() {
            let before = i.checked_sub(1).map_or(";", |before| tokens[before]);
            let is_called = tokens.get(i + 1) == Some(&"(");
            let is_name = token.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if !is_name || is_called || before == "." || WORDS.contains(&format!(" {token} ")) {
                continue;
            }
            match before {
                "let" | "var" | "const" => declared.push(token),
                _ if declared.contains(&token) => {}
                ";" | "{" | "}" if !is_expression => outputs.push(token),
                _ => read.push(token),
            }
        }
        if is_expression {
            outputs.push(RESULT);
        }
        let inputs = distinct(read.into_iter().filter(|name| !outputs.contains(name)));
        Self { inputs, outputs: distinct(outputs.iter().copied()), is_expression }
    }

    /// The function of a text with these names, for results of these types.
    pub(crate) fn function(&self, text: Arc<str>, types: &[DType]) -> Function {
        let Self { inputs, outputs, is_expression } = self.clone();
        Function { text, is_expression, inputs, outputs, types: types.iter().copied().collect() }
    }
}

/// Each name once, where it is first.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Arc<[String]> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.iter().any(|other| other == name) {
            found.push(name.to_owned());
        }
    }
    found.into()
}

/// Words, numbers and other characters, without comments and white space.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut rest, mut found) = (text, Vec::new());
    while let Some(first) = rest.chars().next() {
        let end = |of: &dyn Fn(char) -> bool| rest.find(|c| !of(c)).unwrap_or(rest.len());
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        let len = if rest.starts_with("//") {
            end(&|c| c != '\n')
        } else if is_comment {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first.is_ascii_digit() {
            end(&|c| is_word(c) || c == '.')
        } else if is_word(first) {
            end(&is_word)
        } else if ["==", "!=", "<=", ">="].iter().any(|operator| rest.starts_with(operator)) {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(len);
        if !is_comment && !first.is_whitespace() {
            found.push(token);
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_and_results_are_assigned() {
        let cases: [(&str, &[&str], &[&str]); 8] = [
            ("z = a * x + y", &["a", "x", "y"], &["z"]),
            ("let d = x - y; z = d * d; w = z + 1.0e-3f", &["x", "y"], &["z", "w"]),
            ("var n: u32 = 0u; for (var i = 0u; i < m; i++) { n += i; } z = n;", &["m"], &["z"]),
            ("if x > 0.0 { z = x; } else { z = -x; } // y = 1", &["x"], &["z"]),
            ("z.x = v.y; z.y = vec2<f32>(v.x, b).y", &["v", "b"], &["z"]),
            ("z = select(x, f32(k), x == y); /* w = 2 */ z *= 2.0", &["x", "k", "y"], &["z"]),
            ("x", &["x"], &["result"]),
            ("max(a, b) == 2 && a.x <= c", &["a", "b", "c"], &["result"]),
        ];
        for (text, inputs, outputs) in cases {
            let names = Names::of(text);
            let expected = [inputs, outputs].map(|names| distinct(names.iter().copied()));
            assert_eq!([names.inputs, names.outputs], expected, "{text}");
        }
    }
}
