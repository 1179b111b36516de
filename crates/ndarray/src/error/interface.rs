//! [`InterfaceError`]: why the description of an array of another library is refused.

use vkarray_kernel::DType;
use vkarray_layout::LayoutError;

/// Why a description is refused. Offsets and sizes are bytes.
///
/// ```
/// use vkarray::interop::{AsDeviceArray, InterfaceError};
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let described = ctx.zeros::<f32>(3)?.device_array_interface()?;
/// let refused = described.layout(DType::I32, 12).unwrap_err();
/// assert!(matches!(refused, InterfaceError::DType { .. }));
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum InterfaceError {
    /// Another version of the description.
    #[error("the description has version {given}, only version {supported} is supported")]
    Version { given: u32, supported: u32 },
    /// Elements of another type than asked for.
    #[error("the array's elements are `{typestr}`, not {wanted}")]
    DType { typestr: String, wanted: DType },
    /// The description names memory of another device, or memory other than the object's.
    #[error("the description names buffer {named:#x} of device {device}, which is not the memory of the object")]
    OtherMemory { named: u64, device: String },
    /// The memory belongs to a device that was opened separately.
    #[error("the array is on {array} and the context on {context}: they were opened separately")]
    ForeignDevice { array: String, context: String },
    /// An offset or a stride that is not a multiple of the element size.
    #[error("an offset or stride of {bytes} bytes is not a multiple of the element size of {itemsize} bytes")]
    Misaligned { bytes: i128, itemsize: u32 },
    /// Elements outside the memory.
    #[error("the array's elements end at byte {end}, but its memory has {size} bytes")]
    OutOfBounds { end: u64, size: u64 },
    /// Elements of a type that DLPack cannot describe.
    #[error("DLPack cannot describe elements of {dtype}")]
    NoTensor { dtype: DType },
    /// A shape, strides or an offset that no layout can have.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}
