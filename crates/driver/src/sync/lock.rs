//! Mutexes with ranks. A thread takes them only in the order of [`Rank`], so threads cannot deadlock.
//!
//! The table of ranks is the order of all locks of the workspace, outermost first. Builds with `debug_assertions` panic
//! when a lock is taken out of order, and when code of the program is called under a lock. Other builds have no ranks
//! and no checks. A poisoned lock is taken anyway: where a panic is possible under a lock, a comment says why the data
//! stays consistent.
//!
//! ```
//! use vkarray_driver::lock::{Mutex, Rank};
//!
//! let (event, lane) = (Mutex::new(Rank::Event, 1), Mutex::new(Rank::Lane, 2));
//! let outer = event.lock();
//! let inner = lane.lock(); // The locks are taken in the order of the table; the reverse order panics in debug builds.
//! assert_eq!(*outer + *inner, 3);
//! ```

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{self, PoisonError, TryLockError};
use std::time::Duration;

// The types are exported with the locks, so that `tests/loom` can replace all of them.
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64};

macro_rules! ranks {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What a mutex guards. A thread that holds a mutex takes only mutexes further down in this list.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rank {
            $($(#[doc = $doc])+ $name,)+
        }

        #[cfg(debug_assertions)]
        const RANKS: &[Rank] = &[$(Rank::$name,)+];
    };
}

ranks! {
    /// The registry of memory managers.
    ManagerNames,
    /// The number of the device's writes that the host's side of a mirrored array has.
    Mirrored,
    /// The building of one kernel. Threads that want the same kernel wait.
    KernelBuild,
    /// The kernels of a device.
    KernelCache,
    /// The variants of a kernel.
    KernelVariants,
    /// How full the kernel cache on disk is.
    KernelDisk,
    /// The copying kernels of a context.
    CopyKernels,
    /// How fast a context is copied to.
    CopyBandwidths,
    /// The states of an array's replicas.
    Coherence,
    /// The values of a constant and its blocks.
    Constant,
    /// The block of a memory object.
    MemoryObject,
    /// Held by the one thread of a host copy that sends work.
    CopyTurn,
    /// The chunks of a host copy that no thread has taken yet.
    CopyProgress,
    /// The set of default streams of a device.
    DefaultStreamSet,
    /// The streams of a set of default streams.
    DefaultStreams,
    /// The command buffers of a graph.
    Graph,
    /// The point that an event captured.
    Event,
    /// The streams that take part in the legacy order.
    LegacyStreams,
    /// Held while the lanes of a stream are made to wait.
    TransferLanes,
    /// Held by the waiting thread while it holds lanes.
    WaiterLanes,
    /// The open batch of a lane and those in flight. No thread holds two.
    Lane,
    /// A pool that takes more memory from the driver.
    PoolGrowth,
    /// The chunks of a pool.
    PoolChunks,
    /// The free ranges that a pool keeps for a thread.
    PoolThreadCache,
    /// The frames of an arena.
    ArenaFrames,
    /// What the plain manager has given out.
    PassthroughLive,
    /// The counts of a statistics adaptor.
    Statistics,
    /// What a tracking adaptor has seen.
    Tracking,
    /// The writer of a logging adaptor.
    Log,
    /// The staging memory of an allocator.
    Staging,
    /// The images of a block.
    Images,
    /// Memory that was dropped and may still be in use.
    PendingQueue,
    /// Pages of the program that are imported.
    ImportedPages,
    /// The budgets of the heaps, which the driver is asked for at limited intervals.
    HeapBudgets,
    /// The driver's memory, cut into chunks.
    Chunks,
    /// The results of trials between a device and other devices.
    ConnectionTrials,
    /// When the driver was last asked whether a device is lost.
    LossAsked,
    /// The list of a device's queues.
    QueueList,
    /// A queue.
    Queue,
    /// The newest submission to a queue.
    QueueNewest,
    /// The tasks of the waiting thread.
    Waiter,
    /// The hazard table of a device, and the bytes that the host holds.
    Tracker,
    /// The order of a lane, and the uses of the blocks that it owns.
    LaneTable,
    /// The state of a future.
    Future,
    /// The recording that is in progress on a device.
    TraceSlot,
    /// The contents of a trace.
    Trace,
    /// The values that higher modules store in a device.
    DeviceExtensions,
    /// The spare semaphores of a device.
    Semaphores,
    /// The names of a device's kernels.
    Labels,
    /// Devices without holders that are not closed yet.
    KeptDevices,
    /// The messages of the validation layer, which may come during any call of Vulkan.
    Messages,
}

/// A mutex with a rank.
pub struct Mutex<T> {
    #[cfg(debug_assertions)]
    rank: Rank,
    inner: sync::Mutex<T>,
}

/// A locked [`Mutex`].
#[derive(Debug)]
#[must_use = "the lock is released when the guard is dropped"]
pub struct MutexGuard<'a, T> {
    inner: sync::MutexGuard<'a, T>,
    held: HeldRank, // Declared after the guard, so dropped after it.
}

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub const fn new(rank: Rank, value: T) -> Self {
        let _ = rank;
        Self {
            #[cfg(debug_assertions)]
            rank,
            inner: sync::Mutex::new(value),
        }
    }

    /// Blocks until no other thread holds the lock, and takes it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = self.held();
        MutexGuard { inner: self.inner.lock().unwrap_or_else(PoisonError::into_inner), held }
    }

    /// Takes the lock if no other thread holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let held = self.held();
        match self.inner.try_lock() {
            Ok(inner) => Some(MutexGuard { inner, held }),
            Err(TryLockError::Poisoned(poisoned)) => Some(MutexGuard { inner: poisoned.into_inner(), held }),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The data, through an exclusive reference: no lock is needed.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The data, without the mutex.
    pub fn into_inner(self) -> T {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn held(&self) -> HeldRank {
        #[cfg(debug_assertions)]
        return HeldRank::new(self.rank);
        #[cfg(not(debug_assertions))]
        HeldRank()
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A condition variable for [`Mutex`]. A waiting thread keeps the rank, since it takes no other lock while it waits.
#[derive(Debug, Default)]
pub struct Condvar {
    inner: sync::Condvar,
}

impl Condvar {
    /// Releases the lock, blocks until notified, and takes the lock again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let MutexGuard { inner, held } = guard;
        MutexGuard { inner: self.inner.wait(inner).unwrap_or_else(PoisonError::into_inner), held }
    }

    /// Does what [`Condvar::wait`] does, for `timeout` at most.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        let MutexGuard { inner, held } = guard;
        let (inner, _) = self.inner.wait_timeout(inner, timeout).unwrap_or_else(PoisonError::into_inner);
        MutexGuard { inner, held }
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.inner.notify_all();
    }
}

/// Panics, in builds with `debug_assertions`, if this thread holds a lock. `code` is the code of the program that is
/// called next.
///
/// ```
/// use vkarray_driver::lock::{Mutex, Rank, assert_none_held};
///
/// let event = Mutex::new(Rank::Event, 1);
/// assert_eq!(*event.lock(), 1);
/// assert_none_held("a callback"); // The lock is released again.
/// ```
#[inline]
pub fn assert_none_held(code: &str) {
    let _ = code;
    #[cfg(debug_assertions)]
    if let Some(held) = HeldRank::innermost() {
        panic!("{code} is called under the lock `{held:?}`");
    }
}

/// Records that this thread holds a lock or is about to take it. It has no size in builds without checks.
#[derive(Debug)]
struct HeldRank(#[cfg(debug_assertions)] Rank);

#[cfg(debug_assertions)]
thread_local! {
    /// One bit for each rank that this thread holds.
    static HELD: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(debug_assertions)]
impl HeldRank {
    fn new(rank: Rank) -> Self {
        if let Some(innermost) = Self::innermost().filter(|innermost| *innermost >= rank) {
            panic!("the lock `{rank:?}` is taken under the lock `{innermost:?}`, and the table of ranks has it first");
        }
        HELD.set(HELD.get() | 1 << rank as u32);
        Self(rank)
    }

    /// The rank furthest down in the table among the ranks that this thread holds.
    fn innermost() -> Option<Rank> {
        HELD.get().checked_ilog2().map(|bit| RANKS[bit as usize])
    }
}

#[cfg(debug_assertions)]
impl Drop for HeldRank {
    fn drop(&mut self) {
        HELD.set(HELD.get() & !(1 << self.0 as u32));
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn the_architecture_lists_the_ranks_in_their_order() {
        let map: Vec<_> = include_str!("../../../../ARCHITECTURE.md").split_whitespace().collect();
        let order: Vec<_> = RANKS.iter().map(|rank| format!("`{rank:?}`")).collect();
        assert!(map.join(" ").contains(&order.join(" → ")), "{}", order.join(" → "));
        assert!(RANKS.len() <= 64, "each has a bit");
    }

    fn panics(work: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("it breaks the order");
        *payload.downcast::<String>().expect("the panic has a text")
    }

    #[test]
    fn a_lock_out_of_order_is_named_with_the_one_that_is_held() {
        let (lane, tracker) = (Mutex::new(Rank::Lane, 1), Mutex::new(Rank::Tracker, 2));
        assert_eq!(*lane.lock() + *tracker.lock(), 3);
        let held = tracker.lock();
        let text = panics(|| drop(lane.lock()));
        assert_eq!(text, "the lock `Lane` is taken under the lock `Tracker`, and the table of ranks has it first");
        assert!(panics(|| drop(lane.try_lock())).contains("`Lane`"), "a lock that is only tried for counts too");
        drop(held);
        drop(lane.lock()); // What was refused left nothing behind.
    }

    #[test]
    fn no_thread_holds_two_of_a_rank() {
        let (first, second) = (Mutex::new(Rank::Lane, ()), Mutex::new(Rank::Lane, ()));
        let held = first.lock();
        assert!(panics(|| drop(second.lock())).contains("`Lane` is taken under the lock `Lane`"));
        drop(held);
        drop(second.lock());
    }

    #[test]
    fn guards_end_in_any_order() {
        let (lane, queue, tracker) =
            (Mutex::new(Rank::Lane, ()), Mutex::new(Rank::Queue, ()), Mutex::new(Rank::Tracker, ()));
        let (outer, inner) = (lane.lock(), tracker.lock());
        drop(outer);
        assert!(panics(|| drop(queue.lock())).contains("`Tracker`"));
        drop(inner);
        drop((lane.lock(), queue.lock()));
    }

    #[test]
    fn code_of_the_program_runs_under_no_lock() {
        let tracker = Mutex::new(Rank::Tracker, ());
        assert_none_held("a callback");
        let held = tracker.lock();
        assert_eq!(panics(|| assert_none_held("a callback")), "a callback is called under the lock `Tracker`");
        thread::scope(|scope| drop(scope.spawn(|| assert_none_held("a callback of another thread"))));
        drop(held);
        assert_none_held("a callback");
    }

    #[test]
    fn a_thread_that_waited_holds_the_lock_again() {
        let shared = Arc::new((Mutex::new(Rank::Waiter, false), Condvar::default()));
        let theirs = Arc::clone(&shared);
        let other = thread::spawn(move || {
            *theirs.0.lock() = true;
            theirs.1.notify_all();
        });
        let mut is_set = shared.0.lock();
        while !*is_set {
            is_set = shared.1.wait(is_set);
        }
        assert!(panics(|| assert_none_held("a callback")).contains("`Waiter`"));
        is_set = shared.1.wait_timeout(is_set, Duration::from_millis(1));
        drop(is_set);
        assert_none_held("a callback");
        other.join().unwrap();
    }

    #[test]
    fn a_poisoned_lock_is_taken() {
        let mutex = Mutex::new(Rank::Lane, 1);
        panics(|| {
            *mutex.lock() = 2;
            panic!("{}", "in the middle");
        });
        assert_none_held("a callback");
        assert_eq!(*mutex.lock(), 2);
        assert_eq!(*mutex.try_lock().unwrap(), 2);
    }
}
