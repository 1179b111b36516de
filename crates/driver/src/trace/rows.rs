//! Lays spans out in rows, such that the spans of one row lie apart or inside their parent. Pure.
//!
//! A trace viewer draws a row as a stack of calls: a span that begins inside another must end inside it. Batches of two
//! streams may overlap on a queue, and so may operations of one batch. A span that does not fit into a row goes one row
//! further down.

/// A span to place. `parent` is the position of the span that it may lie inside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlacedSpan {
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) parent: Option<usize>,
}

/// Returns the row of each span. A span with a parent is placed inside the parent, or on a row of its own.
pub(super) fn rows(spans: &[PlacedSpan]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    // A parent is sorted before the spans inside it, even where both begin at once.
    order.sort_by(|&a, &b| {
        let key = |i: usize| (spans[i].begin, spans[i].parent.is_some());
        let ((a_begin, a_inside), (b_begin, b_inside)) = (key(a), key(b));
        a_begin.total_cmp(&b_begin).then(a_inside.cmp(&b_inside))
    });
    let mut placed = vec![0; spans.len()];
    let mut stacks: Vec<Vec<usize>> = Vec::new(); // What is open in each row, outermost first.
    for i in order {
        let span = &spans[i];
        let fits = |stack: &mut Vec<usize>| {
            while stack.last().is_some_and(|&top| spans[top].end <= span.begin && Some(top) != span.parent) {
                stack.pop();
            }
            stack.last().is_none_or(|&top| Some(top) == span.parent && span.end <= spans[top].end)
        };
        let row = stacks.iter_mut().position(fits).unwrap_or_else(|| {
            stacks.push(Vec::new());
            stacks.len() - 1
        });
        stacks[row].push(i);
        placed[i] = row;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_a_row_lie_apart_or_inside_their_parent() {
        // The spans (begin, end, parent), and their rows.
        type Case<'a> = (&'a [(f64, f64, Option<usize>)], &'a [usize]);
        let cases: &[Case<'_>] = &[
            (&[], &[]),
            (&[(0.0, 1.0, None), (1.0, 2.0, None)], &[0, 0]), // One ends where the next begins.
            (&[(0.0, 2.0, None), (1.0, 3.0, None)], &[0, 1]), // They overlap.
            (&[(0.0, 3.0, None), (1.0, 2.0, None)], &[0, 1]), // One lies inside the other, and is none of its parts.
            (&[(0.0, 9.0, None), (0.0, 4.0, Some(0)), (4.0, 9.0, Some(0))], &[0, 0, 0]), // A batch of two.
            (&[(0.0, 9.0, None), (0.0, 4.0, Some(0)), (1.0, 9.0, Some(0))], &[0, 0, 1]), // Two at once.
            (&[(0.0, 9.0, None), (0.0, 9.0, Some(0)), (5.0, 8.0, Some(0))], &[0, 0, 1]), // Side by side, not nested.
            (&[(0.0, 4.0, None), (2.0, 6.0, None), (3.0, 4.0, Some(0))], &[0, 1, 0]), // Each in its own batch.
            (&[(0.0, 4.0, None), (2.0, 6.0, None), (4.0, 6.0, Some(1))], &[0, 1, 0]), // Any free row does.
            (&[(3.0, 3.0, None), (3.0, 3.0, Some(0))], &[0, 0]), // No time at all.
            (&[(5.0, 6.0, None), (0.0, 1.0, None)], &[0, 0]), // In any order.
        ];
        for (spans, expected) in cases {
            let spans: Vec<_> = spans.iter().map(|&(begin, end, parent)| PlacedSpan { begin, end, parent }).collect();
            assert_eq!(rows(&spans), *expected, "{spans:?}");
        }
    }
}
