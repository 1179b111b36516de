//! Boxes of elements.

/// A box of elements: its first index and its shape, in elements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// The index of the first element, one number for each axis.
    pub start: Vec<usize>,
    /// The number of elements along each axis.
    pub shape: Vec<usize>,
}

impl Region {
    /// The number of elements.
    #[must_use]
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The box, counted from an element at or before its first one.
    pub(crate) fn counted_from(&self, first: &[usize]) -> Self {
        let start = self.start.iter().zip(first).map(|(at, first)| at - first).collect();
        Self { start, shape: self.shape.clone() }
    }

    /// Whether the element at `index` is in this box.
    #[must_use]
    pub fn contains(&self, index: &[usize]) -> bool {
        index.len() == self.start.len()
            && (index.iter().zip(&self.start).zip(&self.shape))
                .all(|((&at, &start), &len)| at >= start && at - start < len)
    }
}

/// All combinations of one item of each list, the last list fastest.
pub(super) fn product<T: Copy>(lists: &[&[T]]) -> Vec<Vec<T>> {
    lists.iter().fold(vec![Vec::new()], |combinations, list| {
        (combinations.iter())
            .flat_map(|head| list.iter().map(|&item| head.iter().copied().chain([item]).collect()))
            .collect()
    })
}
