//! Dropping what batches kept alive. That is code of the program, so it runs under none of our locks.
//!
//! A lane drops it after its own lock was given back. A thread that holds another lock while it records says so with
//! [`DropLater`].

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::lock::assert_none_held;

/// Something that must live until the batch is done.
pub type Kept = Arc<dyn Any + Send + Sync>;

/// What batches that are done kept alive, to be dropped without a lock. A batch of steady work keeps one pipeline or one
/// graph, which needs no allocation here.
pub(crate) type KeptList = SmallVec<[Kept; 4]>;

#[derive(Default)]
struct Later {
    n_scopes: usize,
    kept: Vec<Kept>,
}

thread_local! {
    static LATER: RefCell<Later> = RefCell::default();
}

/// A scope: while it lives, what batches kept alive is not dropped on this thread, but at the end of the scope. Made before
/// a lock is taken.
#[derive(Debug)]
#[must_use = "it counts until it is dropped"]
pub struct DropLater {
    _of_this_thread: PhantomData<*const ()>,
}

impl DropLater {
    /// Begins the scope. Scopes nest: the outermost drops everything.
    pub fn begin() -> Self {
        let _ = LATER.try_with(|later| later.borrow_mut().n_scopes += 1);
        Self { _of_this_thread: PhantomData }
    }
}

impl Drop for DropLater {
    fn drop(&mut self) {
        // A thread that is ending has no scopes: everything is dropped at once.
        let kept = LATER.try_with(|later| {
            let mut later = later.borrow_mut();
            later.n_scopes -= 1;
            if later.n_scopes == 0 { mem::take(&mut later.kept) } else { Vec::new() }
        });
        let mut kept = kept.unwrap_or_default();
        if kept.is_empty() {
            return;
        }
        assert_none_held("the drop of what a batch kept");
        kept.clear();
        // The list's memory is kept for the next time.
        let _ = LATER.try_with(|later| {
            let mut later = later.borrow_mut();
            if later.kept.capacity() == 0 {
                later.kept = kept;
            }
        });
    }
}

/// Drops all of it, now or at the end of this thread's scope.
pub(crate) fn drop_kept(kept: &mut KeptList) {
    let moved = LATER.try_with(|later| {
        let mut later = later.borrow_mut();
        let is_later = later.n_scopes > 0;
        if is_later {
            later.kept.extend(kept.drain(..));
        }
        is_later
    });
    if !kept.is_empty() && !moved.unwrap_or(false) {
        assert_none_held("the drop of what a batch kept");
        kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use smallvec::smallvec;

    use super::*;

    /// Counts its drops, and drops more while it is dropped.
    struct Counted(Arc<AtomicU32>, Option<Box<Counted>>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            if let Some(inner) = self.1.take() {
                let _scope = DropLater::begin();
                drop_kept(&mut smallvec![Arc::new(*inner) as Kept]);
            }
        }
    }

    #[test]
    fn the_outermost_scope_drops_everything() {
        let count = Arc::new(AtomicU32::new(0));
        let kept = |inner| -> KeptList { smallvec![Arc::new(Counted(Arc::clone(&count), inner)) as Kept] };
        let dropped = || count.load(Ordering::Relaxed);
        drop_kept(&mut kept(None));
        assert_eq!(dropped(), 1, "without a scope, at once");
        let outer = DropLater::begin();
        let inner = DropLater::begin();
        drop_kept(&mut kept(None));
        drop(inner);
        drop_kept(&mut kept(Some(Box::new(Counted(Arc::clone(&count), None)))));
        assert_eq!(dropped(), 1, "not before the outer scope ends");
        drop(outer);
        assert_eq!(dropped(), 4, "with what was dropped meanwhile");
        drop_kept(&mut kept(None));
        assert_eq!(dropped(), 5, "the scope is over");
    }
}
