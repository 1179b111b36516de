//! A lane's locked state, and what happens when the lock is released.
//!
//! Dropping the objects that completed batches kept alive runs code of the program. That code may use this stream, or
//! drop another stream, which waits for the device's waiting thread. So the objects are dropped after the lock is
//! released.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::batch::Batch;
use super::{Lane, LaneState};
use crate::error::Result;
use crate::lock::MutexGuard;
use crate::sync::DeferDrops;

/// A lane's locked state.
pub(super) struct LockedLane<'a> {
    state: ManuallyDrop<MutexGuard<'a, LaneState>>,
}

impl<'a> LockedLane<'a> {
    #[inline]
    pub(super) fn new(state: MutexGuard<'a, LaneState>) -> Self {
        Self { state: ManuallyDrop::new(state) }
    }
}

impl Deref for LockedLane<'_> {
    type Target = LaneState;

    #[inline]
    fn deref(&self) -> &LaneState {
        &self.state
    }
}

impl DerefMut for LockedLane<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut LaneState {
        &mut self.state
    }
}

impl Drop for LockedLane<'_> {
    #[inline]
    fn drop(&mut self) {
        let postponed = (!self.state.released.is_empty()).then(|| DeferDrops::postpone(&mut self.state.released));
        // SAFETY: the state is dropped here and never touched again.
        unsafe { ManuallyDrop::drop(&mut self.state) };
        drop(postponed);
    }
}

/// An operation that is being recorded. The operation ends even when its recording panics, since the batch may hold
/// part of it.
pub(super) struct OpenOperation<'a> {
    pub(super) lane: &'a Lane,
    pub(super) state: Option<LockedLane<'a>>,
}

impl OpenOperation<'_> {
    #[inline]
    pub(super) fn batch(&mut self) -> &mut Batch {
        self.state.as_mut().expect("taken only when the operation ends").open_batch()
    }

    #[inline]
    pub(super) fn end(mut self) -> Result<()> {
        self.state.take().map_or(Ok(()), |state| self.lane.end_operation(state))
    }

    #[cold]
    fn end_after_panic(&mut self) {
        let Some(state) = self.state.take() else { return };
        if let Err(error) = self.lane.end_operation(state) {
            log::debug!("the batch of a recording that panicked is not submitted: {error}");
        }
    }
}

impl Drop for OpenOperation<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.state.is_some() {
            self.end_after_panic();
        }
    }
}
