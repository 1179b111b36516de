//! The state of a memory object, to be stored and restored: its kind, its device, its bytes.

use serde::{Deserialize, Serialize};

use super::{MemoryContext, UsmKind, UsmMemory, UsmType};
use crate::error::{Error, Result};

/// The contents of a memory object, independent of any device.
///
/// ```
/// use vkarray_allocator::{Allocator, DeviceMemory, MemoryState};
/// use vkarray_driver::Stream;
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let context = (Allocator::new(&device)?, Stream::new(&device)?);
/// let memory = DeviceMemory::new(&context, 4)?;
/// memory.copy_from_host(&[1, 2, 3, 4])?;
/// let text = serde_json::to_string(&memory.state()?)?;
/// let state: MemoryState = serde_json::from_str(&text)?;
/// let restored: DeviceMemory = state.restore(&context)?;
/// assert_eq!(restored.copy_to_host()?, [1, 2, 3, 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryState {
    /// The kind of the memory.
    pub usm_type: UsmType,
    /// The requested alignment; 0 for none.
    pub alignment: u64,
    /// The UUID of the device that the memory was on, as in [`DeviceInfo`](vkarray_driver::DeviceInfo).
    pub device_uuid: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl<K: UsmKind> UsmMemory<K> {
    /// The state, from which the same memory can be made again, here or in another process. Blocks until the bytes are
    /// copied.
    ///
    /// # Errors
    ///
    /// The errors of [`UsmMemory::copy_to_host`].
    pub fn state(&self) -> Result<MemoryState> {
        let device_uuid = self.stream.device().info().uuid.clone();
        Ok(MemoryState { usm_type: K::TYPE, alignment: self.alignment, device_uuid, bytes: self.copy_to_host()? })
    }
}

impl MemoryState {
    /// Allocates memory of the stored kind and copies the stored bytes to it.
    ///
    /// # Errors
    ///
    /// [`Error::OtherUsmType`] for the state of another kind; and the errors of allocating and copying.
    pub fn restore<K: UsmKind>(&self, context: &impl MemoryContext) -> Result<UsmMemory<K>> {
        if self.usm_type != K::TYPE {
            return Err(Error::OtherUsmType { held: self.usm_type, wanted: K::TYPE });
        }
        let memory = UsmMemory::aligned(context, self.bytes.len() as u64, self.alignment)?;
        memory.copy_from_host(&self.bytes)?;
        Ok(memory)
    }
}
