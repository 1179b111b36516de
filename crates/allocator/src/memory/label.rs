//! Who holds memory: a label, a type of element and a shape, for the report of memory running out.
//!
//! Plain and cheap, since one is made for each array. Nothing else reads it: what an array is, is the ndarray crate's.
//! The report is `out_of_memory.rs`.

use std::fmt;
use std::sync::Arc;

/// The axes that a holder remembers; of further ones only that they are there.
const MAX_AXES: usize = 6;

/// What a piece of memory is held for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Holder {
    label: Option<Arc<str>>,
    dtype: Option<&'static str>,
    axes: [usize; MAX_AXES],
    n_axes: usize,
}

impl Holder {
    /// Memory of which nothing is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An array of that type and shape. Keeps the lengths of the first six axes.
    #[must_use]
    #[inline]
    pub fn array(dtype: &'static str, shape: &[usize]) -> Self {
        let mut axes = [0; MAX_AXES];
        for (axis, &len) in axes.iter_mut().zip(shape) {
            *axis = len;
        }
        Self { label: None, dtype: Some(dtype), axes, n_axes: shape.len() }
    }

    /// Under a name that the program chose.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The name that the program chose.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The type of an array's elements.
    #[must_use]
    pub fn dtype(&self) -> Option<&'static str> {
        self.dtype
    }

    /// The lengths of an array's first six axes.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.axes[..self.n_axes.min(MAX_AXES)]
    }

    /// How many axes an array has.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.n_axes
    }
}

impl Clone for Holder {
    fn clone(&self) -> Self {
        Self { label: self.label.clone(), ..*self }
    }

    /// Where neither has a label, which is most often, plain values are copied in place.
    #[inline]
    fn clone_from(&mut self, other: &Self) {
        if self.label.is_some() || other.label.is_some() {
            self.label.clone_from(&other.label);
        }
        (self.dtype, self.axes, self.n_axes) = (other.dtype, other.axes, other.n_axes);
    }
}

/// `` `weights`, f32 (3, 4) ``, with the shape as NumPy prints it.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.label, self.dtype) {
            (None, None) => return f.write_str("no array and no label"),
            (Some(label), None) => return write!(f, "`{label}`"),
            (Some(label), Some(dtype)) => write!(f, "`{label}`, {dtype} (")?,
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
    fn a_holder_reads_as_its_array() {
        let cases = [
            (Holder::new(), "no array and no label"),
            (Holder::new().with_label("staging"), "`staging`"),
            (Holder::array("f32", &[]), "f32 ()"),
            (Holder::array("f32", &[7]), "f32 (7,)"),
            (Holder::array("u8", &[3, 0, 4]).with_label("mask"), "`mask`, u8 (3, 0, 4)"),
            (Holder::array("i64", &[1, 2, 3, 4, 5, 6]), "i64 (1, 2, 3, 4, 5, 6)"), // The most it keeps.
            (Holder::array("i64", &[1, 2, 3, 4, 5, 6, 7]), "i64 (1, 2, 3, 4, 5, 6, …)"),
        ];
        for (holder, text) in cases {
            assert_eq!(holder.to_string(), text);
        }
    }

    #[test]
    fn a_holder_forgets_no_axis_that_it_can_keep() {
        let holder = Holder::array("f32", &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((holder.shape(), holder.ndim()), (&[1, 2, 3, 4, 5, 6][..], 8));
        assert_eq!((holder.dtype(), holder.label()), (Some("f32"), None));
    }
}
