//! Labels: the names of operations in the error of a lost device and in traces.
//!
//! A label is one word and is created once, so recording one costs a load and two stores and no allocation. The error
//! of a lost device has the last labels as text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::lock::{Mutex, Rank};

/// How many operations are remembered.
const N_LAST: usize = 16;

/// A label keeps its kind in the top byte and a number in the rest; no label is zero.
const KIND_SHIFT: u32 = 56;
/// The most kernel names that are remembered. Each is remembered once for a device.
const MAX_NAMES: usize = 4096;
const KERNEL: u64 = 1;
const COPY: u64 = 2;
const FILL: u64 = 3;
const TIMESTAMP: u64 = 4;
const REPLAY: u64 = 5;

/// The name of an operation, for [`Recorder::label`](crate::Recorder::label).
///
/// A kernel's label is created by [`Device::kernel_label`](crate::LogicalDevice::kernel_label) and belongs to that device.
///
/// ```
/// use vkarray_driver::Label;
///
/// assert_ne!(Label::copy(4096), Label::fill(4096));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(u64);

impl Label {
    /// A timestamp.
    pub const TIMESTAMP: Self = Self::new(TIMESTAMP, 0);

    /// The label of a kernel in a forked process, and of one beyond [`MAX_NAMES`].
    pub(crate) const UNKNOWN_KERNEL: Self = Self::new(KERNEL, u64::MAX);

    /// The label of a copy of `bytes` bytes.
    pub const fn copy(bytes: u64) -> Self {
        Self::new(COPY, bytes)
    }

    /// The label of a fill of `bytes` bytes.
    pub const fn fill(bytes: u64) -> Self {
        Self::new(FILL, bytes)
    }

    /// The label of a replay of a graph with `n_steps` steps.
    pub(crate) fn replay(n_steps: usize) -> Self {
        Self::new(REPLAY, n_steps as u64)
    }

    const fn new(kind: u64, number: u64) -> Self {
        let largest = (1 << KIND_SHIFT) - 1; // No memory is as large.
        Self(kind << KIND_SHIFT | if number > largest { largest } else { number })
    }
}

/// The labels of a device's last operations, and the names of its kernels.
pub(crate) struct Labels {
    last: [AtomicU64; N_LAST], // A ring; zero where nothing was noted yet.
    n_noted: AtomicUsize,
    /// A panic under the lock leaves the names consistent, since they are only added, and each as a whole.
    names: Mutex<Vec<Arc<str>>>,
}

impl Default for Labels {
    fn default() -> Self {
        let names = Mutex::new(Rank::Labels, Vec::new());
        Self { last: Default::default(), n_noted: AtomicUsize::new(0), names }
    }
}

impl Labels {
    /// The label of kernels named `name`.
    pub(crate) fn kernel(&self, name: &str) -> Label {
        let mut names = self.names.lock();
        let known = names.iter().position(|known| &**known == name);
        if known.is_none() && names.len() == MAX_NAMES {
            return Label::UNKNOWN_KERNEL;
        }
        let idx = known.unwrap_or_else(|| {
            names.push(Arc::from(name));
            names.len() - 1
        });
        Label::new(KERNEL, idx as u64)
    }

    #[inline]
    pub(crate) fn note(&self, label: Label) {
        // An atomic addition would cost more than the rest of this function. Without it, a label may be lost when two
        // threads note one at once.
        let nth = self.n_noted.load(Ordering::Relaxed);
        self.n_noted.store(nth.wrapping_add(1), Ordering::Relaxed);
        self.last[nth % N_LAST].store(label.0, Ordering::Relaxed);
    }

    /// The text of a label.
    pub(crate) fn text(&self, label: Label) -> String {
        text(label.0, &self.names.lock())
    }

    /// The last labels, oldest first. A label that another thread adds meanwhile may replace an older one.
    pub(crate) fn last(&self) -> Vec<String> {
        let names = self.names.lock();
        let next = self.n_noted.load(Ordering::Relaxed);
        let slots = (next..next + N_LAST).map(|nth| self.last[nth % N_LAST].load(Ordering::Relaxed));
        slots.filter(|&slot| slot != 0).map(|slot| text(slot, &names)).collect()
    }
}

fn text(slot: u64, names: &[Arc<str>]) -> String {
    let number = slot & ((1 << KIND_SHIFT) - 1);
    match slot >> KIND_SHIFT {
        COPY => format!("copy {number} bytes"),
        FILL => format!("fill {number} bytes"),
        TIMESTAMP => "timestamp".to_owned(),
        REPLAY => format!("replay of {number} steps"),
        _ => {
            // A label of another device, or of a kernel beyond [`MAX_NAMES`], has no name.
            let name = usize::try_from(number).ok().and_then(|idx| names.get(idx));
            name.map_or_else(|| "a kernel without a name".to_owned(), |name| name.to_string())
        }
    }
}

crate::debug_fields!(Labels, this => last: this.last());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sixteen_are_listed_oldest_first() {
        let labels = Labels::default();
        for n in 0..=40_u64 {
            let expected: Vec<_> = (n.saturating_sub(16)..n).map(|bytes| format!("copy {bytes} bytes")).collect();
            assert_eq!(labels.last(), expected, "after {n}");
            labels.note(Label::copy(n));
        }
    }

    #[test]
    fn each_label_has_its_text() {
        let labels = Labels::default();
        let (saxpy, sum) = (labels.kernel("saxpy"), labels.kernel("sum"));
        assert_eq!((labels.kernel("saxpy"), labels.kernel("sum")), (saxpy, sum)); // One label a name.
        for (label, text) in [
            (sum, "sum"),
            (saxpy, "saxpy"),
            (Label::copy(0), "copy 0 bytes"), // Not taken for an empty slot.
            (Label::fill(4096), "fill 4096 bytes"),
            (Label::copy(u64::MAX), "copy 72057594037927935 bytes"), // Too many for a label: the most it can say.
            (Label::TIMESTAMP, "timestamp"),
            (Label::replay(3), "replay of 3 steps"),
            (Label::new(KERNEL, 2), "a kernel without a name"),
        ] {
            labels.note(label);
            assert_eq!(labels.last().pop().as_deref(), Some(text), "{label:?}");
        }
    }
}
