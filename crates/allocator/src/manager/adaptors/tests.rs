//! Adaptors over a fake manager: the small adaptors, and what all adaptors have in common.

use std::sync::Mutex;
use std::thread;

use super::*;
use crate::error::Shortage;
use crate::manager::adaptors::{FailureCallback, Limiting, Tracking, Verdict};
use crate::manager::tests::fake::{Failure, Fake, give_back};
use crate::manager::{Confidence, MemoryInfo, Pending, Usage};

const MIB: u64 = 1 << 20;

fn device(size: u64) -> Request {
    Request::new(size, MemoryKind::Device)
}

fn outstanding_bytes(tracking: &Tracking<Arc<Fake>>) -> u64 {
    tracking.outstanding().iter().map(|entry| entry.bytes).sum()
}

/// An adaptor that changes nothing.
#[derive(Debug)]
struct Nothing(Arc<Fake>);

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl Adaptor for Nothing {
    fn inner(&self) -> &dyn MemoryManager {
        &self.0
    }
}

#[test]
fn what_an_adaptor_does_not_change_reaches_the_manager_inside() {
    let fakes = [Fake::new(), Fake::new()];
    let managers: [Box<dyn MemoryManager>; 2] =
        [Box::new(Nothing(Arc::clone(&fakes[0]))), Box::new(Arc::clone(&fakes[1]))];
    for (manager, fake) in managers.into_iter().zip(fakes) {
        let boxed: Box<dyn MemoryManager> = Box::new(manager); // The calls pass through two boxes.
        assert_eq!(boxed.interface_version(), crate::manager::INTERFACE_VERSION);
        let pointer = boxed.memalloc(&device(7)).unwrap();
        assert_eq!((pointer.size(), pointer.kind()), (7, MemoryKind::Device));
        boxed.set_label(&pointer, BlockLabel::new().with_name("weights"));
        assert_eq!(*fake.last_set.lock().unwrap(), Some((7, BlockLabel::new().with_name("weights"))));
        assert_eq!(boxed.label(&pointer), Some(BlockLabel::new().with_name("of 7 bytes")));
        assert!(matches!(boxed.get_ipc_handle(&pointer), Err(Error::Unsupported { .. })));
        give_back(&*boxed, pointer);
        let combined = boxed.memhostalloc(8, HostOptions::default().wc(true)).unwrap().into_pointer();
        assert_eq!(combined.kind(), MemoryKind::WriteCombined);
        give_back(&*boxed, combined);
        assert_eq!(boxed.get_memory_info().unwrap(), MemoryInfo { free: 1, total: 2, confidence: Confidence::OwnUse });
        assert!(matches!(boxed.reset(), Err(Error::NotInitialized)));
        assert_eq!(boxed.usage(), Usage { in_use: 3, reserved: 4, n_pending: 5, pending: 6 });
        assert_eq!(boxed.pending(), Pending { n_blocks: 9, bytes: 10 });
        assert_eq!((boxed.counters().growths, boxed.oom_counts().failed), (7, 8));
        assert_eq!(boxed.trim(5).unwrap(), 6);
        assert!(matches!(boxed.reserve(9, MemoryKind::Pinned), Err(Error::OutOfMemory(report)) if report.bytes == 9));
        drop(boxed.defer_cleanup());
        boxed.try_flush().and_then(|()| boxed.flush()).unwrap();
    }
}

#[test]
fn a_pin_passes_through_with_its_owner() {
    let fake = Fake::new();
    let tracking = Arc::new(Tracking::new(Arc::clone(&fake)));
    let limiting = Limiting::new(Arc::clone(&tracking), 100);
    let mut bytes = [0_u8; 60];
    let pointer = NonNull::new(bytes.as_mut_ptr()).unwrap();
    let pin = |size| {
        // SAFETY: the fake never touches the bytes.
        unsafe { limiting.mempin(Box::new("owner"), pointer, size, false) }
    };
    let pinned = pin(60).unwrap().into_pointer();
    assert_eq!(pinned.owner().unwrap().downcast_ref::<&str>(), Some(&"owner"));
    assert_eq!((limiting.in_use(), outstanding_bytes(&tracking)), (60, 60));
    pin(60).unwrap_err();
    fake.fail(1, Failure::Unsupported);
    pin(40).unwrap_err();
    assert_eq!((limiting.in_use(), fake.live()), (60, 1));
    give_back(&limiting, pinned);
    assert_eq!((limiting.in_use(), outstanding_bytes(&tracking), fake.live()), (0, 0, 0));
}

