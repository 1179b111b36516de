//! A lane's lock, and what is done when it is given back.
//!
//! What batches that are done kept alive is code of the program when it is dropped: it may use this stream, or drop
//! another, which waits for the device's waiting thread. So it is dropped after the lock was given back.

use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};

use super::batch::Batch;
use super::{Lane, LaneState, opened};
use crate::error::Result;
use crate::lock::MutexGuard;
use crate::sync::drop_kept_alive;

/// A lane's state, locked.
pub(super) struct Locked<'a> {
    state: ManuallyDrop<MutexGuard<'a, LaneState>>,
}

impl<'a> Locked<'a> {
    #[inline]
    pub(super) fn new(state: MutexGuard<'a, LaneState>) -> Self {
        Self { state: ManuallyDrop::new(state) }
    }
}

impl Deref for Locked<'_> {
    type Target = LaneState;

    #[inline]
    fn deref(&self) -> &LaneState {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut LaneState {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        let released = (!self.state.released.is_empty()).then(|| mem::take(&mut self.state.released));
        // SAFETY: dropped here and never touched again.
        unsafe { ManuallyDrop::drop(&mut self.state) };
        if let Some(mut released) = released {
            drop_kept_alive(&mut released);
        }
    }
}

/// An operation that is being recorded. It is ended also when its recording panics: the batch may hold part of it.
pub(super) struct OpenOperation<'a> {
    lane: &'a Lane,
    state: Option<Locked<'a>>,
}

impl<'a> OpenOperation<'a> {
    #[inline]
    pub(super) fn new(lane: &'a Lane, state: Locked<'a>) -> Self {
        Self { lane, state: Some(state) }
    }

    #[inline]
    pub(super) fn batch(&mut self) -> &mut Batch {
        opened(self.state.as_mut().expect("taken only at its end"))
    }

    #[inline]
    pub(super) fn end(mut self) -> Result<()> {
        self.state.take().map_or(Ok(()), |state| self.lane.end_operation(state))
    }
}

impl Drop for OpenOperation<'_> {
    fn drop(&mut self) {
        let Some(state) = self.state.take() else { return };
        if let Err(error) = self.lane.end_operation(state) {
            log::debug!("the batch of a recording that panicked is not sent: {error}");
        }
    }
}

impl fmt::Debug for LaneState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneState").field("open", &self.open).field("newest", &self.newest).finish_non_exhaustive()
    }
}
