//! Labels of memory: a name, a type of element and a shape, for the report of memory running out.
//!
//! A label is small and copied in place, since one is made for each array. Only reports read labels; arrays keep their
//! own shape in the ndarray crate. The report is in `error/out_of_memory.rs`.

use std::fmt;
use std::sync::Arc;

/// How many lengths of axes a label keeps. Of further axes a label keeps only the number.
const MAX_AXES: usize = 6;

/// The use of a piece of memory, for reports.
///
/// ```
/// use vkarray_allocator::BlockLabel;
///
/// let label = BlockLabel::array("f32", &[3, 4]).with_name("weights");
/// assert_eq!(label.to_string(), "`weights`, f32 (3, 4)");
/// ```
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BlockLabel {
    name: Option<Arc<str>>,
    dtype: Option<&'static str>,
    axes: [usize; MAX_AXES],
    n_axes: usize,
}

impl BlockLabel {
    /// A label of memory whose use is not known.
    pub fn new() -> Self {
        Self::default()
    }

    /// A label of an array with that type of element and shape. Keeps the lengths of the first six axes.
    #[inline]
    pub fn array(dtype: &'static str, shape: &[usize]) -> Self {
        let mut axes = [0; MAX_AXES];
        for (axis, &len) in axes.iter_mut().zip(shape) {
            *axis = len;
        }
        Self { name: None, dtype: Some(dtype), axes, n_axes: shape.len() }
    }

    /// Adds a name that the program chose.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The name that the program chose.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The type of an array's elements.
    pub fn dtype(&self) -> Option<&'static str> {
        self.dtype
    }

    /// The lengths of an array's first six axes.
    pub fn shape(&self) -> &[usize] {
        &self.axes[..self.n_axes.min(MAX_AXES)]
    }

    /// How many axes an array has.
    pub fn ndim(&self) -> usize {
        self.n_axes
    }
}

impl Clone for BlockLabel {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), ..*self }
    }

    /// Where no label has a name, which is the common case, plain values are copied in place.
    #[inline]
    fn clone_from(&mut self, other: &Self) {
        if self.name.is_some() || other.name.is_some() {
            self.name.clone_from(&other.name);
        }
        (self.dtype, self.axes, self.n_axes) = (other.dtype, other.axes, other.n_axes);
    }
}

/// `` `weights`, f32 (3, 4) ``, with the shape as NumPy prints it.
impl fmt::Display for BlockLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.dtype) {
            (None, None) => return f.write_str("no array and no label"),
            (Some(name), None) => return write!(f, "`{name}`"),
            (Some(name), Some(dtype)) => write!(f, "`{name}`, {dtype} (")?,
            (None, Some(dtype)) => write!(f, "{dtype} (")?,
        }
        for (i, len) in self.shape().iter().enumerate() {
            let gap = if i > 0 { ", " } else { "" };
            write!(f, "{gap}{len}")?;
        }
        f.write_str(match self.n_axes {
            1 => ",)",
            0..=MAX_AXES => ")",
            _ => ", …)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_reads_as_its_array() {
        let cases = [
            (BlockLabel::new(), "no array and no label"),
            (BlockLabel::new().with_name("staging"), "`staging`"),
            (BlockLabel::array("f32", &[]), "f32 ()"),
            (BlockLabel::array("f32", &[7]), "f32 (7,)"),
            (BlockLabel::array("u8", &[3, 0, 4]).with_name("mask"), "`mask`, u8 (3, 0, 4)"),
            (BlockLabel::array("i64", &[1, 2, 3, 4, 5, 6]), "i64 (1, 2, 3, 4, 5, 6)"), // All lengths that are kept.
            (BlockLabel::array("i64", &[1, 2, 3, 4, 5, 6, 7]), "i64 (1, 2, 3, 4, 5, 6, …)"),
        ];
        for (label, text) in cases {
            assert_eq!(label.to_string(), text);
        }
    }

    #[test]
    fn the_first_six_axes_are_kept() {
        let label = BlockLabel::array("f32", &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((label.shape(), label.ndim()), (&[1, 2, 3, 4, 5, 6][..], 8));
        assert_eq!((label.dtype(), label.name()), (Some("f32"), None));
    }
}
