//! [`Strided`]: an array as an argument of kernels that ask for its strides.

use vkarray_kernel::{Arg, ArrayArg, ArrayShape, AsArg, Element};

use super::DeviceNDArray;

/// An array of any strides as an argument of a kernel: a view with gaps, in Fortran order, reversed or repeated. Nothing is
/// copied.
///
/// The shader asks for the strides of its buffer `x` by push constants named `x_first` and `x_strides`, and may ask for
/// `x_shape`; or by a struct named `x_layout` with the fields `first`, `shape` and `strides`. Each is an integer of 32 or 64
/// bits, or a vector or array of as many of them as the array has axes, and all count elements: element (i, j) of `x` is
/// `x[x_first + i * x_strides.x + j * x_strides.y]`. Strides may be negative, so they should be signed. The call gives no
/// numbers for these push constants. An array without axes has no strides to ask for: reshape it to one element.
///
/// The buffer may hold more elements than the array has, before the first one and between them, so `arrayLength` is not
/// the array's length, and a place out of the array's range may belong to another element of the buffer. A kernel does
/// not write a view whose elements share memory. A kernel also does not take two views of which it writes one, if one
/// view begins before the other ends, even if they have no element in common.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let row_sums = ctx
///     .kernel(Source::wgsl(
///         "struct Layout { first: u32, shape: vec2<u32>, strides: vec2<i32> }
///          struct Params { x_layout: Layout, scale: f32 }
///          var<immediate> p: Params;
///          @group(0) @binding(0) var<storage, read> x: array<f32>;
///          @group(0) @binding(1) var<storage, read_write> sums: array<f32>;
///          @compute @workgroup_size(64) fn row_sums(@builtin(global_invocation_id) id: vec3<u32>) {
///              let of_x = p.x_layout;
///              if id.x >= of_x.shape.x { return; }
///              for (var j = 0u; j < of_x.shape.y; j++) {
///                  let at = i32(of_x.first) + i32(id.x) * of_x.strides.x + i32(j) * of_x.strides.y;
///                  sums[id.x] += p.scale * x[at];
///              }
///          }",
///     ))
///     .build()?;
/// let x = ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([2, 3])?;
/// let sums = ctx.zeros::<f32>(3)?;
/// row_sums.launch(Groups::covering(3), (Strided(&x.t()), &sums, 10.0_f32))?;
/// assert_eq!(sums.to_vec()?, [30.0, 50.0, 70.0]);
///
/// let reversed = x.slice(s![..;-1, ..;-2])?;
/// sums.fill(0.0)?;
/// row_sums.launch(Groups::covering(2), (Strided(&reversed), &sums, 1.0_f32))?;
/// assert_eq!(sums.to_vec()?, [8.0, 2.0, 0.0]);
/// # anyhow::Ok(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a, T: Element>(pub &'a DeviceNDArray<T>);

impl<T: Element> AsArg for Strided<'_, T> {
    fn as_arg(&self) -> Arg<'_> {
        self.0.strided_arg()
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// The array as an argument with its strides.
    #[doc(hidden)]
    pub fn strided_arg(&self) -> Arg<'_> {
        let layout = self.layout();
        let bytes = layout.byte_extent(size_of::<T>());
        let shape = ArrayShape {
            label: self.label(),
            offset: bytes.start,
            is_contiguous: false,
            strides: Some(layout.strides()),
            is_writable: self.is_writable(),
            ..ArrayShape::new(self.dtype(), layout.shape(), bytes.end - bytes.start)
        };
        Arg::Array(ArrayArg::new(self.block(), shape))
    }
}
