//! The ndarray crate on a device: every dtype and order there and back, views, copies into views, lifetimes.
//!
//! The oracle is the `ndarray` crate on the host. That views have the right shapes and strides is tested without a
//! device, in the crate itself; here they are read and written.

mod assigned_views;
mod assignment;
mod channels;
mod conversions;
mod copies;
mod creation;
mod dtypes;
mod interchange;
mod large;
mod lifetimes;
mod more_views;
mod peer_defects;
mod pending;
mod printing;
mod ranks;
mod refusals;
mod view_methods;
mod views;

use ::ndarray::{ArrayD, IxDyn};

/// A host array that counts up, so that each element shows where it came from.
fn counted(shape: &[usize]) -> ArrayD<i32> {
    let n = shape.iter().product::<usize>();
    ArrayD::from_shape_vec(IxDyn(shape), (0..).take(n).collect()).unwrap()
}
