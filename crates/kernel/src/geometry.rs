//! How many workgroups a launch needs: [`Groups`], resolved to the three numbers of `vkCmdDispatch`.
//!
//! Pure arithmetic on 64 bits. Whether one workgroup fits the device is `limits.rs`'s question.

use crate::error::{Error, Result};
use crate::limits::AXES;

/// The extent of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Groups {
    counts: [u64; 3],
    /// Whether `counts` are items, to be divided by the workgroup's size, or workgroups.
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Unit {
    Items,
    Workgroups,
}

impl Groups {
    /// So many workgroups on each axis, whatever their size.
    #[must_use]
    pub const fn exact(counts: [u32; 3]) -> Self {
        Self { counts: [counts[0] as u64, counts[1] as u64, counts[2] as u64], unit: Unit::Workgroups }
    }

    /// Enough workgroups to give each of the items one invocation, on one to three axes, x first.
    ///
    /// The last workgroup of an axis may reach past the items; the kernel checks its index.
    ///
    /// ```
    /// use vkarray_kernel::{Groups, Limits};
    ///
    /// let groups = Groups::covering([1000, 3]);
    /// assert_eq!(groups.resolve([256, 1, 1], &Limits::MINIMUM)?, Some([4, 3, 1]));
    /// # Ok::<(), vkarray_kernel::Error>(())
    /// ```
    #[must_use]
    pub const fn covering<const N: usize>(items: [u64; N]) -> Self {
        const { assert!(N >= 1 && N <= 3, "a launch has one to three axes") };
        let mut counts = [1; 3];
        let mut axis = 0;
        while axis < N {
            counts[axis] = items[axis];
            axis += 1;
        }
        Self { counts, unit: Unit::Items }
    }

    /// The number of workgroups on each axis, or `None` when an axis is empty: nothing to launch.
    ///
    /// A workgroup size of zero does not occur in a valid shader and counts as one.
    ///
    /// # Errors
    ///
    /// [`Error::GroupCount`] when an axis needs more than the device allows.
    pub fn resolve(&self, workgroup_size: [u32; 3], limits: &crate::Limits) -> Result<Option<[u32; 3]>> {
        let too_many = |TooMany { axis, wanted, limit }| Error::GroupCount { axis: AXES[axis], wanted, limit };
        self.counts(workgroup_size, limits).map_err(too_many)
    }

    /// As [`Groups::resolve`], with an error that costs nothing where nobody makes it.
    #[inline]
    pub(crate) fn counts(
        &self,
        workgroup_size: [u32; 3],
        limits: &crate::Limits,
    ) -> std::result::Result<Option<[u32; 3]>, TooMany> {
        if self.counts.contains(&0) {
            return Ok(None);
        }
        let mut groups = [1; 3];
        for axis in 0..3 {
            let size = match self.unit {
                Unit::Items => u64::from(workgroup_size[axis].max(1)),
                Unit::Workgroups => 1,
            };
            let items = self.counts[axis];
            let wanted = if size == 1 || items == 1 { items } else { items.div_ceil(size) }; // Dividing is slow.
            let limit = limits.max_workgroup_count[axis];
            groups[axis] = match u32::try_from(wanted) {
                Ok(groups) if groups <= limit => groups,
                _ => return Err(TooMany { axis, wanted, limit }),
            };
        }
        Ok(Some(groups))
    }
}

/// More workgroups on an axis than the device allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooMany {
    axis: usize,
    wanted: u64,
    limit: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn limits(max_workgroup_count: [u32; 3]) -> Limits {
        Limits { max_workgroup_count, ..Limits::MINIMUM }
    }

    #[test]
    fn covering_rounds_up_and_never_wastes_a_workgroup() {
        let limits = limits([u32::MAX; 3]);
        for size in 1..=9u32 {
            for items in 1..=100u64 {
                let [x, y, z] = Groups::covering([items]).resolve([size, 3, 5], &limits).unwrap().unwrap();
                assert!(u64::from(x) * u64::from(size) >= items, "{items} items by {size}");
                assert!(u64::from(x - 1) * u64::from(size) < items, "{items} items by {size}");
                assert_eq!((y, z), (1, 1)); // An axis that is not named is one workgroup.
            }
        }
    }

    #[test]
    fn axes_do_not_mix() {
        let limits = limits([10, 20, 30]);
        let cases = [
            (Groups::covering([7, 11, 13]), [2, 3, 4], [4, 4, 4]),
            (Groups::covering([20, 60]), [2, 3, 4], [10, 20, 1]),
            (Groups::exact([10, 20, 30]), [2, 3, 4], [10, 20, 30]), // The workgroup's size plays no part.
        ];
        for (groups, size, expected) in cases {
            assert_eq!(groups.resolve(size, &limits).unwrap(), Some(expected), "{groups:?}");
        }
    }

    #[test]
    fn an_empty_axis_launches_nothing() {
        let limits = limits([1; 3]);
        for groups in [
            Groups::covering([0]),
            Groups::covering([u64::MAX, 0]), // Empty comes before too large.
            Groups::covering([5, 5, 0]),
            Groups::exact([0, 1, 1]),
            Groups::exact([1, u32::MAX, 0]),
        ] {
            assert_eq!(groups.resolve([1, 1, 1], &limits).unwrap(), None, "{groups:?}");
        }
    }

    #[test]
    fn the_limit_fits_and_one_more_does_not() {
        for limit in [1u32, 2, 65535, 65536, u32::MAX - 1, u32::MAX] {
            for size in [1u32, 2, 3, 64, 1024, u32::MAX] {
                for axis in 0..3 {
                    let mut counts = [1; 3];
                    counts[axis] = limit;
                    let mut items = [1; 3];
                    items[axis] = u64::from(limit) * u64::from(size);
                    let limits = limits(counts);
                    assert_eq!(Groups::covering(items).resolve([size; 3], &limits).unwrap(), Some(counts));
                    items[axis] += 1;
                    let error = Groups::covering(items).resolve([size; 3], &limits).unwrap_err();
                    let message = format!(
                        "{} workgroups on axis {}, the device allows {limit}",
                        u64::from(limit) + 1,
                        ["x", "y", "z"][axis]
                    );
                    assert_eq!(error.to_string(), message);
                }
            }
        }
    }

    #[test]
    fn too_many_is_an_error_with_both_numbers() {
        let cases = [
            (Groups::covering([u64::MAX]), "18446744073709551615 workgroups on axis x, the device allows 65535"),
            (Groups::covering([1, 1 << 32]), "4294967296 workgroups on axis y, the device allows 65535"),
            (Groups::exact([1, 1, 65536]), "65536 workgroups on axis z, the device allows 65535"),
        ];
        for (groups, message) in cases {
            assert_eq!(groups.resolve([1, 1, 1], &Limits::MINIMUM).unwrap_err().to_string(), message);
        }
    }
}
