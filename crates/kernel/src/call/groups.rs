//! How many workgroups a launch has: [`Groups`], resolved to the three numbers of `vkCmdDispatch`.
//!
//! Pure arithmetic in 64 bits. `limits.rs` of `vkarray-spirv` checks that one workgroup fits the device. A launch that is
//! too long for one axis is folded (`translate/fold.rs` there); a number of workgroups that only the device has is
//! read by `dispatch/indirect.rs`.

use std::fmt;

use vkarray_shader::Limits;
use vkarray_shader::internal::AXES;

use crate::call::args::AsArg;
use crate::error::{Error, Result};

/// Invocations on one axis that `global_invocation_id`, a `u32`, can number.
const MAX_INVOCATIONS: u64 = 1 << 32;

/// The number of workgroups of a launch.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Groups, Limits};
///
/// // 1000 items in workgroups of 64 take 16 workgroups.
/// let groups = Groups::covering(1000);
/// assert_eq!(groups.resolve([64, 1, 1], &Limits::MINIMUM)?, Some([16, 1, 1]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Groups<'a>(pub(crate) Extent<&'a (dyn AsArg + Sync)>);

/// See [`Groups`]. An `A` is an array of numbers of workgroups.
#[derive(Clone, Copy)]
pub(crate) enum Extent<A> {
    /// Invocations on each axis, to be divided by the workgroup's size.
    Items([u64; 3]),
    Workgroups([u64; 3]),
    /// Workgroups, as an array on the device says.
    Indirect(Indirect<A>),
    /// Items on so many axes, which are too many.
    TooManyAxes(usize),
}

/// The number of items on one to three axes, x first: what [`Groups::covering`] takes.
///
/// Made of a number, of an array of one to three numbers, or of a slice such as an array's shape. The numbers are of any
/// usual type; a negative one stands for no items, as in a range. A slice without axes is one item.
///
/// ```
/// use vkarray_kernel::Items;
///
/// assert_eq!(Items::from(640), Items::from([640, 1]));
/// assert_eq!(Items::from(&[640, 480][..]), Items::from([640, 480]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items(std::result::Result<[u64; 3], usize>); // The number of axes, if those are too many.

/// One number, an array or a slice of numbers of this type.
macro_rules! items_from {
    ($($integer:ty)*) => { $(
        impl From<$integer> for Items {
            #[inline]
            fn from(items: $integer) -> Self {
                Self(Ok([u64::try_from(items).unwrap_or(0), 1, 1]))
            }
        }

        impl<const N: usize> From<[$integer; N]> for Items {
            #[inline]
            fn from(items: [$integer; N]) -> Self {
                const { assert!(N >= 1 && N <= 3, "a launch has one to three axes") };
                Self::from(&items[..])
            }
        }

        impl From<&[$integer]> for Items {
            #[inline]
            fn from(items: &[$integer]) -> Self {
                if items.len() > 3 {
                    return Self(Err(items.len()));
                }
                let mut counts = [1; 3];
                for (count, &items) in counts.iter_mut().zip(items) {
                    *count = u64::try_from(items).unwrap_or(0);
                }
                Self(Ok(counts))
            }
        }
    )* };
}

items_from!(usize isize u32 i32 u64);

/// Where an array says how many workgroups to launch.
#[derive(Clone, Copy)]
pub(crate) struct Indirect<A> {
    pub(crate) array: A,
    /// The element with the number for x.
    pub(crate) first: u64,
    /// Whether the caller promised that the numbers are within the device's limits.
    pub(crate) is_trusted: bool,
}

impl<A> Extent<A> {
    /// This extent with another form of the array.
    pub(crate) fn map<'s, B>(&'s self, form: impl FnOnce(&'s A) -> Result<B>) -> Result<Extent<B>> {
        Ok(match *self {
            Self::Items(items) => Extent::Items(items),
            Self::Workgroups(counts) => Extent::Workgroups(counts),
            Self::TooManyAxes(n_axes) => Extent::TooManyAxes(n_axes),
            Self::Indirect(Indirect { ref array, first, is_trusted }) => {
                Extent::Indirect(Indirect { array: form(array)?, first, is_trusted })
            }
        })
    }
}

