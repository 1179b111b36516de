//! The binary `faults`: tests in which Vulkan calls fail.
//!
//! It is a separate binary, because the table of functions that makes calls fail exists once per process; its tests run
//! one at a time. Run it with `cargo test -p vkarray-tests --test faults FILTER`. It needs a device and the validation
//! layer.
//!
//! | file | content |
//! |---|---|
//! | `table.rs` | the table: it counts calls, makes the n-th call fail, and counts objects; read this first |
//! | `scenario.rs`, `every_call.rs` | a program that uses the whole library, run once for each failure of each of its
//! calls |
//! | `lost.rs` | lost devices |
//! | `refused.rs`, `callbacks.rs` | submissions and waits that fail |
//! | `panics.rs` | code of the program that panics on the waiting thread |
//! | `memory.rs` | allocations that fail, and each step of the fallback |
//! | `managers.rs` | the conformance checks of memory managers with failing calls |

#[cfg(test)]
mod callbacks;
#[cfg(test)]
mod every_call;
#[cfg(test)]
#[path = "../fixture/host_semaphore.rs"]
mod host_semaphore;
#[cfg(test)]
#[expect(dead_code, reason = "shared with the binary `device`, which uses the rest")]
#[path = "../fixture/kernels.rs"]
mod kernels;
#[cfg(test)]
mod lost;
#[cfg(test)]
mod managers;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod panics;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod scenario;
#[cfg(test)]
mod table;
#[cfg(test)]
#[path = "../fixture/watchdog.rs"]
mod watchdog;
