//! Arrays that leave the program or enter it: files, other libraries, serde.
//!
//! This folder is above all others: each file adds methods to [`Context`](crate::Context) and
//! [`DeviceNDArray`](crate::DeviceNDArray), and no file of another folder uses it. The files do not use each other,
//! except that `dlpack.rs`, `ipc.rs` and `memory.rs` use `interface.rs`. Copies between host arrays and device arrays
//! are in `array/transfer.rs`. Read `npy.rs` for files, `interface.rs` for arrays of other libraries.

#[cfg(feature = "dlpack")]
mod dlpack;
mod interface;
#[cfg(target_os = "linux")]
mod ipc;
mod memory;
#[cfg(feature = "npy")]
mod npy;
#[cfg(feature = "serde")]
mod serialize;

pub use interface::{AsDeviceArray, DeviceArrayInterface, MemoryHandle, ReadyPoint};
#[cfg(target_os = "linux")]
pub use ipc::{IpcArrayHandle, IpcOptions};
pub use memory::ArrayMemory;
#[cfg(feature = "serde")]
pub use serialize::ArraySeed;
