//! Blocks whose name an array has too: [`redeclared`]. Khronos's front end (of `glslang-sys` 0.9.2) ends the process at such an array
//! outside of functions, so `in_process.rs` refuses the text before. No valid shader has such an array.

use std::collections::HashSet;

use crate::chains::tokens;

/// What a token is to a declaration.
fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The name of a block that is declared again outside of functions and blocks. The text has no comments and
/// no macros; lines of the preprocessor are left out.
pub(super) fn redeclared(text: &str) -> Option<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let tokens: Vec<&str> = code.flat_map(|line| tokens(line).map(move |place| &line[place])).collect();
    let (mut blocks, mut depth) = (HashSet::new(), 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        let token = *token;
        let of = |at: Option<usize>| at.and_then(|at| tokens.get(at)).copied().unwrap_or("");
        let (before, after) = (of(at.checked_sub(1)), of(Some(at + 1)));
        match token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ if depth > 0 || !is_name(token) => {}
            _ if after == "{" && before != "struct" => drop(blocks.insert(token)),
            _ => {
                let is_declared =
                    is_name(before) && !["buffer", "uniform"].contains(&before) || [",", "]"].contains(&before);
                let ends = [";", ",", "="];
                let is_declarator =
                    ends.contains(&after) || after == "[" && ends.contains(&of(Some(past(&tokens, at + 1))));
                if blocks.contains(token) && is_declared && is_declarator {
                    return Some(token);
                }
            }
        }
    }
    None
}

/// The first token behind the brackets that begin at a token.
fn past(tokens: &[&str], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(at) {
        match *token {
            "[" => depth += 1,
            "]" => depth = depth.saturating_sub(1),
            _ if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_a_blocks_name_is_found() {
        let block = "layout(binding = 0) buffer a { float x[]; }";
        for rest in [
            "; shared uint a[4];",
            " b; shared uint a[4];",
            "; float a[2][3] = f();",
            "; float[4] a;",
            "; uint b, a[4];",
            ";\n#line 7 \"a\"\nfloat a[];",
            " a[2]; float a[2];",
        ] {
            assert_eq!(redeclared(&format!("#version 450\n{block}{rest}")), Some("a"), "{rest}");
        }
    }

    #[test]
    fn names_of_types_and_of_locals_are_others() {
        for text in [
            "buffer a { float x[]; } a; void main() { a.x[0] = 1; }",
            "buffer a { float x[]; }; void main() { uint a[4]; a[0] = 1; }",
            "buffer a { float x[]; }; float f(float a[2]) { return a[0]; }",
            "layout(buffer_reference) buffer a; layout(buffer_reference) buffer a { a next; }; a first; a[4] b; shared a[2] c;",
            "struct a { float x; }; const a b[2];",
            "float a[4]; void main() { a[0] = 1; }",
            "",
        ] {
            assert_eq!(redeclared(text), None, "{text}");
        }
    }
}
