//! Dropping the objects that batches kept alive. Such a drop runs code of the program, so it must not happen under a
//! lock of this library.
//!
//! A lane postpones the drops to a [`DeferDrops`] that ends after the lane's lock is released. A thread that holds
//! another lock while it records begins a `DeferDrops` of its own first. The lists keep their memory, so steady work
//! allocates none.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;

use super::panics::contain_panic;
use crate::lock::assert_none_held;

/// An object that must live until the batch that uses it is complete.
pub type KeepAlive = Arc<dyn Any + Send + Sync>;

/// The postponed drops of one thread.
#[derive(Default)]
struct PostponedDrops {
    n_scopes: usize,
    kept: Vec<KeepAlive>,
}

thread_local! {
    static POSTPONED: RefCell<PostponedDrops> = RefCell::default();
}

/// A scope that postpones drops. Objects that batches kept alive and that this thread would drop are dropped at the end
/// of the scope. Begin the scope before a lock is taken, so that it ends after the lock is released.
///
/// ```
/// use std::sync::Mutex;
/// use vkarray_driver::DeferDrops;
///
/// let lock = Mutex::new(0);
/// let _defer = DeferDrops::begin();
/// let mut guard = lock.lock().unwrap();
/// *guard += 1; // Streams used here drop nothing of the program under `lock`.
/// # assert_eq!(*guard, 1);
/// ```
#[derive(Debug)]
#[must_use = "drops are postponed only while this lives"]
pub struct DeferDrops {
    /// Objects of a thread that is ending and so has no list any more.
    unlisted: Vec<KeepAlive>,
    _of_this_thread: PhantomData<*const ()>,
}

impl DeferDrops {
    /// Begins the scope. Scopes nest: the outermost drops everything.
    pub fn begin() -> Self {
        Self::postpone(&mut Vec::new())
    }

    /// Begins a scope that drops the objects in `kept` too. `kept` is then empty and keeps its memory.
    pub(crate) fn postpone(kept: &mut Vec<KeepAlive>) -> Self {
        let listed = POSTPONED.try_with(|postponed| {
            let mut postponed = postponed.borrow_mut();
            postponed.n_scopes += 1;
            postponed.kept.append(kept);
        });
        let unlisted = if listed.is_ok() { Vec::new() } else { mem::take(kept) };
        Self { unlisted, _of_this_thread: PhantomData }
    }
}

impl Drop for DeferDrops {
    fn drop(&mut self) {
        let kept = POSTPONED.try_with(|postponed| {
            let mut postponed = postponed.borrow_mut();
            postponed.n_scopes -= 1;
            if postponed.n_scopes == 0 { mem::take(&mut postponed.kept) } else { Vec::new() }
        });
        let mut kept = kept.unwrap_or_else(|_| mem::take(&mut self.unlisted));
        if kept.is_empty() {
            return;
        }
        assert_none_held("the drop of what a batch kept");
        for object in kept.drain(..) {
            contain_panic("the drop of what a batch kept", || drop(object));
        }
        // The list's memory is kept for the next scope.
        let _ = POSTPONED.try_with(|postponed| {
            let mut postponed = postponed.borrow_mut();
            if postponed.kept.capacity() == 0 {
                postponed.kept = kept;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Counts its drops. Its drop also drops the value inside.
    struct Counted(Arc<AtomicU32>, Option<Box<Counted>>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            if let Some(inner) = self.1.take() {
                let _scope = DeferDrops::begin();
                drop(DeferDrops::postpone(&mut vec![Arc::new(*inner)]));
            }
        }
    }

    #[test]
    fn a_destructor_that_panics_keeps_no_other_from_running() {
        struct Panics(Arc<AtomicU32>);
        impl Drop for Panics {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
                panic!("on purpose");
            }
        }
        let count = Arc::new(AtomicU32::new(0));
        let mut kept: Vec<KeepAlive> = (0..3).map(|_| Arc::new(Panics(Arc::clone(&count))) as _).collect();
        drop(DeferDrops::postpone(&mut kept));
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn the_outermost_scope_drops_everything() {
        let count = Arc::new(AtomicU32::new(0));
        let drop_counted = |inner| {
            let mut kept: Vec<KeepAlive> = vec![Arc::new(Counted(Arc::clone(&count), inner))];
            drop(DeferDrops::postpone(&mut kept));
            assert!(kept.is_empty() && kept.capacity() > 0, "the list keeps its memory");
        };
        let dropped = || count.load(Ordering::Relaxed);
        drop_counted(None);
        assert_eq!(dropped(), 1, "without a scope, at once");
        let outer = DeferDrops::begin();
        let inner = DeferDrops::begin();
        drop_counted(None);
        drop(inner);
        drop_counted(Some(Box::new(Counted(Arc::clone(&count), None))));
        assert_eq!(dropped(), 1, "not before the outer scope ends");
        drop(outer);
        assert_eq!(dropped(), 4, "with what was dropped meanwhile");
        drop_counted(None);
        assert_eq!(dropped(), 5, "the scope is over");
    }
}
