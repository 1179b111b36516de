//! [`MemoryDescription`]: what an importer has to know of exported memory. The memory itself is in `exported.rs`.

use serde::{Deserialize, Serialize};

/// Exported memory in plain data: the values that an importer compares before it imports. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDescription {
    /// The UUID of the exporter's device.
    pub device_uuid: String,
    /// The UUID of the exporter's driver.
    pub driver_uuid: String,
    /// The size of the block.
    pub size: u64,
    /// The size of the allocation, which is at least the size of the block.
    pub allocation_size: u64,
    /// The index of the allocation's memory type.
    pub memory_type: u32,
}
