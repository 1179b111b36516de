//! The driver crate on a device: streams, events, devices, threads, and every order of dropping them.

mod adoption;
mod devices;
mod events;
mod graphs;
mod lifetimes;
mod locks;
mod numba_streams;
mod stream_kinds;
mod streams;
mod stress;
mod threads;
mod traces;
