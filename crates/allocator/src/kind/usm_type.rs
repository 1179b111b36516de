//! [`UsmType`]: which side addresses a memory object.

use super::MemoryKind;

/// The kind of a memory object: which side addresses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsmType {
    /// Memory that only the device addresses.
    Device,
    /// Host memory that the device addresses too.
    Host,
    /// Device memory that the host addresses too. Nothing migrates.
    Shared,
}

impl UsmType {
    pub(crate) fn memory_kind(self) -> MemoryKind {
        match self {
            Self::Device => MemoryKind::Device,
            Self::Host => MemoryKind::Pinned,
            Self::Shared => MemoryKind::Shared,
        }
    }
}

vkarray_driver::display_texts!(UsmType { Device: "device", Host: "host", Shared: "shared" });
