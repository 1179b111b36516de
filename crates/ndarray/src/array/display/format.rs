//! Brackets, columns and line breaks of a printed array, as NumPy sets them.
//!
//! The elements are text already. The width of a line and the parts that are left out of a large array are NumPy's
//! defaults.

/// Arrays with more elements than this are summarised. NumPy's `threshold`.
pub(super) const THRESHOLD: usize = 1000;

/// Elements that are printed at each end of an axis of a summarised array. NumPy's `edgeitems`.
pub(super) const EDGE_ITEMS: usize = 3;

/// Characters in a line. NumPy's `linewidth`.
const LINE_WIDTH: usize = 75;

const DOTS: &str = "...";

/// The text of an array of this shape. `words` are all elements in C order, or the elements at the ends of the axes.
pub(super) fn format_array(shape: &[usize], words: &[String]) -> String {
    match words {
        [word] if shape.is_empty() => word.clone(),
        [] => "[]".to_owned(),
        _ => ArrayText { shape, is_summarised: shape.iter().product::<usize>() > THRESHOLD }.block(0, words),
    }
}

struct ArrayText<'a> {
    shape: &'a [usize],
    is_summarised: bool,
}

impl ArrayText<'_> {
    /// The words of this axis and all inner ones, in brackets. All lines but the first are indented.
    fn block(&self, axis: usize, words: &[String]) -> String {
        let len = self.shape[axis];
        let has_gap = self.is_summarised && len > 2 * EDGE_ITEMS;
        let n_parts = if has_gap { 2 * EDGE_ITEMS } else { len };
        let n_left = self.shape.len() - axis;
        let indent = " ".repeat(axis + 1);
        let parts = words.chunks(words.len() / n_parts).map(|words| match n_left {
            1 => words[0].clone(),
            _ => self.block(axis + 1, words),
        });
        let mut parts: Vec<String> = parts.collect();
        if has_gap {
            parts.insert(EDGE_ITEMS, DOTS.to_owned());
        }
        let text = match n_left {
            1 => wrapped(&parts, &indent, LINE_WIDTH - axis - 1),
            _ => parts.join(&format!("{}{indent}", "\n".repeat(n_left - 1))),
        };
        format!("[{text}]")
    }
}

/// The words, separated by spaces, on lines of at most this width and at least one word.
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
    text.split_off(indent.len()) // The bracket takes the place of the first line's indent.
}
