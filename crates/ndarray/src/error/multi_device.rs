//! [`MultiDeviceError`]: why an array of several contexts cannot be made or used.

use vkarray_kernel::tuple_text;

/// Why a [`MultiDeviceArray`](crate::MultiDeviceArray) cannot be made or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum MultiDeviceError {
    /// An array of no contexts.
    #[error("an array of several contexts needs one at least")]
    NoContext,
    /// Two contexts of one opened device, on which the array has one replica.
    #[error("two contexts are of the same opened device, {device}: an array has one replica on each device")]
    SameDevice { device: String },
    /// A context or stream of a device that has no replica.
    #[error("{device} is not one of the devices of the array as they were opened: {}", members.join(", "))]
    NotAMember { device: String, members: Vec<String> },
    /// An access that conflicts with an access in progress.
    #[error("cannot {wanted} on {device} while an access to {held} on {held_on} is in progress: end that access first")]
    Conflict { wanted: AccessMode, device: String, held: AccessMode, held_on: String },
    /// An access that reads elements that were never written.
    #[error("the array of shape {} has no elements to read: nothing was written to it", tuple_text(shape))]
    NeverWritten { shape: Vec<usize> },
}

/// What is done with an array's elements during an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessMode {
    /// They are read.
    Read,
    /// All elements are written, and none is read before that, so none is copied.
    Write,
    /// They are read, and some or all are written.
    ReadWrite,
}

impl AccessMode {
    pub(crate) fn reads(self) -> bool {
        self != Self::Write
    }

    pub(crate) fn writes(self) -> bool {
        self != Self::Read
    }
}

vkarray_driver::display_texts!(AccessMode { Read: "read", Write: "write", ReadWrite: "read and write" });
