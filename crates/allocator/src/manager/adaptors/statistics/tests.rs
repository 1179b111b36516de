//! Nested scopes: the counts of each, and how they are added to the scope around it.

use std::sync::Arc;
use std::thread;

use super::*;
use crate::kind::MemoryKind;
use crate::manager::Request;
use crate::manager::tests::fake::{Failure, Fake, give_back};

const MIB: i64 = 1 << 20;

fn ten_mib() -> Request {
    Request::new(10 << 20, MemoryKind::Device)
}

fn counter(current: i64, peak: i64, total: i64) -> Counter {
    Counter { current, peak, total }
}

/// The counters of a scope with allocations of ten MiB each.
fn tens(current: i64, peak: i64, total: i64) -> ScopeCounters {
    let bytes = counter(10 * MIB * current, 10 * MIB * peak, 10 * MIB * total);
    ScopeCounters { bytes, allocations: counter(current, peak, total) }
}

#[test]
fn current_peak_and_total_are_counted() {
    let statistics = AllocationStatistics::new(Fake::new());
    assert_eq!(statistics.counted(), ScopeCounters::default());
    let mut blocks: Vec<_> = (0..10).map(|_| statistics.memalloc(&ten_mib()).unwrap()).collect();
    blocks.drain(5..).for_each(|block| give_back(&statistics, block));
    assert_eq!(statistics.counted(), tens(5, 10, 10));
    blocks.extend((0..10).map(|_| statistics.memalloc(&ten_mib()).unwrap()));
    assert_eq!(statistics.counted(), tens(15, 15, 20));
    blocks.into_iter().for_each(|block| give_back(&statistics, block));
    assert_eq!(statistics.counted(), tens(0, 15, 20));
}

#[test]
fn a_failure_and_an_empty_allocation_are_counted_as_what_they_are() {
    let fake = Fake::new();
    let statistics = AllocationStatistics::new(Arc::clone(&fake));
    fake.fail(1, Failure::Unsupported);
    statistics.memalloc(&ten_mib()).unwrap_err();
    assert_eq!(statistics.counted(), ScopeCounters::default());
    let empty = statistics.memalloc(&Request::new(0, MemoryKind::Device)).unwrap();
    assert_eq!(statistics.counted(), ScopeCounters { bytes: counter(0, 0, 0), allocations: counter(1, 1, 1) });
    give_back(&statistics, empty);
}

#[test]
fn what_is_freed_past_an_adaptor_still_counts_in_it() {
    let inner = Arc::new(AllocationStatistics::new(Fake::new()));
    let outer = AllocationStatistics::new(Arc::clone(&inner));
    let mut blocks: Vec<_> = (0..10).map(|_| outer.memalloc(&ten_mib()).unwrap()).collect();
    blocks.extend((0..5).map(|_| inner.memalloc(&ten_mib()).unwrap()));
    assert_eq!((outer.counted(), inner.counted()), (tens(10, 10, 10), tens(15, 15, 15)));
    // All blocks go back through the outer adaptor, which never counted five of them.
    blocks.into_iter().for_each(|block| give_back(&outer, block));
    assert_eq!((outer.counted(), inner.counted()), (tens(-5, 10, 10), tens(0, 15, 15)));
}

#[test]
fn scopes_nest_and_fold_into_the_one_around_them() {
    let statistics = AllocationStatistics::new(Fake::new());
    let allocate = |n: usize| (0..n).map(|_| statistics.memalloc(&ten_mib()).unwrap()).collect::<Vec<_>>();
    let free = |blocks: Vec<MemoryPointer>| blocks.into_iter().for_each(|block| give_back(&statistics, block));
    let a = allocate(2);
    statistics.push();
    assert_eq!(statistics.counted(), tens(0, 0, 0)); // A new scope inherits no counts.
    let b = allocate(3);
    free(a); // The memory was given out in the scope outside.
    statistics.push();
    let c = allocate(4);
    free(c);
    assert_eq!(statistics.pop().unwrap(), tens(0, 4, 4));
    assert_eq!(statistics.counted(), tens(1, 5, 7), "one is current, and four more were for a while");
    assert_eq!(statistics.pop().unwrap(), tens(1, 5, 7));
    assert_eq!(statistics.counted(), tens(3, 7, 9), "two were current when the scope began");
    let refused = statistics.pop().unwrap_err();
    assert_eq!(refused.to_string(), "no scope of statistics is open");
    assert_eq!(statistics.counted(), tens(3, 7, 9), "a refused call changes nothing");
    free(b);
    assert_eq!(statistics.counted(), tens(0, 7, 9));
}

#[test]
fn a_guard_ends_its_scope_and_those_inside() {
    let statistics = AllocationStatistics::new(Fake::new());
    let outer = statistics.scope();
    let block = statistics.memalloc(&ten_mib()).unwrap();
    {
        let _inner = statistics.scope();
        give_back(&statistics, statistics.memalloc(&ten_mib()).unwrap());
    }
    assert_eq!(statistics.counted(), tens(1, 2, 2));
    let forgotten = statistics.scope();
    give_back(&statistics, block);
    assert_eq!(outer.end().unwrap(), tens(0, 2, 2)); // The open scopes inside are included.
    assert!(matches!(forgotten.end(), Err(Error::NoOpenScope)));
    assert_eq!(statistics.counted(), tens(0, 2, 2));
    assert!(statistics.pop().is_err());
}

#[test]
fn threads_count_together() {
    let statistics = AllocationStatistics::new(Fake::new());
    thread::scope(|scope| {
        for size in [0, 7] {
            let statistics = &statistics;
            scope.spawn(move || {
                for _ in 0..1000 {
                    give_back(statistics, statistics.memalloc(&Request::new(size, MemoryKind::Device)).unwrap());
                }
            });
        }
    });
    let ScopeCounters { bytes, allocations } = statistics.counted();
    assert_eq!((bytes.current, bytes.total, allocations.current, allocations.total), (0, 7000, 0, 2000));
}
