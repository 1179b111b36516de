//! [`Coherence`]: which devices have the current elements of an array, and which accesses are in progress. Pure.
//!
//! The states are the states of the MSI protocol of caches. Any number of reads may be in progress at once, or one
//! access that writes. This is the rule of `RwLock`, but a conflicting access is refused instead of waiting, since two
//! accesses that conflict have no defined order.

#[cfg(test)]
mod tests;

use crate::error::AccessMode;

/// What a device has of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplicaState {
    /// The device has no elements, or elements that were written elsewhere since.
    Invalid,
    /// The device has the current elements, which at least one other device also has or had.
    Valid,
    /// The device has the current elements, and no other device has them.
    Modified,
}

/// Why an access is refused. A refused access changes no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// An access in this mode is in progress on this device.
    Conflict { device: usize, mode: AccessMode },
    /// The elements were never written, so there is nothing to read.
    NeverWritten,
}

/// The states of an array's replicas, one for each device, and the accesses in progress.
#[derive(Debug, Clone)]
pub(super) struct Coherence {
    states: Vec<ReplicaState>,
    /// The accesses in progress: one that writes, or any number of reads.
    accesses: Vec<(usize, AccessMode)>,
}

impl Coherence {
    /// No device has elements.
    pub(super) fn new(n_devices: usize) -> Self {
        Self { states: vec![ReplicaState::Invalid; n_devices], accesses: Vec::new() }
    }

    pub(super) fn state(&self, device: usize) -> ReplicaState {
        self.states[device]
    }

    /// The devices that have the current elements.
    pub(super) fn holders(&self) -> impl Iterator<Item = usize> {
        (0..self.states.len()).filter(|&device| self.states[device] != ReplicaState::Invalid)
    }

    /// Begins an access. Returns the devices from one of which the elements must be copied before [`Coherence::ready`];
    /// no devices if `device` needs no copy.
    pub(super) fn begin(&mut self, device: usize, mode: AccessMode) -> Result<Vec<usize>, Refusal> {
        let conflict = self.accesses.iter().find(|(_, other)| mode.writes() || other.writes());
        if let Some(&(device, mode)) = conflict {
            return Err(Refusal::Conflict { device, mode });
        }
        let needs_copy = mode.reads() && self.states[device] == ReplicaState::Invalid;
        let holders: Vec<usize> = if needs_copy { self.holders().collect() } else { Vec::new() };
        if needs_copy && holders.is_empty() {
            return Err(Refusal::NeverWritten);
        }
        self.accesses.push((device, mode));
        Ok(holders)
    }

    /// Notes that the device has what the access needs. From now on, the elements that the access writes are the
    /// current ones.
    pub(super) fn ready(&mut self, device: usize, mode: AccessMode) {
        use ReplicaState::{Invalid, Modified, Valid};
        if mode.writes() {
            self.states.fill(Invalid);
            self.states[device] = Modified;
        } else if self.states[device] == Invalid {
            self.states.iter_mut().filter(|state| **state == Modified).for_each(|state| *state = Valid);
            self.states[device] = Valid;
        }
    }

    /// Ends an access, also an access that was never ready.
    pub(super) fn end(&mut self, device: usize, mode: AccessMode) {
        if let Some(position) = self.accesses.iter().position(|access| *access == (device, mode)) {
            self.accesses.swap_remove(position);
        }
    }

    /// Gives up a device's elements, unless no other device has them. Returns whether the elements are given up.
    pub(super) fn release(&mut self, device: usize) -> bool {
        let is_only = self.states[device] != ReplicaState::Invalid && self.holders().count() == 1;
        if !is_only {
            self.states[device] = ReplicaState::Invalid;
        }
        !is_only
    }
}

/// The holder with the largest bandwidth; of equal bandwidths, the first holder. `None` without holders.
pub(super) fn fastest(holders: &[(usize, f64)]) -> Option<usize> {
    let faster = |best: (usize, f64), next: &(usize, f64)| if next.1 > best.1 { *next } else { best };
    let (first, others) = holders.split_first()?;
    Some(others.iter().fold(*first, faster).0)
}
