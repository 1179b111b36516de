//! The binary `device`: tests that open a device, under the validation layer.
//!
//! Run it with `cargo xtask test`, or a part of it with `VKARRAY_VALIDATION=1 cargo test -p vkarray-tests --test device
//! FILTER`. It needs a Vulkan loader, a driver and the Khronos validation layer. `VKARRAY_DEVICE` chooses the device;
//! otherwise it is the best one. If a device lacks a feature, a test checks that its use is refused with a typed error,
//! or is skipped as `skips.txt` allows.
//!
//! Read `fixture.rs` first. Each crate has a folder, and a file of the same name that says what is in it: `driver`,
//! `allocator`, `kernel`, `ndarray`, `primitives`. `checks.rs` runs what `vkarray check` runs. `hazards` runs random
//! programs over several streams; `VKARRAY_TEST_PROGRAMS` sets their number. `several_queues.rs` and `noncoherent.rs` run
//! part of the tests again on a device with other properties.
//!
//! Two other binaries have tests that need a process of their own: `faults/main.rs` makes Vulkan calls fail, and `fork.rs`
//! forks. The crate in `loom/` runs every interleaving of two small parts of the driver.

#[cfg(test)]
mod allocator;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod driver;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hazards;
#[cfg(test)]
mod kernel;
#[cfg(test)]
mod ndarray;
#[cfg(test)]
mod noncoherent;
#[cfg(test)]
mod primitives;
#[cfg(test)]
mod several_queues;
