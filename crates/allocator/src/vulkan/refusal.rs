//! Why the driver refused memory, as far as it can be told from what gpu-allocator hands on.
//!
//! It keeps one code and turns the others into text, in the forms that `ash` prints. Reading the code back out of that
//! text is ugly; it is tested against the sub-allocator itself in `tests/faults/`.

use ash::vk;
use gpu_allocator::AllocationError;

use crate::oom::Shortage;

/// The codes by which a driver says that there is too little of something.
const CODES: [(vk::Result, Shortage); 4] = [
    (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, Shortage::DeviceMemory),
    (vk::Result::ERROR_OUT_OF_HOST_MEMORY, Shortage::HostMemory),
    (vk::Result::ERROR_TOO_MANY_OBJECTS, Shortage::Objects),
    (vk::Result::ERROR_MEMORY_MAP_FAILED, Shortage::HostAddresses),
];

impl Shortage {
    /// The same, of an allocation of `bytes` bytes by a driver that promises none above `limit`. Many give more than they
    /// promise, so it is asked all the same; where it refuses, the limit is what the caller can act on.
    pub(crate) fn beyond(self, bytes: u64, limit: u64) -> Self {
        match self {
            Self::DeviceMemory | Self::HostMemory if bytes > limit => Self::AllocationSize(limit),
            other => other,
        }
    }

    /// What this code says there is too little of; nothing if it says something else.
    pub(crate) fn of_code(code: vk::Result) -> Option<Self> {
        CODES.iter().find(|(known, _)| *known == code).map(|(_, shortage)| *shortage)
    }

    /// What this refusal says there is too little of; nothing if it says something else.
    pub(crate) fn of_refusal(error: &AllocationError) -> Option<Self> {
        let says = |means: &dyn Fn(vk::Result) -> bool| {
            CODES.iter().find(|(code, _)| means(*code)).map(|(_, shortage)| *shortage)
        };
        match error {
            AllocationError::OutOfMemory => Some(Self::DeviceMemory),
            AllocationError::Internal(text) => says(&|code| text.ends_with(&format!(": {code:?}"))),
            AllocationError::FailedToMap(text) => says(&|code| *text == code.to_string()),
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
        // What the driver says, bytes, what is told with a limit of 100.
        let cases = [
            (S::DeviceMemory, 101, S::AllocationSize(100)),
            (S::HostMemory, 101, S::AllocationSize(100)),
            (S::DeviceMemory, 100, S::DeviceMemory),
            (S::Objects, 101, S::Objects), // Smaller ones would be refused too.
            (S::HostAddresses, 101, S::HostAddresses),
        ];
        for (said, bytes, told) in cases {
            assert_eq!(said.beyond(bytes, 100), told, "{said:?} for {bytes} bytes");
        }
    }

    #[test]
    fn what_is_no_shortage_is_not_taken_for_one() {
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
