//! Dispatches in steady work allocate nothing on the heap.
//!
//! A batch is allocated if more batches are in flight than ever before, which depends on the device's speed. The test
//! therefore needs one round without an allocation; a dispatch that allocates would do so in every round.

use vkarray::Groups;

use crate::fixture::Fixture;
use crate::fixture::kernels;

/// Dispatches of a round: several full batches.
const DISPATCHES: usize = 500;
const ROUNDS: usize = 50;

#[test]
fn dispatches_in_steady_work_allocate_nothing() {
    let fixture = Fixture::open();
    let saxpy = kernels::saxpy(&fixture);
    // The dispatches alternate between pairs, so that some have a barrier and some have none.
    let pairs = [(); 3].map(|()| (fixture.full([1024], 1.0_f32).unwrap(), fixture.zeros::<f32>([1024]).unwrap()));
    let stream = fixture.default_stream();
    let round = || {
        for (x, y) in pairs.iter().cycle().take(DISPATCHES) {
            saxpy.dispatch(stream, Groups::covering([1024]), (x, y, 2.0_f32)).unwrap();
        }
        stream.synchronize().unwrap();
    };
    let mut counts = (0..ROUNDS).map(|_| allocation_counter::measure(round).count_total);
    assert!(counts.any(|count| count == 0), "each of {ROUNDS} rounds of {DISPATCHES} dispatches allocates");
}

/// Checks the counter itself.
#[test]
fn the_allocation_counter_counts_an_allocation() {
    assert_eq!(allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1)))).count_total, 1);
}
