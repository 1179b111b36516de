//! [`MultiDeviceError`]: why an array of several contexts cannot be made or used.

use vkarray_kernel::tuple_text;

use super::AccessMode;

/// Why a [`MultiDeviceArray`](super::MultiDeviceArray) cannot be made or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MultiDeviceError {
    /// An array of no contexts.
    #[error("an array of several contexts needs one at least")]
    NoContext,
    /// Two contexts of one opened device, which needs one replica.
    #[error("two contexts are of the same opened device, {device}: an array has one replica on each device")]
    SameDevice {
        /// The device's name.
        device: String,
    },
    /// A context or stream of a device that has no replica.
    #[error("{device} is not one of the devices of the array as they were opened: {}", members.join(", "))]
    NotAMember {
        /// The name of the device.
        device: String,
        /// The devices of the array.
        members: Vec<String>,
    },
    /// An access that conflicts with one in progress.
    #[error("cannot {wanted} on {device} while an access to {held} on {held_on} is in progress: end that access first")]
    Conflict {
        /// What the access was to do.
        wanted: AccessMode,
        /// Where.
        device: String,
        /// What the access in progress does.
        held: AccessMode,
        /// Where.
        held_on: String,
    },
    /// A read before anything was written.
    #[error("the array of shape {} has no elements to read: nothing was written to it", tuple_text(shape))]
    NeverWritten {
        /// Its shape.
        shape: Vec<usize>,
    },
}
