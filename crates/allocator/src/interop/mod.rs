//! Exchange with other libraries and processes: DLPack tensors over blocks, the points that foreign work waits for, and
//! handles of memory over Unix sockets (`ipc.rs`), and host memory that devices of several processes reach (`named.rs`).
//!
//! Element types and layouts are in the array crate; this folder has bytes, handles and points. Read `dlpack.rs` first.

#[cfg(feature = "dlpack")]
mod dlpack;
mod exchange;
#[cfg(target_os = "linux")]
mod ipc;
#[cfg(target_os = "linux")]
mod named;

#[cfg(feature = "dlpack")]
pub use dlpack::{HostTensor, Tensor, TensorShape, tensor_of_bytes};