impl<'a> Groups<'a> {
    /// These numbers of workgroups along the axes, whatever the size of a workgroup.
    ///
    /// ```
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Limits};
    ///
    /// assert_eq!(Groups::exact([2, 3, 1]).resolve([64, 1, 1], &Limits::MINIMUM)?, Some([2, 3, 1]));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn exact(counts: [u32; 3]) -> Self {
        Self(Extent::Workgroups([counts[0] as u64, counts[1] as u64, counts[2] as u64]))
    }

    /// Enough workgroups to give each item one invocation: `covering(n)`, `covering([columns, rows])`,
    /// `covering(array.shape())`. The first number is x.
    ///
    /// The last workgroup of an axis may reach past the items, so the kernel compares its index with their number. The shape
    /// of a two-dimensional array is rows, then columns: `covering(array.shape())` makes x the row. More than three axes are
    /// an error of the dispatch ([`Error::LaunchAxes`]).
    ///
    /// A launch along x that is longer than the device allows is folded over the other axes, and the kernel sees the
    /// numbers of a launch along x; see [`Kernel::dispatch`](crate::Kernel::dispatch). No launch has more than 2^32
    /// invocations on an axis, since shaders number them in 32 bits; more items are dispatched in parts.
    ///
    /// ```
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Limits};
    ///
    /// let groups = Groups::covering([1000, 3]);
    /// assert_eq!(groups.resolve([256, 1, 1], &Limits::MINIMUM)?, Some([4, 3, 1]));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn covering(items: impl Into<Items>) -> Self {
        let Items(items) = items.into();
        Self(items.map_or_else(Extent::TooManyAxes, Extent::Items))
    }

    /// As many workgroups on x, y and z as three numbers of an array of `u32` say, starting at element `first`, when the
    /// device comes to the launch: another kernel may write them, and the host does not wait for them.
    ///
    /// A number above what the device allows (`maxComputeWorkGroupCount`) would be undefined behaviour, so a kernel of one
    /// invocation checks the numbers first. If one is too large, or stands for more than 2^32 invocations,
    /// **nothing is launched**: the device cannot report it, and a part of the work would be worse than none. A kernel
    /// built with [`sanitize`](crate::KernelBuilder::sanitize) waits for the numbers and returns [`Error::GroupCount`] or
    /// [`Error::InvocationCount`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let count = ctx.kernel(Source::wgsl(
    ///     "@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
    ///      @compute @workgroup_size(1) fn count() { atomicAdd(&n[0], 1u); }",
    /// ))
    /// .build()?;
    /// let (n, counts) = (ctx.zeros::<u32>(1)?, ctx.to_device(&[5_u32, 2, 1])?);
    /// count.launch(Groups::indirect(&counts, 0), (&n,))?;
    /// assert_eq!(n.to_vec()?, [10]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn indirect(array: &'a (dyn AsArg + Sync), first: u64) -> Self {
        Self(Extent::Indirect(Indirect { array, first, is_trusted: false }))
    }

    /// As [`Groups::indirect`], without the check of the numbers: one dispatch and one barrier less.
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

    /// The number of workgroups on each axis, or `None` when an axis is empty and there is nothing to launch.
    ///
    /// A workgroup size of zero does not occur in a valid shader and counts as one.
    ///
    /// # Errors
    ///
    /// [`Error::GroupCount`] when an axis needs more than the device allows, also where a dispatch would fold the launch;
    /// [`Error::InvocationCount`] when an axis has more than 2^32 invocations; [`Error::LaunchAxes`] for more than three
    /// axes; [`Error::CountsOnDevice`] for [`Groups::indirect`].
    ///
    /// ```
    /// use vkarray_kernel::{Error, Groups, Limits};
    ///
    /// assert_eq!(Groups::covering(0).resolve([64, 1, 1], &Limits::MINIMUM).unwrap(), None);
    /// let error = Groups::exact([1, 70_000, 1]).resolve([64, 1, 1], &Limits::MINIMUM).unwrap_err();
    /// assert!(matches!(error, Error::GroupCount { axis: 'y', wanted: 70_000, limit: 65_535, .. }));
    /// ```
    pub fn resolve(&self, workgroup_size: [u32; 3], limits: &Limits) -> Result<Option<[u32; 3]>> {
        match self.counts(workgroup_size, limits) {
            GroupCount::Counts(counts) => Ok(Some(counts)),
            GroupCount::Empty => Ok(None),
            refused => Err(refused.refusal(workgroup_size)),
        }
    }

    /// As [`Groups::resolve`], but makes no error: the fast check of a dispatch needs none.
    #[inline(always)]
    pub(crate) fn counts(&self, workgroup_size: [u32; 3], limits: &Limits) -> GroupCount<'a> {
        let (counts, is_items) = match self.0 {
            Extent::Items(items) => (items, true),
            Extent::Workgroups(counts) => (counts, false),
            Extent::Indirect(indirect) => return GroupCount::OnDevice(indirect),
            Extent::TooManyAxes(n_axes) => return GroupCount::TooManyAxes(n_axes),
        };
        if counts.contains(&0) {
            return GroupCount::Empty;
        }
        let mut groups = [1; 3];
        for axis in 0..3 {
            let items = counts[axis];
            let wanted = if is_items { divided(items, workgroup_size[axis]) } else { items };
            let limit = limits.max_workgroup_count[axis];
            if wanted > u64::from(limit) {
                let is_along_x = counts[1..] == [1, 1];
                return GroupCount::TooMany(TooManyGroups { axis, wanted, limit, is_along_x });
            }
            groups[axis] = u32::try_from(wanted).unwrap_or(limit); // It is at most the limit.
            if !has_32_bit_ids(groups[axis], workgroup_size[axis]) {
                return GroupCount::TooManyInvocations(axis, groups[axis]);
            }
        }
        GroupCount::Counts(groups)
    }
}