#[test]
fn a_limit_counts_what_is_given_out() {
    let limiting = Limiting::new(Fake::new(), 10 * MIB);
    let message = limiting.memalloc(&device(10 * MIB + 1)).unwrap_err().to_string();
    assert!(
        message.starts_with(
            "out of memory for 10485761 bytes of device memory: the memory manager is limited to 10485760 bytes"
        ),
        "{message}"
    );
    let a = limiting.memalloc(&device(4 * MIB)).unwrap();
    let b = limiting.memhostalloc(4 * MIB, HostOptions::default()).unwrap().into_pointer();
    assert_eq!((limiting.in_use(), limiting.limit()), (8 * MIB, 10 * MIB));
    let Error::OutOfMemory(report) = limiting.memalloc(&device(3 * MIB)).unwrap_err() else { panic!() };
    assert_eq!((report.shortage, report.in_use), (Shortage::Limit(10 * MIB), 8 * MIB));
    assert!(limiting.memalloc(&device(u64::MAX)).is_err(), "no sum wraps round");
    assert_eq!(limiting.in_use(), 8 * MIB, "a refused call changes nothing");
    give_back(&limiting, a);
    let c = limiting.memalloc(&device(6 * MIB)).unwrap();
    assert_eq!(limiting.in_use(), limiting.limit());
    let empty = limiting.memalloc(&device(0)).unwrap();
    [b, c, empty].into_iter().for_each(|pointer| give_back(&limiting, pointer));
    assert_eq!((limiting.in_use(), limiting.limit()), (0, 10 * MIB));
}

#[test]
fn a_limit_forgets_what_the_manager_inside_refuses() {
    let inner = Arc::new(Limiting::new(Fake::new(), 2 * MIB));
    let outer = Limiting::new(Arc::clone(&inner), 5 * MIB);
    outer.memalloc(&device(4 * MIB)).unwrap_err();
    assert_eq!((outer.in_use(), inner.in_use()), (0, 0));
    let foreign = inner.memalloc(&device(MIB)).unwrap();
    give_back(&outer, foreign); // The outer adaptor never counted it.
    assert_eq!((outer.in_use(), inner.in_use()), (0, 0));
}

#[test]
fn a_panic_inside_gives_the_reservation_back() {
    let fake = Fake::new();
    let limiting = Limiting::new(Arc::clone(&fake), 100);
    fake.fail(1, Failure::Panic);
    catch_unwind(AssertUnwindSafe(|| limiting.memalloc(&device(100)).map(|_| ()))).unwrap_err();
    assert_eq!(limiting.in_use(), 0);
    let limiting = Limiting::new(FailureCallback::new(Arc::clone(&fake), |_, _| panic!("in the callback")), 100);
    fake.fail(1, Failure::OutOfMemory);
    catch_unwind(AssertUnwindSafe(|| limiting.memalloc(&device(100)).map(|_| ()))).unwrap_err();
    assert_eq!(limiting.in_use(), 0);
    give_back(&limiting, limiting.memalloc(&device(100)).unwrap());
}

#[test]
fn memory_goes_back_also_when_an_adaptor_panics() {
    #[derive(Debug)]
    struct Panics(Arc<Fake>);

    // SAFETY: the manager inside is a private field that nothing assigns to.
    unsafe impl Adaptor for Panics {
        fn inner(&self) -> &dyn MemoryManager {
            &self.0
        }

        fn freeing(&self, _: &MemoryPointer) {
            panic!("in an adaptor");
        }
    }

    let fake = Fake::new();
    let manager = Limiting::new(Panics(Arc::clone(&fake)), 100);
    let memory = manager.memalloc(&device(60)).unwrap();
    catch_unwind(AssertUnwindSafe(|| give_back(&manager, memory))).unwrap_err();
    assert_eq!((fake.live(), manager.in_use()), (0, 0));
}

#[test]
fn threads_near_the_limit_do_not_refuse_each_other() {
    // Each thread requests half, so no request may ever be refused; a transient excess would show.
    let limiting = Limiting::new(Fake::new(), 100);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..5000).for_each(|_| give_back(&limiting, limiting.memalloc(&device(50)).unwrap())));
        }
    });
    assert_eq!(limiting.in_use(), 0);
}

