//! Good and bad uses of [`kernel!`](crate::kernel!), as documentation tests: each bad use differs from the good one in
//! one place. The messages of the macro are tested in its own crate.
//!
//! Good:
//!
//! ```no_run
//! use vkarray::prelude::*;
//! vkarray::kernel! {
//!     struct Saxpy {
//!         wgsl: "@group(0) @binding(0) var<storage, read> x: array<f32>;
//!                @group(0) @binding(1) var<storage, read_write> y: array<f32>;
//!                var<immediate> a: f32;
//!                override N: u32 = 64;
//!                @compute @workgroup_size(N) fn main(@builtin(global_invocation_id) i: vec3<u32>) { y[i.x] += a * x[i.x]; }",
//!     }
//! }
//! fn run(ctx: &Context, x: &DeviceNDArray<f32>, y: &DeviceNDArray<f32>) -> Result<(), vkarray::kernel::Error> {
//!     Saxpy::builder(ctx).n(32).build()?.dispatch(ctx.default_stream(), Groups::covering([100]), x, y, 2.0)
//! }
//! # fn main() {}
//! ```
//!
//! An array of another type:
//!
//! ```compile_fail,E0308
//! use vkarray::prelude::*;
//! vkarray::kernel! {
//!     struct Saxpy {
//!         wgsl: "@group(0) @binding(0) var<storage, read> x: array<f32>;
//!                @group(0) @binding(1) var<storage, read_write> y: array<f32>;
//!                var<immediate> a: f32;
//!                override N: u32 = 64;
//!                @compute @workgroup_size(N) fn main(@builtin(global_invocation_id) i: vec3<u32>) { y[i.x] += a * x[i.x]; }",
//!     }
//! }
//! fn run(ctx: &Context, x: &DeviceNDArray<u32>, y: &DeviceNDArray<f32>) -> Result<(), vkarray::kernel::Error> {
//!     Saxpy::builder(ctx).n(32).build()?.dispatch(ctx.default_stream(), Groups::covering([100]), x, y, 2.0)
//! }
//! # fn main() {}
//! ```
//!
//! A call with an argument too few:
//!
//! ```compile_fail,E0061
//! use vkarray::prelude::*;
//! vkarray::kernel! {
//!     struct Saxpy {
//!         wgsl: "@group(0) @binding(0) var<storage, read> x: array<f32>;
//!                @group(0) @binding(1) var<storage, read_write> y: array<f32>;
//!                var<immediate> a: f32;
//!                override N: u32 = 64;
//!                @compute @workgroup_size(N) fn main(@builtin(global_invocation_id) i: vec3<u32>) { y[i.x] += a * x[i.x]; }",
//!     }
//! }
//! fn run(ctx: &Context, x: &DeviceNDArray<f32>, y: &DeviceNDArray<f32>) -> Result<(), vkarray::kernel::Error> {
//!     Saxpy::builder(ctx).n(32).build()?.dispatch(ctx.default_stream(), Groups::covering([100]), x, y)
//! }
//! # fn main() {}
//! ```
//!
//! A constant that the shader does not have:
//!
//! ```compile_fail,E0599
//! use vkarray::prelude::*;
//! vkarray::kernel! {
//!     struct Saxpy {
//!         wgsl: "@group(0) @binding(0) var<storage, read> x: array<f32>;
//!                @group(0) @binding(1) var<storage, read_write> y: array<f32>;
//!                var<immediate> a: f32;
//!                override N: u32 = 64;
//!                @compute @workgroup_size(N) fn main(@builtin(global_invocation_id) i: vec3<u32>) { y[i.x] += a * x[i.x]; }",
//!     }
//! }
//! fn run(ctx: &Context, x: &DeviceNDArray<f32>, y: &DeviceNDArray<f32>) -> Result<(), vkarray::kernel::Error> {
//!     Saxpy::builder(ctx).m(32).build()?.dispatch(ctx.default_stream(), Groups::covering([100]), x, y, 2.0)
//! }
//! # fn main() {}
//! ```
//!
//! A struct with the layout of the shader's struct:
//!
//! ```no_run
//! #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
//! #[repr(C)]
//! struct Body { mass: f32, id: u32 }
//! impl vkarray::Element for Body { const DTYPE: vkarray::DType = vkarray::DType::record::<Self>(); }
//! vkarray::kernel! {
//!     struct Weigh {
//!         wgsl: "struct Body { mass: f32, id: u32 }
//!                @group(0) @binding(0) var<storage, read_write> bodies: array<Body>;
//!                @compute @workgroup_size(1) fn main() { bodies[0].mass = 1.0; }",
//!         structs: { Body: Body },
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! A struct whose fields are in the reverse order:
//!
//! ```compile_fail,E0080
//! #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
//! #[repr(C)]
//! struct Body { id: u32, mass: f32 }
//! impl vkarray::Element for Body { const DTYPE: vkarray::DType = vkarray::DType::record::<Self>(); }
//! vkarray::kernel! {
//!     struct Weigh {
//!         wgsl: "struct Body { mass: f32, id: u32 }
//!                @group(0) @binding(0) var<storage, read_write> bodies: array<Body>;
//!                @compute @workgroup_size(1) fn main() { bodies[0].mass = 1.0; }",
//!         structs: { Body: Body },
//!     }
//! }
//! # fn main() {}
//! ```
