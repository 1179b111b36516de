//! The state of a memory object, to be written down and made again: its kind, its device, its bytes.

use serde::{Deserialize, Serialize};

use super::range::MemoryRange;
use super::{DeviceMemory, HostMemory, MemoryContext, SharedMemory, UsmType};
use crate::error::{Error, Result};

/// What a memory object holds, apart from any device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryState {
    /// The kind.
    pub usm_type: UsmType,
    /// The alignment that was asked for; 0 for none.
    pub alignment: u64,
    /// The device it lay on, as [`DeviceInfo`](vkarray_driver::DeviceInfo) names it: whoever loads it can find that one.
    pub device_uuid: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

macro_rules! restore {
    ($($restore:ident, $name:ident, $usm:ident;)*) => {$(
        /// Makes the memory again.
        ///
        /// # Errors
        ///
        /// [`Error::OtherUsmType`] for the state of another kind; those of allocating and copying.
        pub fn $restore(&self, context: &impl MemoryContext) -> Result<$name> {
            let (held, wanted) = (self.usm_type, UsmType::$usm);
            if held != wanted {
                return Err(Error::OtherUsmType { held, wanted });
            }
            let memory = $name::builder(self.bytes.len() as u64).alignment(self.alignment).allocate(context)?;
            memory.copy_from_host(&self.bytes)?;
            Ok(memory)
        }
    )*};
}

impl MemoryState {
    pub(super) fn of(range: &MemoryRange, usm_type: UsmType) -> Result<Self> {
        let device_uuid = range.stream().device().info().uuid.clone();
        Ok(Self { usm_type, alignment: range.alignment(), device_uuid, bytes: range.to_bytes()? })
    }

    restore! {
        restore_device, DeviceMemory, Device;
        restore_host, HostMemory, Host;
        restore_shared, SharedMemory, Shared;
    }
}
