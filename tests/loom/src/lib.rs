//! Models of code that vkarray's threads share, under [loom](https://docs.rs/loom), which runs every interleaving of them.
//!
//! The code is the driver crate's: its folder `hazard` and three more of its files are compiled here with loom's locks.
//! The models of the three files are in `models.rs`. The models of lanes are in `tests/lanes.rs`, since the folder has
//! tests of its own, which are not for loom. If a wake-up is lost, all threads of a model wait, which loom reports as a
//! deadlock. No device is needed; run it with `cargo test -p vkarray-loom`.

#[cfg(not(test))]
#[expect(dead_code, reason = "the models do not record barriers")]
#[path = "../../../crates/driver/src/hazard/mod.rs"]
pub mod hazard;

#[cfg(test)]
#[expect(dead_code, reason = "the models do not pause and do not read the state from outside")]
#[path = "../../../crates/driver/src/tracker/signal.rs"]
mod signal;

#[cfg(test)]
#[path = "../../../crates/driver/src/tracker/gate.rs"]
mod gate;

#[cfg(test)]
#[path = "../../../crates/driver/src/stream/late.rs"]
mod late;

mod lock;

#[cfg(test)]
mod models;
