//! The work that may still use memory, as memory carries it: one word.
//!
//! Pointers and ranges are moved several times on the way of a block out and back, and mostly carry none; so the list is
//! elsewhere. Its place goes on with the memory when it is empty again, and is made once for each range.

use std::mem;
use std::ops::Deref;

use vkarray_driver::hazard::{LastUse, LastUses};

/// Last uses, kept elsewhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingUses(Option<Box<LastUses>>);

impl PendingUses {
    /// Replaces what was carried.
    pub(crate) fn set(&mut self, uses: LastUses) {
        match &mut self.0 {
            Some(held) => **held = uses,
            None if uses.is_empty() => {}
            None => self.0 = Some(Box::new(uses)),
        }
    }

    /// Takes them out of their place.
    pub(crate) fn take(&mut self) -> LastUses {
        self.0.as_deref_mut().map(mem::take).unwrap_or_default()
    }

    /// Lets `change` take some away.
    pub(crate) fn change<R>(&mut self, change: impl FnOnce(&mut LastUses) -> R) -> Option<R> {
        self.0.as_deref_mut().map(change)
    }
}

impl From<LastUses> for PendingUses {
    fn from(uses: LastUses) -> Self {
        let mut carried = Self::default();
        carried.set(uses);
        carried
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

    /// Some use.
    fn used() -> LastUses {
        let mut table = HazardTable::new();
        let (lane, block) = (table.add_lane(0), table.add_block());
        let access = [Access::write(block, 0..4, Stage::Transfer)];
        assert_eq!(table.order(lane, 1, Operation::Once(&access)), Order::Ready(None));
        table.retire_block(block)
    }

    #[test]
    fn what_is_set_is_there_until_it_is_taken() {
        let mut carried = PendingUses::default();
        carried.set(LastUses::new());
        assert!(carried.is_empty() && carried.0.is_none(), "none need no place");
        let uses = used();
        carried.set(uses.clone());
        assert_eq!(carried.len(), 1);
        assert_eq!(*carried, *uses);
        let place: *const LastUses = carried.0.as_deref().unwrap();
        assert_eq!(carried.take(), uses);
        assert!(carried.is_empty());
        carried.set(uses);
        assert!(std::ptr::eq(place, carried.0.as_deref().unwrap()), "the place stays");
        assert_eq!(carried.change(mem::take).map(|taken| taken.len()), Some(1));
        assert!(carried.is_empty() && PendingUses::from(LastUses::new()).change(|_| ()).is_none());
    }
}
