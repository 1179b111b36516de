//! How much dropped memory may wait before it is freed: numba's two limits. Pure, except for reading the environment.
//!
//! `list.rs` decides when they are exceeded.

use vkarray_driver::Heap;

use super::list::HeapLimits;
use crate::error::{Error, Result};

const COUNT: &str = "VKARRAY_MAX_PENDING_DEALLOCS_COUNT";
const RATIO: &str = "VKARRAY_MAX_PENDING_DEALLOCS_RATIO";

/// How much dropped memory may wait to go back to the driver. Giving memory back is slow, so it is not done at each drop.
///
/// Memory waits from the moment it is dropped until it is freed or given out again. When a drop, or an allocation that needs
/// new memory, finds that more pieces or more bytes of a heap wait than the limits allow, all waiting memory that the device
/// no longer uses is freed. Device memory and host memory count against their own heaps. A guard of
/// [`Allocator::defer_cleanup`](crate::Allocator::defer_cleanup) postpones that.
///
/// | manager | default limits | what goes back to the driver |
/// |---|---|---|
/// | [`PassthroughManager`](crate::PassthroughManager), host memory of [`HostOnlyMemoryManager`](crate::HostOnlyMemoryManager) | ten pieces, a fifth of the heap | each piece |
/// | [`PoolManager`](crate::PoolManager) | none: it keeps memory for the next block | empty chunks |
/// | [`ArenaManager`](crate::ArenaManager) | those of the other manager | memory that is not of a frame; frames stay |
///
/// Adaptors change none of this. A pool with low limits is hardly faster than the driver: with a limit of 0 it asks the
/// driver at almost every allocation.
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind, PendingLimits, PoolManager};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let manager = PoolManager::new().with_pending_limits(PendingLimits::new(2, 1.0)); // Two pieces.
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, Box::new(manager))?;
/// let blocks = [0; 3].map(|_| allocator.allocate(1 << 20, MemoryKind::Device));
/// drop(blocks);
/// assert_eq!(allocator.pending().n_blocks, 0); // The third drop exceeded the limit.
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PendingLimits {
    max_count: usize,
    max_ratio: f64,
}

impl Default for PendingLimits {
    /// Ten pieces, and a fifth of the heap.
    fn default() -> Self {
        Self { max_count: 10, max_ratio: 0.2 }
    }
}

impl PendingLimits {
    /// Limits of `max_count` pieces and of `max_ratio` of each heap. A ratio that is negative or not a number counts as zero.
    pub fn new(max_count: usize, max_ratio: f64) -> Self {
        Self { max_count, max_ratio: max_ratio.max(0.0) }
    }

    /// Reads `VKARRAY_MAX_PENDING_DEALLOCS_COUNT`, a number of pieces, and `VKARRAY_MAX_PENDING_DEALLOCS_RATIO`, a part of
    /// the heap; the default where one is not set. A count of 0 frees at once. The managers of this
    /// crate read them when they are initialised.
    ///
    /// # Errors
    ///
    /// [`Error::BadSetting`].
    pub fn from_environment() -> Result<Self> {
        Ok(Self::set_by_environment()?.unwrap_or_default())
    }

    /// The limits that the environment sets, or `None` if neither variable is set.
    pub(crate) fn set_by_environment() -> Result<Option<Self>> {
        let read = |name: &str| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
        let (count, ratio) = (read(COUNT), read(RATIO));
        let is_set = count.is_some() || ratio.is_some();
        is_set.then(|| Self::parse(count.as_deref(), ratio.as_deref())).transpose()
    }

    fn parse(count: Option<&str>, ratio: Option<&str>) -> Result<Self> {
        let bad = |variable, text: &str, expected| Error::BadSetting { variable, text: text.to_owned(), expected };
        let mut limits = Self::default();
        if let Some(text) = count {
            limits.max_count = text.trim().parse().map_err(|_| bad(COUNT, text, "a number from 0 up"))?;
        }
        if let Some(text) = ratio {
            let ratio: Option<f64> = text.trim().parse().ok().filter(|ratio: &f64| *ratio >= 0.0);
            limits.max_ratio = ratio.ok_or_else(|| bad(RATIO, text, "a ratio from 0 up"))?;
        }
        Ok(limits)
    }

    /// The limits in bytes for a device with these heaps.
    pub(crate) fn on(&self, heaps: &[Heap]) -> HeapLimits {
        #[expect(clippy::cast_precision_loss, reason = "no heap has 2^53 bytes")]
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast rounds down, and saturates"
        )]
        let bytes = heaps.iter().map(|heap| (heap.size as f64 * self.max_ratio) as u64).collect();
        HeapLimits { count: self.max_count, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_limits_have_the_defaults() {
        // Count, ratio, limits.
        let cases = [
            (None, None, PendingLimits { max_count: 10, max_ratio: 0.2 }),
            (Some("0"), None, PendingLimits { max_count: 0, max_ratio: 0.2 }), // Frees at once.
            (None, Some("1e-3"), PendingLimits { max_count: 10, max_ratio: 0.001 }),
            (Some(" 25 "), Some("2"), PendingLimits { max_count: 25, max_ratio: 2.0 }), // More than there is: no limit.
        ];
        for (count, ratio, limits) in cases {
            assert_eq!(PendingLimits::parse(count, ratio).unwrap(), limits, "{count:?} {ratio:?}");
        }
    }

    #[test]
    fn malformed_limits_are_refused() {
        // Count, ratio, message.
        let cases = [
            (Some("ten"), None, "\"ten\" in VKARRAY_MAX_PENDING_DEALLOCS_COUNT is not a number from 0 up"),
            (Some("-1"), None, "\"-1\" in VKARRAY_MAX_PENDING_DEALLOCS_COUNT is not a number from 0 up"),
            (None, Some("-0.1"), "\"-0.1\" in VKARRAY_MAX_PENDING_DEALLOCS_RATIO is not a ratio from 0 up"),
            (None, Some("NaN"), "\"NaN\" in VKARRAY_MAX_PENDING_DEALLOCS_RATIO is not a ratio from 0 up"),
            (None, Some(""), "\"\" in VKARRAY_MAX_PENDING_DEALLOCS_RATIO is not a ratio from 0 up"),
        ];
        for (count, ratio, message) in cases {
            assert_eq!(PendingLimits::parse(count, ratio).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_limit_in_bytes_is_rounded_down() {
        let heaps = [99, 0, 1 << 40].map(|size| Heap { size, device_local: true, ..Heap::default() });
        // Ratio, bytes for each heap.
        let cases = [
            (0.2, [19, 0, 219_902_325_555]),
            (0.0, [0, 0, 0]),
            (-1.0, [0, 0, 0]),
            (f64::NAN, [0, 0, 0]),
            (f64::INFINITY, [u64::MAX, 0, u64::MAX]),
        ];
        for (ratio, bytes) in cases {
            assert_eq!(
                PendingLimits::new(3, ratio).on(&heaps),
                HeapLimits { count: 3, bytes: bytes.to_vec() },
                "{ratio}"
            );
        }
    }
}
