//! vkarray and wgpu on one device, one after the other in the same run, with the same definitions.
//!
//! `ours.rs` runs `vkarray bench`, which holds our side of each measurement; `peer.rs` opens wgpu on the same device.
//! Each program in `bin/` asks one question and measures wgpu's side; `report.rs` lays the two beside each other.

mod ours;
mod peer;
mod report;

pub use self::ours::ours;
pub use self::peer::{Peer, timed};
pub use self::report::{Figure, Report};
