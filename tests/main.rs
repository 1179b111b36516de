//! Tests that open a device, under the validation layer.
//!
//! The device is the one `VKARRAY_DEVICE` names, or the best there is; what a device lacks is checked to be refused with
//! a typed error, or left out as `skips.txt` allows. `VKARRAY_TEST_PROGRAMS` sets how many random programs
//! `hazards.rs` runs. `watchdog.rs` is for what might hang, `several_queues.rs` and `noncoherent.rs` run part of it all
//! on a device that looks otherwise. Start at `fixture.rs`; then a file or folder a crate: `driver`, `allocator`,
//! `kernel`, `ndarray`.

#[cfg(test)]
mod allocator;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod driver;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hazards;
#[cfg(test)]
mod kernel;
#[cfg(test)]
mod kernels;
#[cfg(test)]
mod layered;
#[cfg(test)]
mod ndarray;
#[cfg(test)]
mod noncoherent;
#[cfg(test)]
mod peek;
#[cfg(test)]
mod raised;
#[cfg(test)]
mod several_queues;
#[cfg(test)]
mod watchdog;
