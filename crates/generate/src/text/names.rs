//! [`Names`]: which arguments and results a text in WGSL has. The translation of the text decides whether it is valid WGSL; a text that is valid and means something else than what was written is refused here ([`Misuse`]).

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexSet;
use vkarray_shader::DType;

use crate::expr::Function;

/// The names that a text of statements uses and does not declare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Names that are only read, in the order of their first use.
    pub inputs: Arc<[String]>,
    /// Names with which a statement begins, so that it assigns a value to them. A text that is an expression has
    /// `result` alone.
    pub outputs: Arc<[String]>,
    /// Whether the text is an expression, not statements.
    pub is_expression: bool,
    /// The first fault of the text that its translation does not find.
    pub(crate) misuse: Option<Misuse>,
}

/// A use that is refused, and the byte of the text at which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misuse {
    pub(crate) at: usize,
    pub(crate) reason: String,
}

/// The name of the result of an expression.
const RESULT: &str = "result";

/// Words of WGSL that are not names of values.
const WORDS: &str = " let var const const_assert if else for while loop switch case default break continue continuing \
                     return discard true false bool i32 u32 f16 f32 f64 i64 u64 vec2 vec3 vec4 array bitcast ptr function ";

impl Names {
    /// The names of a text.
    pub fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let is_expression = !tokens.contains(&"=");
        let (mut declared, mut read, mut outputs) = (HashSet::new(), IndexSet::new(), IndexSet::new());
        for (i, &token) in tokens.iter().enumerate() {
            let before = i.checked_sub(1).map_or(";", |before| tokens[before]);
            let is_called = tokens.get(i + 1) == Some(&"(");
            let is_name = token.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if !is_name || is_called || before == "." || WORDS.contains(&format!(" {token} ")) {
                continue;
            }
            match before {
                "let" | "var" | "const" => declared.insert(token),
                _ if declared.contains(&token) => false,
                ";" | "{" | "}" if !is_expression => outputs.insert(token),
                _ => read.insert(token),
            };
        }
        if is_expression {
            outputs.insert(RESULT);
        }
        read.retain(|name| !outputs.contains(name));
        let misuse = misuse(text, &tokens, &outputs, is_expression);
        let [inputs, outputs] = [read, outputs].map(|names| names.into_iter().map(str::to_owned).collect());
        Self { inputs, outputs, is_expression, misuse }
    }

    /// The function of a text with these names, for results of these types.
    pub fn function(&self, text: Arc<str>, types: &[DType]) -> Function {
        let Self { inputs, outputs, is_expression, .. } = self.clone();
        Function { text, is_expression, inputs, outputs, types: types.iter().copied().collect() }
    }
}

/// The first use of a name that the kernel around the text has, of `return`, or of a result that has no value yet. A
/// result has a value from the end of the statement that first assigns to it.
fn misuse(text: &str, tokens: &[&str], outputs: &IndexSet<&str>, is_expression: bool) -> Option<Misuse> {
    let mut assigned = HashSet::<&str>::new();
    let mut target = None;
    tokens.iter().enumerate().find_map(|(i, &token)| {
        let before = i.checked_sub(1).map_or(";", |before| tokens[before]);
        let reason = match token {
            ";" => {
                assigned.extend(target.take());
                None
            }
            "return" => Some("`return` leaves the kernel around the text: assign a value to a result".to_owned()),
            _ if is_own(token) => {
                Some(format!("`{token}` is a name of the kernel around the text: choose another one"))
            }
            _ if before == "." || !outputs.contains(token) || assigned.contains(token) => None,
            _ if is_expression => {
                Some(format!("`{token}` is the value of the expression itself: give the argument another name"))
            }
            _ if matches!(before, ";" | "{" | "}") && is_assignment(&tokens[i + 1..]) => {
                target = Some(token);
                None
            }
            _ => Some(format!(
                "`{token}` is a result, and has no value yet where it is read: give argument and result different names"
            )),
        };
        reason.map(|reason| Misuse { at: token.as_ptr() as usize - text.as_ptr() as usize, reason })
    })
}

/// Whether a statement assigns a value that does not depend on the value before; `*=` for instance depends on it.
/// `rest` is the statement without its first name.
fn is_assignment(rest: &[&str]) -> bool {
    let statement = rest.split(|&token| token == ";").next().unwrap_or_default();
    let equals = statement.iter().position(|&token| token == "=");
    equals.is_some_and(|at| at == 0 || !"+-*/%&|^<>".contains(statement[at - 1]))
}

/// Whether a name is that of a struct or a function that the kernel around the text has: `Results0`, `function0`.
fn is_own(token: &str) -> bool {
    let number = token.strip_prefix("Results").or_else(|| token.strip_prefix("function"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
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
    fn what_would_mean_something_else_is_refused_where_it_stands() {
        let cases = [
            ("result + x", Some((0, "`result`"))),
            ("y = x + y", Some((8, "`y`"))),
            ("y += x", Some((0, "`y`"))),
            ("y++; y = 1.0", Some((0, "`y`"))),
            ("y.x = 1.0 + y.y; y.y = 2.0", Some((12, "`y`"))),
            ("for (var i = 0u; i < n; i++) { s = s + x; }", Some((35, "`s`"))),
            ("if x > 0.0 { return Results0(7.0); } y = x", Some((13, "`return`"))),
            ("y = Results0 + 1.0", Some((4, "`Results0`"))),
            ("y = function12(x)", Some((4, "`function12`"))),
            ("y = x; y = y + 1.0; y *= 2.0", None),
            ("if x > 0.0 { z = x; } else { z = -x; } w = z.x", None),
            ("z.x = v.z; z.y = z.x", None),
            ("let result = x; y = result", None),
            ("Results = x + functional", None),
            ("y = x <= z", None),
        ];
        for (text, expected) in cases {
            let found = Names::of(text).misuse;
            let found = found.as_ref().map(|misuse| (misuse.at, misuse.reason.split(' ').next().unwrap_or_default()));
            assert_eq!(found, expected, "{text}");
        }
    }

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
            let expected = [inputs, outputs].map(|names| names.iter().map(|&name| name.to_owned()).collect());
            assert_eq!([names.inputs, names.outputs], expected, "{text}");
        }
    }
}
