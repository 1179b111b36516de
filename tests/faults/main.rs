//! Tests of what happens when a call fails: any call, in any way, at any time.
//!
//! A binary of its own, because the function table that makes calls fail is one for the process. `table.rs` holds the
//! table, `scenario.rs` a program that uses everything; `every_call.rs` fails each of its calls in turn, `lost.rs`,
//! `refused.rs`, `callbacks.rs` and `memory.rs` look closer at lost devices, at submissions and waits that are refused,
//! and at memory that is;
//! `managers.rs` lets memory managers be judged while their calls fail.

#[cfg(test)]
mod callbacks;
#[cfg(test)]
mod every_call;
#[cfg(test)]
#[expect(dead_code, reason = "shared with the other tests, which use what is not used here")]
#[path = "../kernels.rs"]
mod kernels;
#[cfg(test)]
mod lost;
#[cfg(test)]
mod managers;
#[cfg(test)]
mod memory;
#[cfg(test)]
#[path = "../raised.rs"]
mod raised;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod scenario;
#[cfg(test)]
mod table;
#[cfg(test)]
#[path = "../watchdog.rs"]
mod watchdog;
