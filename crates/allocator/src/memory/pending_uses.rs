//! [`PendingUses`]: the work that may still use memory, in one word.
//!
//! Pointers and ranges are moved several times during an allocation and a free, and mostly have no such work. The list
//! is therefore on the heap. It is allocated at the first use of a range and reused afterwards.

use std::mem;
use std::ops::Deref;

use vkarray_driver::hazard::{LastUse, LastUses};

/// Last uses, in a list on the heap.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingUses(Option<Box<LastUses>>);

impl PendingUses {
    /// Replaces the uses.
    pub(crate) fn set(&mut self, uses: LastUses) {
        match &mut self.0 {
            Some(held) => **held = uses,
            None if uses.is_empty() => {}
            None => self.0 = Some(Box::new(uses)),
        }
    }

    /// Removes the uses; the list stays allocated.
    pub(crate) fn take(&mut self) -> LastUses {
        self.0.as_deref_mut().map(mem::take).unwrap_or_default()
    }

    /// Calls `change` with the list, if there is one.
    pub(crate) fn change<R>(&mut self, change: impl FnOnce(&mut LastUses) -> R) -> Option<R> {
        self.0.as_deref_mut().map(change)
    }
}

impl From<LastUses> for PendingUses {
    fn from(uses: LastUses) -> Self {
        let mut pending = Self::default();
        pending.set(uses);
        pending
    }
}

impl Deref for PendingUses {
    type Target = [LastUse];

    #[inline]
    fn deref(&self) -> &[LastUse] {
        self.0.as_deref().map_or(&[], LastUses::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use vkarray_driver::hazard::{Access, HazardTable, Operation, Order, Stage};

    use super::*;

    /// One use.
    fn used() -> LastUses {
        let mut table = HazardTable::new();
        let (lane, block) = (table.add_lane(0), table.add_block());
        let access = [Access::write(block, 0..4, Stage::Transfer)];
        assert_eq!(table.order(lane, 1, Operation::Once(&access)), Order::Ready(None));
        table.retire_block(block)
    }

    #[test]
    fn what_is_set_is_there_until_it_is_taken() {
        let mut pending = PendingUses::default();
        pending.set(LastUses::new());
        assert!(pending.is_empty() && pending.0.is_none(), "no list without uses");
        let uses = used();
        pending.set(uses.clone());
        assert_eq!(pending.len(), 1);
        assert_eq!(*pending, *uses);
        let list: *const LastUses = pending.0.as_deref().unwrap();
        assert_eq!(pending.take(), uses);
        assert!(pending.is_empty());
        pending.set(uses);
        assert!(std::ptr::eq(list, pending.0.as_deref().unwrap()), "the list is reused");
        assert_eq!(pending.change(mem::take).map(|taken| taken.len()), Some(1));
        assert!(pending.is_empty() && PendingUses::from(LastUses::new()).change(|_| ()).is_none());
    }
}
