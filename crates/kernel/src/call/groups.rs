//! How many workgroups a launch needs: [`Groups`], resolved to the three numbers of `vkCmdDispatch`.
//!
//! Pure arithmetic on 64 bits. Whether one workgroup fits the device is `requirements/limits.rs`'s question; a launch too long for one
//! axis is folded by `shader/passes/fold.rs`, and numbers that only the device knows are `dispatch/indirect.rs`'s.

use std::fmt;

use crate::call::args::AsArg;
use crate::call::shape::ArgShape;
use crate::error::{Error, Result};
use crate::requirements::AXES;

/// Invocations on one axis that `global_invocation_id`, a `u32`, can number.
const MAX_INVOCATIONS: u64 = 1 << 32;

/// The extent of a launch.
#[derive(Clone, Copy)]
pub struct Groups<'a>(pub(crate) Extent<'a>);

/// See [`Groups`].
#[derive(Clone, Copy)]
pub(crate) enum Extent<'a> {
    /// Invocations on each axis, to be divided by the workgroup's size.
    Items([u64; 3]),
    Workgroups([u64; 3]),
    /// Workgroups, as an array on the device says.
    Indirect(Indirect<'a>),
}

/// Where an array says how many workgroups to launch.
#[derive(Clone, Copy)]
pub(crate) struct Indirect<'a> {
    pub(crate) array: &'a (dyn AsArg + Sync),
    /// The element with the number for x.
    pub(crate) first: u64,
    /// Whether the caller answers for the numbers.
    pub(crate) is_trusted: bool,
}

impl Indirect<'_> {
    /// What the array looks like, for messages.
    pub(crate) fn shape(&self) -> String {
        match self.array.as_arg().shape() {
            ArgShape::Array(shape) => shape.to_string(),
            other => other.to_string(),
        }
    }
}

impl<'a> Groups<'a> {
    /// So many workgroups on each axis, whatever their size.
    #[must_use]
    pub const fn exact(counts: [u32; 3]) -> Self {
        Self(Extent::Workgroups([counts[0] as u64, counts[1] as u64, counts[2] as u64]))
    }

    /// Enough workgroups to give each of the items one invocation, on one to three axes, x first.
    ///
    /// The last workgroup of an axis may reach past the items; the kernel checks its index.
    ///
    /// A launch along x that is longer than the device allows is folded over the other axes, and the kernel sees the
    /// numbers of a launch along x; see [`Kernel::dispatch`](crate::Kernel::dispatch). No launch has more than 2^32
    /// invocations on an axis, since shaders number them in 32 bits; more items are dispatched in parts.
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
        Self(Extent::Items(counts))
    }

    /// As many workgroups on x, y and z as the three numbers of an array of `u32` say from element `first` on, when the
    /// device comes to the launch: another kernel may write them, and the host never waits for them.
    ///
    /// A number above what the device allows (`maxComputeWorkGroupCount`) would be undefined behaviour, so a kernel of one
    /// invocation looks at the numbers first. If one is too large, or stands for more than 2^32 invocations,
    /// **nothing is launched**: the device cannot report it, and a part of the work would be worse than none. A kernel
    /// built with [`sanitize`](crate::KernelBuilder::sanitize) waits for the numbers and returns [`Error::GroupCount`] or
    /// [`Error::InvocationCount`].
    #[must_use]
    pub const fn indirect(array: &'a (dyn AsArg + Sync), first: u64) -> Self {
        Self(Extent::Indirect(Indirect { array, first, is_trusted: false }))
    }

    /// As [`Groups::indirect`], without the look at the numbers: one dispatch and one barrier less.
    ///
    /// # Safety
    ///
    /// Whenever the device comes to a launch of these groups, each of the three numbers is at most
    /// `maxComputeWorkGroupCount` of its axis, and the kernel does not write them. The array's buffer can be an indirect
    /// buffer, as all are that memory managers give out.
    #[must_use]
    pub const unsafe fn indirect_unchecked(array: &'a (dyn AsArg + Sync), first: u64) -> Self {
        Self(Extent::Indirect(Indirect { array, first, is_trusted: true }))
    }

    /// The number of workgroups on each axis, or `None` when an axis is empty: nothing to launch.
    ///
    /// A workgroup size of zero does not occur in a valid shader and counts as one.
    ///
    /// # Errors
    ///
    /// [`Error::GroupCount`] when an axis needs more than the device allows, also where a dispatch would fold the launch;
    /// [`Error::InvocationCount`] when an axis has more than 2^32 invocations; [`Error::CountsOnDevice`] for
    /// [`Groups::indirect`].
    pub fn resolve(&self, workgroup_size: [u32; 3], limits: &crate::Limits) -> Result<Option<[u32; 3]>> {
        match self.counts(workgroup_size, limits) {
            Counted::Counts(counts) => Ok(Some(counts)),
            Counted::Empty => Ok(None),
            Counted::TooMany(too_many) => Err(too_many.into()),
            Counted::Unnumbered(axis, n) => Err(unnumbered(axis, n, workgroup_size)),
            Counted::OnDevice(_) => Err(Error::CountsOnDevice),
        }
    }

    /// As [`Groups::resolve`], with an error that costs nothing where nobody makes it.
    #[inline(always)]
    pub(crate) fn counts(&self, workgroup_size: [u32; 3], limits: &crate::Limits) -> Counted<'a> {
        let (counts, is_items) = match self.0 {
            Extent::Items(items) => (items, true),
            Extent::Workgroups(counts) => (counts, false),
            Extent::Indirect(indirect) => return Counted::OnDevice(indirect),
        };
        if counts.contains(&0) {
            return Counted::Empty;
        }
        let mut groups = [1; 3];
        for axis in 0..3 {
            let items = counts[axis];
            let wanted = if is_items { divided(items, workgroup_size[axis]) } else { items };
            let limit = limits.max_workgroup_count[axis];
            if wanted > u64::from(limit) {
                return Counted::TooMany(TooMany { axis, wanted, limit, is_along_x: counts[1..] == [1, 1] });
            }
            groups[axis] = u32::try_from(wanted).unwrap_or(limit); // It is at most the limit.
            if !is_numbered(groups[axis], workgroup_size[axis]) {
                return Counted::Unnumbered(axis, groups[axis]);
            }
        }
        Counted::Counts(groups)
    }
}

