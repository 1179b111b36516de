//! Tests of the driver crate on a device.
//!
//! | file | behaviour |
//! |---|---|
//! | `streams.rs`, `events.rs` | order of work within and between streams, waits, timestamps; read these first |
//! | `stream_kinds.rs` | legacy and per-thread default streams, external queues and semaphores, waits for several events |
//! | `graphs.rs` | recording, replay and changes of graphs |
//! | `exits.rs` | ends of the process while callbacks run; `VKARRAY_TEST_EXITS` sets their number |
//! | `lifetimes.rs`, `locks.rs` | dropping objects in use, code of the program that runs while the library works |
//! | `threads.rs`, `stress.rs` | use from many threads |
//! | `devices.rs`, `limits.rs`, `adoption.rs` | several devices; limits of smaller devices; devices that the program created with raw Vulkan |
//! | `traces.rs` | the trace file |
//! | `numba_streams.rs` | numba's tests of streams, ported |

mod adoption;
mod devices;
mod events;
mod exits;
mod graphs;
mod lifetimes;
mod limits;
mod locks;
mod numba_streams;
mod stream_kinds;
mod streams;
mod stress;
mod threads;
mod traces;
