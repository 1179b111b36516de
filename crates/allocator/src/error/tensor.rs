//! [`TensorError`]: why a tensor of DLPack is refused.

/// Why a tensor cannot be exported or imported.
#[derive(thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum TensorError {
    /// Memory that the host cannot address.
    #[error("the tensor is on a device of DLPack's type {device_type}, not in host memory")]
    NotOnHost { device_type: u32 },
    /// A read-only tensor, where a tensor is needed that nothing else uses.
    #[error("the tensor is read-only, so other code may read it")]
    ReadOnly,
    /// A tensor whose fields contradict each other.
    #[error("the tensor is damaged: {reason}")]
    Damaged { reason: dlpark::tensor::Error },
    /// Elements with several lanes, or not of whole bytes.
    #[error("{lanes} lanes of {bits} bits are not an element type")]
    Element { bits: u8, lanes: u16 },
    /// Elements outside the memory, or that cannot be addressed.
    #[error("elements at bytes {start} to {end} do not lie in memory of {size} bytes")]
    OutOfBounds { start: i128, end: i128, size: u64 },
    /// More axes than a tensor can have, or another number of strides.
    #[error("a tensor cannot have {ndim} axes and {n_strides} strides")]
    Rank { ndim: usize, n_strides: usize },
}

vkarray_driver::debug_as_display!(TensorError);