/// Whether 32 bits number the invocations of so many workgroups of that size, on one axis.
#[inline]
pub(crate) fn is_numbered(workgroups: u32, size: u32) -> bool {
    u64::from(workgroups) * u64::from(size) <= MAX_INVOCATIONS
}

/// The error of workgroups on an axis whose invocations 32 bits do not number.
#[cold]
pub(crate) fn unnumbered(axis: usize, workgroups: u32, size: [u32; 3]) -> Error {
    Error::InvocationCount { axis: AXES[axis], workgroups, size: size[axis] }
}

/// The most workgroups of that size on each axis that a device launches and 32 bits number.
pub(crate) fn most_workgroups(size: [u32; 3], limits: &crate::Limits) -> [u32; 3] {
    std::array::from_fn(|axis| {
        let numbered = MAX_INVOCATIONS / u64::from(size[axis].max(1));
        u32::try_from(numbered).unwrap_or(u32::MAX).min(limits.max_workgroup_count[axis])
    })
}

/// Items by the size of a workgroup, rounded up. Dividing is slow, and slower in 64 bits.
#[inline]
fn divided(items: u64, size: u32) -> u64 {
    match u32::try_from(items) {
        _ if items == 1 || size <= 1 => items,
        Ok(items) => items.div_ceil(size).into(),
        Err(_) => items.div_ceil(size.into()),
    }
}

impl fmt::Debug for Groups<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Extent::Items(items) => write!(f, "Groups::covering({items:?})"),
            Extent::Workgroups(counts) => write!(f, "Groups::exact({counts:?})"),
            Extent::Indirect(indirect) => write!(f, "Groups::indirect({:?}, {})", indirect.shape(), indirect.first),
        }
    }
}

/// What is known of the number of workgroups.
#[derive(Clone, Copy)]
pub(crate) enum Counted<'a> {
    Counts([u32; 3]),
    /// An axis has none.
    Empty,
    TooMany(TooMany),
    /// More invocations than can be numbered: the axis, and its workgroups.
    Unnumbered(usize, u32),
    OnDevice(Indirect<'a>),
}

/// More workgroups on an axis than the device allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooMany {
    pub(crate) axis: usize,
    pub(crate) wanted: u64,
    pub(crate) limit: u32,
    /// Whether the launch has one workgroup on the other axes, whatever their size.
    pub(crate) is_along_x: bool,
}

impl From<TooMany> for Error {
    fn from(TooMany { axis, wanted, limit, .. }: TooMany) -> Self {
        Self::GroupCount { axis: AXES[axis], wanted, limit, advice: "" }
    }
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
                    let resolved = Groups::covering(items).resolve([size; 3], &limits);
                    if items[axis] <= 1 << 32 {
                        assert_eq!(resolved.unwrap(), Some(counts));
                    } else {
                        assert!(matches!(resolved, Err(Error::InvocationCount { .. })), "{resolved:?}");
                    }
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
    fn no_axis_has_more_invocations_than_32_bits_number() {
        let limits = limits([u32::MAX; 3]);
        let most = 1_u64 << 32;
        // Items, size of a workgroup on the axis, its workgroups if that many can be numbered.
        let cases = [
            (most, 64, Ok(1 << 26)),
            (most - 63, 64, Ok(1 << 26)),
            (most + 1, 64, Err((1 << 26) + 1)),
            (most + 64, 64, Err((1 << 26) + 1)),
            (1 << 37, 64, Err(1 << 31)),
            (most - 4, 3, Ok(1_431_655_764)),
            (most - 3, 3, Ok(1_431_655_765)),
            (most, 3, Err(1_431_655_766)), // The last workgroup reaches past the items, and past 32 bits.
        ];
        for axis in 0..3 {
            for (items, size, expected) in cases {
                let (mut wanted, mut sizes, mut counts) = ([1; 3], [7; 3], [1; 3]);
                (wanted[axis], sizes[axis]) = (items, size);
                let n = expected.unwrap_or_else(|n| n);
                counts[axis] = n;
                for groups in [Groups::covering(wanted), Groups::exact(counts)] {
                    match (groups.resolve(sizes, &limits), expected) {
                        (Ok(Some(found)), Ok(_)) => assert_eq!(found, counts),
                        (Err(Error::InvocationCount { axis: a, workgroups, size: s }), Err(n)) => {
                            assert_eq!((a, workgroups, s), (AXES[axis], n, size));
                        }
                        (other, _) => panic!("{groups:?} by {size}: {other:?}"),
                    }
                }
                let most = most_workgroups(sizes, &limits);
                assert_eq!(counts[axis] <= most[axis], expected.is_ok(), "{items} by {size}: {most:?}");
            }
        }
        assert_eq!(most_workgroups([0, 1, 1 << 30], &Limits::MINIMUM), [65535, 65535, 4]);
    }

    #[test]
    fn numbers_on_the_device_are_not_the_host_s() {
        let error = Groups::indirect(&1_u32, 0).resolve([1, 1, 1], &Limits::MINIMUM).unwrap_err();
        assert!(matches!(error, Error::CountsOnDevice), "{error}");
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
