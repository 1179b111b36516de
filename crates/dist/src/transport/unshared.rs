//! Systems on which ranks share no memory.

use std::sync::Arc;

use vkarray::Context;
use vkarray::memory::{Block, Result};

use super::{Link, Transport, TransportError};

/// Memory that another rank has too: none.
#[derive(Debug)]
pub(super) enum Unshared {}

pub(super) use self::Unshared as Shared;

impl Unshared {
    pub(super) fn link(&self) -> Link {
        match *self {}
    }

    pub(super) fn open(&self, _: &Context) -> Result<Arc<Block>> {
        match *self {}
    }
}

/// The memory that this rank shares with others: none.
pub(super) fn share(
    _: &Context,
    _: &dyn Transport,
    _: &[usize],
    _: impl Fn(usize) -> u64,
) -> std::result::Result<Vec<(usize, (Unshared, Arc<Block>))>, TransportError> {
    Ok(Vec::new())
}