#[test]
fn the_callback_decides_about_running_out_and_nothing_else() {
    let cases = [
        // What fails, how often, attempts allowed; then the calls made, and whether the allocation succeeds.
        (Failure::OutOfMemory, 0, 9, 0, true),
        (Failure::OutOfMemory, 1, 9, 1, true),
        (Failure::OutOfMemory, 3, 9, 3, true),
        (Failure::OutOfMemory, 3, 2, 3, false), // Gives up at the third call.
        (Failure::OutOfMemory, 1, 0, 1, false), // Gives up at the first failure.
        (Failure::Unsupported, 1, 9, 0, false), // The callback is not called for other failures.
    ];
    for (failure, n_failures, n_retries, n_calls, succeeds) in cases {
        let (fake, calls) = (Fake::new(), Arc::new(Mutex::new(Vec::new())));
        let recorded = Arc::clone(&calls);
        let manager = FailureCallback::new(Arc::clone(&fake), move |bytes, attempt| {
            recorded.lock().unwrap().push((bytes, attempt));
            if attempt <= n_retries { Verdict::Retry } else { Verdict::GiveUp }
        });
        fake.fail(n_failures, failure);
        let outcome = manager.memalloc(&device(11));
        assert_eq!(outcome.is_ok(), succeeds, "{failure:?} {n_failures} {n_retries}");
        let expected: Vec<_> = (1..=n_calls).map(|attempt| (11, attempt)).collect();
        assert_eq!(*calls.lock().unwrap(), expected, "{failure:?} {n_failures} {n_retries}");
    }
}

#[test]
fn the_callback_may_free_and_so_help() {
    let limiting = Arc::new(Limiting::new(Fake::new(), 100));
    let spare = Mutex::new(Some(limiting.memalloc(&device(100)).unwrap()));
    let inside = Arc::clone(&limiting);
    let manager = FailureCallback::new(Arc::clone(&limiting), move |_, _| match spare.lock().unwrap().take() {
        Some(spare) => {
            give_back(&inside, spare);
            Verdict::Retry
        }
        None => Verdict::GiveUp,
    });
    let memory = manager.memalloc(&device(60)).unwrap();
    assert!(manager.memalloc(&device(60)).is_err(), "there is nothing more to let go of");
    give_back(&manager, memory);
}

#[test]
fn tracking_lists_what_is_live() {
    let fake = Fake::new();
    let tracking = Tracking::new(Arc::clone(&fake));
    assert_eq!((tracking.report().as_str(), outstanding_bytes(&tracking)), ("", 0));
    let label = BlockLabel::array("f32", &[3]).with_name("x");
    let first = tracking.memalloc(&device(12).with_label(label)).unwrap();
    let second = tracking.memalloc(&device(7)).unwrap();
    let pinned = tracking.memhostalloc(8, HostOptions::default()).unwrap().into_pointer();
    tracking.set_label(&pinned, BlockLabel::new().with_name("staging"));
    fake.fail(1, Failure::OutOfMemory);
    tracking.memalloc(&device(1)).unwrap_err();
    give_back(&tracking, second);
    let text = "allocation 0: 12 bytes of device memory, used by `x`, f32 (3,)\n\
        allocation 2: 8 bytes of pinned host memory, used by `staging`\n";
    assert_eq!((tracking.report().as_str(), outstanding_bytes(&tracking)), (text, 20));
    assert!(tracking.outstanding().iter().all(|entry| entry.backtrace.is_none()));
    let foreign = fake.memalloc(&device(5)).unwrap();
    give_back(&tracking, foreign); // The memory is reported, and still passed on.
    assert_eq!((outstanding_bytes(&tracking), fake.live()), (20, 2));
    [first, pinned].into_iter().for_each(|pointer| give_back(&tracking, pointer));
    assert_eq!((tracking.outstanding().len(), outstanding_bytes(&tracking), fake.live()), (0, 0, 0));
}

#[test]
fn backtraces_name_who_allocated() {
    let tracking = Tracking::new(Fake::new()).with_backtraces();
    let memory = tracking.memalloc(&device(1)).unwrap();
    let report = tracking.report();
    assert!(report.contains("backtraces_name_who_allocated"), "{report}");
    give_back(&tracking, memory);
}

#[test]
fn memory_that_comes_round_between_threads_stays_tracked() {
    // The fake gives a freed number to the next caller: an entry that is removed too late would be the other thread's.
    let tracking = Tracking::new(Fake::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..3000 {
                    let memory = tracking.memalloc(&device(1)).unwrap();
                    assert!(tracking.outstanding().iter().any(|entry| entry.bytes == 1));
                    give_back(&tracking, memory);
                }
            });
        }
    });
    assert_eq!((tracking.outstanding().len(), outstanding_bytes(&tracking)), (0, 0));
}
