//! The driver crate on a device: streams, events, devices, threads, and every order of dropping them.

mod devices;
mod events;
mod graphs;
mod lifetimes;
mod streams;
mod threads;
