//! Classifies errors of the driver and of gpu-allocator: whether memory ran out, and of what.
//!
//! gpu-allocator keeps one error code and turns the others into text, in the form that `ash` prints. The code is read back
//! from that text; `tests/faults/` tests this against gpu-allocator itself.

use ash::vk;
use gpu_allocator::AllocationError;

use crate::error::Shortage;

/// The error codes that mean a shortage.
const CODES: [(vk::Result, Shortage); 4] = [
    (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, Shortage::DeviceMemory),
    (vk::Result::ERROR_OUT_OF_HOST_MEMORY, Shortage::HostMemory),
    (vk::Result::ERROR_TOO_MANY_OBJECTS, Shortage::Objects),
    (vk::Result::ERROR_MEMORY_MAP_FAILED, Shortage::HostAddresses),
];

impl Shortage {
    /// The shortage of an allocation of `bytes` bytes, where the driver promises no allocation above `limit`. Many
    /// drivers give more than they promise, so they are asked anyway; if a driver refuses, the limit is the likely
    /// reason.
    pub(crate) fn beyond(self, bytes: u64, limit: u64) -> Self {
        match self {
            Self::DeviceMemory | Self::HostMemory if bytes > limit => Self::AllocationSize(limit),
            other => other,
        }
    }

    /// The shortage that a code means; `None` for other codes.
    pub(crate) fn of_code(code: vk::Result) -> Option<Self> {
        CODES.iter().find(|(known, _)| *known == code).map(|(_, shortage)| *shortage)
    }

    /// The shortage that an error means; `None` for other errors.
    pub(crate) fn of_refusal(error: &AllocationError) -> Option<Self> {
        let shortage_where = |means: &dyn Fn(vk::Result) -> bool| {
            CODES.iter().find(|(code, _)| means(*code)).map(|(_, shortage)| *shortage)
        };
        match error {
            AllocationError::OutOfMemory => Some(Self::DeviceMemory),
            AllocationError::Internal(text) => shortage_where(&|code| text.ends_with(&format!(": {code:?}"))),
            AllocationError::FailedToMap(text) => shortage_where(&|code| *text == code.to_string()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_read_back_from_each_text() {
        for (code, shortage) in CODES {
            assert_eq!(Shortage::of_code(code), Some(shortage));
            let allocate = AllocationError::Internal(format!("Unexpected error in vkAllocateMemory: {code:?}"));
            let map = AllocationError::FailedToMap(code.to_string());
            assert_eq!(Shortage::of_refusal(&allocate), Some(shortage), "{allocate}");
            assert_eq!(Shortage::of_refusal(&map), Some(shortage), "{map}");
        }
    }

    #[test]
    fn a_refusal_beyond_the_limit_names_it() {
        use Shortage as S;
        // The shortage, the bytes, and the shortage that is reported with a limit of 100.
        let cases = [
            (S::DeviceMemory, 101, S::AllocationSize(100)),
            (S::HostMemory, 101, S::AllocationSize(100)),
            (S::DeviceMemory, 100, S::DeviceMemory),
            (S::Objects, 101, S::Objects), // Smaller allocations would fail too.
            (S::HostAddresses, 101, S::HostAddresses),
        ];
        for (reported, bytes, expected) in cases {
            assert_eq!(reported.beyond(bytes, 100), expected, "{reported:?} for {bytes} bytes");
        }
    }

    #[test]
    fn other_errors_are_no_shortage() {
        let lost = vk::Result::ERROR_DEVICE_LOST;
        assert_eq!(Shortage::of_code(lost), None);
        for error in [
            AllocationError::Internal(format!("Unexpected error in vkAllocateMemory: {lost:?}")),
            AllocationError::Internal("Memory block must be Some".to_owned()),
            AllocationError::FailedToMap(lost.to_string()),
            AllocationError::InvalidAllocationCreateDesc,
        ] {
            assert_eq!(Shortage::of_refusal(&error), None, "{error}");
        }
    }
}