/// Whether 32 bits number the invocations of so many workgroups of that size, on one axis.
#[inline]
pub(crate) fn has_32_bit_ids(workgroups: u32, size: u32) -> bool {
    u64::from(workgroups) * u64::from(size) <= MAX_INVOCATIONS
}

/// The error of workgroups on an axis whose invocations 32 bits do not number.
#[cold]
pub(crate) fn too_many_invocations(axis: usize, workgroups: u32, size: [u32; 3]) -> Error {
    Error::InvocationCount { axis: AXES[axis], workgroups, size: size[axis] }
}

/// The most workgroups of that size on each axis that a device launches and 32 bits number.
pub(crate) fn most_workgroups(size: [u32; 3], limits: &Limits) -> [u32; 3] {
    std::array::from_fn(|axis| {
        let most = MAX_INVOCATIONS / u64::from(size[axis].max(1));
        u32::try_from(most).unwrap_or(u32::MAX).min(limits.max_workgroup_count[axis])
    })
}

/// Items by the size of a workgroup, rounded up. In 32 bits where they suffice, since a division in 64 bits takes longer.
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
            Extent::Indirect(indirect) => {
                let array = indirect.array.as_arg().shape().to_string();
                write!(f, "Groups::indirect({array:?}, {})", indirect.first)
            }
            Extent::TooManyAxes(n_axes) => write!(f, "Groups::covering({n_axes} axes)"),
        }
    }
}

/// The number of workgroups, or why there is none.
#[derive(Clone, Copy)]
pub(crate) enum GroupCount<'a> {
    Counts([u32; 3]),
    /// An axis has no workgroup.
    Empty,
    TooMany(TooManyGroups),
    /// More invocations than 32 bits number: the axis, and its workgroups.
    TooManyInvocations(usize, u32),
    TooManyAxes(usize),
    OnDevice(Indirect<&'a (dyn AsArg + Sync)>),
}

/// More workgroups on an axis than the device allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooManyGroups {
    pub(crate) axis: usize,
    pub(crate) wanted: u64,
    pub(crate) limit: u32,
    /// Whether the launch has one workgroup on the other axes, whatever their size.
    pub(crate) is_along_x: bool,
}

impl TooManyGroups {
    /// The error of a launch that is not folded; `advice` says why.
    pub(crate) fn error(self, advice: &'static str) -> Error {
        let Self { axis, wanted, limit, .. } = self;
        Error::GroupCount { axis: AXES[axis], wanted, limit, advice }
    }
}

impl GroupCount<'_> {
    /// The error of workgroups that cannot be launched as they are.
    #[cold]
    pub(crate) fn refusal(self, workgroup_size: [u32; 3]) -> Error {
        match self {
            Self::TooMany(too_many) => too_many.error(""),
            Self::TooManyInvocations(axis, n) => too_many_invocations(axis, n, workgroup_size),
            Self::TooManyAxes(n_axes) => Error::LaunchAxes { n_axes },
            Self::OnDevice(_) => Error::CountsOnDevice,
            Self::Counts(_) | Self::Empty => unreachable!("these are launched, or launch nothing"),
        }
    }
}

#[cfg(test)]
mod tests;
