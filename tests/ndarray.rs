//! Tests of the ndarray crate on a device. The results are compared with results of the `ndarray` crate on the host.
//!
//! | file | behaviour |
//! |---|---|
//! | `dtypes.rs`, `creation.rs`, `printing.rs` | arrays of every dtype, ranges, printing; read the first one first |
//! | `views.rs`, `more_views.rs`, `view_methods.rs`, `ranks.rs` | views, whose shapes and strides the crate's unit tests check |
//! | `copies.rs`, `assignment.rs`, `assigned_views.rs`, `channels.rs`, `large.rs`, `pending.rs` | copies between arrays and to the host |
//! | `contexts.rs`, `multi_device.rs` | copies between contexts, arrays of several contexts |
//! | `conversions.rs` | `astype` |
//! | `interchange.rs`, `memory_arrays.rs` | files, DLPack, foreign arrays; memory objects as arrays, arrays over blocks |
//! | `streams.rs` | arrays with a stream of their own |
//! | `ipc.rs` | arrays that two processes share |
//! | `lifetimes.rs`, `refusals.rs` | shared memory of clones and views, refused calls |
//! | `peer_defects.rs` | defects of numba's device arrays |

mod assigned_views;
mod assignment;
mod channels;
mod contexts;
mod conversions;
mod copies;
mod creation;
mod dtypes;
mod interchange;
#[cfg(target_os = "linux")]
mod ipc;
mod large;
mod lifetimes;
mod memory_arrays;
mod more_views;
mod multi_device;
mod peer_defects;
mod pending;
mod printing;
mod ranks;
mod streams;
mod view_methods;
mod views;

use ::ndarray::{ArrayD, IxDyn};

/// A host array that counts up, so that each element shows its origin.
fn counted(shape: &[usize]) -> ArrayD<i32> {
    let n = shape.iter().product::<usize>();
    ArrayD::from_shape_vec(IxDyn(shape), (0..).take(n).collect()).unwrap()
}
