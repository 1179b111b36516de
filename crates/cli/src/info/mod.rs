//! Commands that open no device: `vkarray devices`, `inspect`, `cache`, `completions` and `man`. Only `cache clear` changes
//! anything.

mod cache;
mod devices;
mod inspect;
mod pages;

pub(crate) use cache::cache;
pub(crate) use devices::{faults, list};
pub(crate) use inspect::inspect;
pub(crate) use pages::{completions, man};
