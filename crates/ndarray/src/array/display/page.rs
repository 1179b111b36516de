//! Words on a page: brackets, columns and line breaks as NumPy sets them. Pure.
//!
//! What the words are is `display.rs`'s business. The width of a line, and what is left out of a large array, are
//! NumPy's defaults.

/// Elements past which an array is summarised.
pub(super) const THRESHOLD: usize = 1000;

/// Places shown at each end of an axis of a summarised array.
pub(super) const EDGE: usize = 3;

/// Characters of a line.
const WIDTH: usize = 75;

const DOTS: &str = "...";

/// Sets the words of an array of this shape: all of them in C order, or those at the ends of its axes.
pub(super) fn page(shape: &[usize], words: &[String]) -> String {
    match words {
        [word] if shape.is_empty() => word.clone(),
        [] => "[]".to_owned(),
        _ => Page { shape, is_summarised: shape.iter().product::<usize>() > THRESHOLD }.block(0, words),
    }
}

struct Page<'a> {
    shape: &'a [usize],
    is_summarised: bool,
}

impl Page<'_> {
    /// The words from this axis on, in brackets. All lines but the first are indented.
    fn block(&self, axis: usize, words: &[String]) -> String {
        let len = self.shape[axis];
        let has_gap = self.is_summarised && len > 2 * EDGE;
        let n_parts = if has_gap { 2 * EDGE } else { len };
        let n_left = self.shape.len() - axis;
        let indent = " ".repeat(axis + 1);
        let parts = words.chunks(words.len() / n_parts).map(|words| match n_left {
            1 => words[0].clone(),
            _ => self.block(axis + 1, words),
        });
        let mut parts: Vec<String> = parts.collect();
        if has_gap {
            parts.insert(EDGE, DOTS.to_owned());
        }
        let text = match n_left {
            1 => wrapped(&parts, &indent, WIDTH - axis - 1),
            _ => parts.join(&format!("{}{indent}", "\n".repeat(n_left - 1))),
        };
        format!("[{text}]")
    }
}

/// Words with blanks between them, on lines of at most this width; a line holds at least one.
fn wrapped(words: &[String], indent: &str, width: usize) -> String {
    let mut text = String::new();
    let mut line = indent.to_owned();
    for (at, word) in words.iter().enumerate() {
        if line.len() + word.len() > width && line.len() > indent.len() {
            text.push_str(line.trim_end());
            text.push('\n');
            line.replace_range(.., indent);
        }
        line.push_str(word);
        if at + 1 < words.len() {
            line.push(' ');
        }
    }
    text.push_str(&line);
    text.split_off(indent.len()) // The bracket stands where the first line's indent would.
}
