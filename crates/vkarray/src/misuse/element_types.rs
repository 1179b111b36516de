//! Element types that match their declaration and types that do not, as documentation tests. A mistake is found when
//! arrays of the type are compiled, which `tests/compile_fail.rs` does not do.
//!
//! Good:
//!
//! ```no_run
//! use vkarray::prelude::*;
//! use vkarray::{DType, Element};
//!
//! #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
//! #[repr(C)]
//! struct Pixel([u8; 3]);
//!
//! impl Element for Pixel {
//!     const DTYPE: DType = DType::record::<Self>();
//! }
//! let ctx = Context::open_default().unwrap();
//! ctx.pinned_array::<Pixel>([5]).unwrap();
//! ctx.register(&mut [Pixel([0; 3])], |_| ()).unwrap();
//! ```
//!
//! An array of elements that are shorter than their `DTYPE`:
//!
//! ```compile_fail,E0080
//! use vkarray::prelude::*;
//! use vkarray::{DType, Element};
//!
//! #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
//! #[repr(C)]
//! struct Pixel([u8; 3]);
//!
//! impl Element for Pixel {
//!     const DTYPE: DType = DType::F64;
//! }
//! let ctx = Context::open_default().unwrap();
//! ctx.pinned_array::<Pixel>([5]).unwrap();
//! ```
//!
//! A view as elements without bytes:
//!
//! ```compile_fail,E0080
//! use vkarray::prelude::*;
//! use vkarray::{DType, Element};
//!
//! #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
//! #[repr(C)]
//! struct Pixel([u8; 0]);
//!
//! impl Element for Pixel {
//!     const DTYPE: DType = DType::Record(0);
//! }
//! let ctx = Context::open_default().unwrap();
//! ctx.zeros::<u8>([5]).unwrap().view::<Pixel>().unwrap();
//! ```
//!
//! A slice of elements without bytes:
//!
//! ```compile_fail,E0080
//! use vkarray::prelude::*;
//! use vkarray::{DType, Element};
//!
//! #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
//! #[repr(C)]
//! struct Pixel([u8; 0]);
//!
//! impl Element for Pixel {
//!     const DTYPE: DType = DType::Record(0);
//! }
//! let ctx = Context::open_default().unwrap();
//! ctx.register(&mut [Pixel([])], |_| ()).unwrap();
//! ```
