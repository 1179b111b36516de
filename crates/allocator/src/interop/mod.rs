//! Exchange with other libraries: DLPack tensors over blocks, and the points that foreign work waits for.
//!
//! Element types and layouts are the array crate's; here are bytes, handles and points. Read `dlpack.rs` first.

#[cfg(feature = "dlpack")]
mod dlpack;
mod exchange;

#[cfg(feature = "dlpack")]
pub use dlpack::{HostTensor, Tensor, TensorError, TensorShape, tensor_of_bytes};
