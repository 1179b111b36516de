//! What is put into the text of a kernel: the functions that it calls ([`with_functions`]), and generated lines
//! ([`with_lines`]).

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use vkarray_shaders::math;

/// All functions, by name.
static FUNCTIONS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut functions = HashMap::new();
    for text in &math::functions() {
        for part in text.split("\nfn ").skip(1) {
            let (name, _) = part.split_once('(').unwrap_or((part, ""));
            let body = part.split_once("\n}\n").map_or(part, |(body, _)| body);
            functions.insert(name.to_owned(), format!("fn {body}\n}}\n"));
        }
    }
    functions
});

/// The text of a kernel behind the functions of the library that it calls, directly or through other functions: those with
/// which arrays compute what WGSL has not or leaves to the driver. Their names begin with a type: `f64_exp`, `f32_pow`,
/// `i64_floor_divide`. A text that calls none is returned unchanged.
///
/// ```
/// use vkarray_generate::with_functions;
///
/// let text = with_functions("fn f(x: f64) -> f64 { return f64_log1p(x); }\n");
/// assert!(text.contains("fn f64_log1p(x: f64) -> f64 {") && !text.contains("fn f64_sin("));
/// ```
pub fn with_functions(text: &str) -> String {
    let (mut added, mut found) = (HashSet::new(), Vec::new());
    let mut open = calls(text);
    while let Some(name) = open.pop() {
        if let Some((name, body)) = FUNCTIONS.get_key_value(name)
            && added.insert(name)
        {
            open.extend(calls(body));
            found.push((name, body));
        }
    }
    found.sort_unstable(); // One expression has one text, which is what kernels on disk are found by.
    found.iter().map(|(_, body)| body.as_str()).chain([text]).collect()
}

/// A kernel with text in place of the lines that are one of these words in capitals.
pub fn with_lines<const N: usize>(kernel: &str, lines: [(&str, String); N]) -> String {
    lines.into_iter().fold(kernel.to_owned(), |text, (word, lines)| text.replace(&format!("    {word}\n"), &lines))
}

/// The line that declares a buffer of a kernel.
pub(crate) fn declared(binding: usize, mode: &str, name: &str, element: &str) -> String {
    format!("@group(0) @binding({binding}) var<storage, {mode}> {name}: array<{element}>;\n")
}

/// The beginning of an entry point, up to its first statement.
pub(crate) fn entry(name: &str, group: u32) -> String {
    format!(
        "@compute @workgroup_size({group})
fn {name}(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {{
"
    )
}

/// The names that stand before an opening parenthesis.
pub(crate) fn calls(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = text.match_indices('(').map(|(at, _)| &text[..at]);
    let names = before.map(|before| &before[before.trim_end_matches(is_part).len()..]);
    names.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_any_other_character() {
        assert_eq!(calls("y = x; // Θ(n), ∑exp(x), f(g(é)), ("), ["exp", "f", "g"]);
    }

    #[test]
    fn a_kernel_gets_what_it_calls_and_no_more() {
        let text = with_functions("fn f(x: f32) -> f32 {\n    return f32_exp(x);\n}\n");
        for name in ["fn f32_exp(", "fn f32_small_expm1(", "fn f32_scaled(", "fn f32_inf("] {
            assert_eq!(text.matches(name).count(), 1, "{name}");
        }
        assert!(!text.contains("fn f32_log(") && text.ends_with("}\n"));
        assert_eq!(with_functions("fn f() {}"), "fn f() {}");
    }
}
