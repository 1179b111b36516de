//! The messages of the model against those that arrays exchange, and its times against sums made by hand.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the numbers are small and checked")]

mod counted;

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::Ordering::SeqCst;

use counted::{Counted, Counts};
use proptest::prelude::*;
use vkarray::ndarray::Array2;
use vkarray::prelude::*;
use vkarray_dist::model::{Connection, Estimate, Machine, Message, halo_messages, redistribute_messages};
use vkarray_dist::{Border, Decomposition, DistArray, DistError, ThreadRank, Transport};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| Context::open_default().unwrap());

/// Ranks in hosts of two, whose connections take times that tell them apart.
const MACHINE: Machine = Machine {
    ranks_per_host: 2,
    copies: Connection { latency: 100.0, overhead: 10.0, bandwidth: 2.0 },
    host: Connection { latency: 1000.0, overhead: 200.0, bandwidth: 4.0 },
    network: Connection { latency: 5000.0, overhead: 300.0, bandwidth: 8.0 },
};

fn any_decomposition() -> impl Strategy<Value = Decomposition> {
    let border = prop_oneof![Just(Border::Fixed), Just(Border::Periodic), Just(Border::Reflecting)];
    let axis = (1..9_usize, 1..4_usize, (0..3_usize, 0..3_usize), border);
    prop::collection::vec(axis, 1..4).prop_map(|axes| {
        let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
        let grid: Vec<usize> = axes.iter().map(|axis| axis.1).collect();
        let parts = Decomposition::with_grid(shape, grid).unwrap();
        let parts = parts.ghosts(axes.iter().map(|axis| axis.2).collect::<Vec<_>>()).unwrap();
        parts.borders(axes.iter().map(|axis| axis.3).collect::<Vec<_>>()).unwrap()
    })
}

/// The messages and bytes that a program exchanges.
fn counted(size: usize, program: impl Fn(&dyn Transport) -> Result<(), DistError> + Sync) -> (usize, usize) {
    let counts = Counts::default();
    ThreadRank::run(size, |rank| {
        program(&Counted { rank, checks_calls: false, shares_memory: false, counts: &counts }).unwrap()
    });
    (counts.messages.into_inner(), counts.bytes.into_inner())
}

/// The messages and bytes of an estimate, all of which were copied from one device and to another one.
fn modelled(size: usize, messages: Vec<Message>) -> (usize, usize) {
    let Estimate { messages, bytes, staged, .. } = MACHINE.round(size, messages);
    assert_eq!(staged, 2 * bytes);
    (usize::try_from(messages).unwrap(), usize::try_from(bytes).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exchanges_have_the_messages_and_bytes_of_the_model(parts in any_decomposition()) {
        let real = counted(parts.ranks(), |rank| DistArray::full(&CONTEXT, rank, &parts, 1_u16)?.halo());
        prop_assert_eq!(real, modelled(parts.ranks(), halo_messages(&parts, 2).unwrap()));
    }

    #[test]
    fn redistributions_have_the_messages_and_bytes_of_the_model(parts in any_decomposition()) {
        let other = Decomposition::over(parts.shape(), parts.ranks()).unwrap();
        let real = counted(parts.ranks(), |rank| {
            DistArray::full(&CONTEXT, rank, &parts, 1.0_f32)?.redistribute(&other).map(drop)
        });
        prop_assert_eq!(real, modelled(parts.ranks(), redistribute_messages(&parts, &other, 4).unwrap()));
    }
}

/// The bytes that a rank sends in each of several exchanges on a ring of three ranks that share memory, but for the first
/// exchange, which finds out that they can. The elements change each time, and all of them arrive.
fn sent_by_neighbours(part: usize, ghosts: (usize, usize)) -> Vec<usize> {
    let len = 3 * part;
    let ring = Decomposition::over([len], 3).unwrap().ghosts([ghosts]).unwrap().borders([Border::Periodic]).unwrap();
    let sent = ThreadRank::run(3, |rank| {
        let counts = Counts::default();
        let rank = Counted { rank, checks_calls: false, shares_memory: true, counts: &counts };
        let array = DistArray::from_fn(&CONTEXT, &rank, &ring, |at| at[0] as u64).unwrap();
        let mut sent = Vec::new();
        for added in 0..6 {
            let before = counts.bytes.load(SeqCst);
            array.halo().unwrap();
            sent.push(counts.bytes.load(SeqCst) - before);
            let first = array.offset()[0] + len - ghosts.0;
            let expected = (first..).map(|place| (place % len) as u64 + added);
            let shown = array.local().to_vec().unwrap();
            assert_eq!(shown.iter().zip(expected).position(|(shown, expected)| *shown != expected), None);
            (&array.interior() + 1).assign_to(&array.interior()).unwrap();
        }
        assert_eq!(array.sharing(), [0, 1, 2].into_iter().filter(|other| *other != rank.rank()).collect::<Vec<_>>());
        sent.split_off(1)
    });
    assert!(sent.iter().all(|of_rank| *of_rank == sent[0]), "{sent:?}");
    sent.into_iter().next().unwrap()
}

#[test]
fn ranks_of_one_host_exchange_no_elements_as_messages() {
    // A length to each of both neighbours.
    assert_eq!(sent_by_neighbours(31, (5, 7)), [2 * 8; 5]);
    // 34 MB to one neighbour, in seven chunks, and a length for each of them to both.
    assert_eq!(sent_by_neighbours(4_300_011, (4_250_001, 0)), [7 * 2 * 8; 5]);
    // With the validation layer, what it says of copies from and to shared pages.
    let reported = CONTEXT.device().physical().instance().take_messages();
    assert!(reported.is_empty(), "{reported:?}");
}

/// Runs a program with ranks that share memory, each of which tells what it sent in bytes since a mark.
fn sharing(size: usize, program: impl Fn(&dyn Transport, &dyn Fn() -> usize) -> Result<(), DistError> + Sync) {
    ThreadRank::run(size, |rank| {
        let (counts, mark) = (Counts::default(), Cell::new(0));
        let rank = Counted { rank, checks_calls: false, shares_memory: true, counts: &counts };
        let sent = || {
            let all = counts.bytes.load(SeqCst);
            all - mark.replace(all)
        };
        program(&rank, &sent).unwrap();
    });
}

#[test]
fn redistributions_sorts_and_products_send_no_elements_as_messages() {
    const LEN: usize = 700;
    let rows = Decomposition::with_grid([LEN, LEN], [3, 1]).unwrap();
    let columns = Decomposition::with_grid([LEN, LEN], [1, 3]).unwrap();
    let key = |at: usize| (at as u32).wrapping_mul(2_654_435_761) >> 7;
    sharing(3, |rank, sent| {
        let x = DistArray::from_fn(&CONTEXT, rank, &rows, |at| (at[0] * LEN + at[1]) as u32)?;
        x.redistribute(&columns)?;
        sent();
        let moved = x.redistribute(&columns)?;
        // A length to each of both other ranks, in place of 218 KB.
        assert_eq!(sent(), 2 * 8);
        let start = moved.offset()[1];
        for (row, shown) in moved.interior().copy_to_host()?.outer_iter().enumerate() {
            assert!(shown.iter().enumerate().all(|(at, &shown)| shown as usize == row * LEN + start + at));
        }

        let len = LEN * LEN;
        let keys = DistArray::from_fn(&CONTEXT, rank, &Decomposition::over([len], 3)?, |at| key(at[0]))?;
        sent();
        let sorted = keys.sort(0)?.gather()?;
        // Samples, cuts and lengths, beside the third of the array that is gathered on rank 0.
        let gathered = if rank.rank() == 0 { 0 } else { keys.interior().nbytes() as usize };
        let others = sent() - gathered;
        assert!(others < 1000, "{others} bytes");
        let mut expected: Vec<u32> = (0..len).map(key).collect();
        expected.sort_unstable();
        assert!(sorted.is_none_or(|sorted| sorted.iter().eq(&expected)));

        let product = x.matmul(&x)?;
        // One panel of each matrix after the other: a length for each chunk.
        let sent = sent();
        assert!(sent < 200, "{sent} bytes");
        let host = Array2::from_shape_fn((LEN, LEN), |at| (at.0 * LEN + at.1) as u32);
        let (first, shape) = (product.offset().to_vec(), product.interior().shape().to_vec());
        let shown = product.interior().copy_to_host()?;
        for at in (0..shape[0]).step_by(97).flat_map(|row| (0..shape[1]).step_by(89).map(move |column| [row, column])) {
            let pairs = host.row(first[0] + at[0]).into_iter().zip(host.column(first[1] + at[1]));
            assert_eq!(shown[&at[..]], pairs.fold(0_u32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b))));
        }
        Ok(())
    });
}

/// Whether the ghost zones of an array on a line are those of the function of the place.
fn check(array: &DistArray<'_, u32>, ghosts: (usize, usize), element: impl Fn(usize) -> u32) {
    let (len, first) = (array.decomposition().shape()[0], array.offset()[0] as isize - ghosts.0 as isize);
    for (place, shown) in (first..).zip(array.local().to_vec().unwrap()) {
        let is_inside = (0..len as isize).contains(&place);
        assert_eq!(shown, if is_inside { element(place as usize) } else { 0 }, "at {place} of {len}");
    }
}

#[test]
fn transfers_of_one_pair_take_turns() {
    // Of one chunk in each direction; of two chunks upwards and one downwards; of one chunk upwards only.
    let both = Decomposition::over([90_001], 3).unwrap().ghosts([(40, 7)]).unwrap();
    let long = Decomposition::over([4_500_001], 3).unwrap().ghosts([(1_400_003, 2)]).unwrap();
    let upwards = Decomposition::over([1_001], 3).unwrap().ghosts([(5, 0)]).unwrap();
    let contexts = [CONTEXT.clone(), Context::open_default().unwrap()];
    sharing(3, |rank, sent| {
        let line = |context, parts, factor: u32| {
            DistArray::from_fn(context, rank, parts, move |at: &[usize]| at[0] as u32 * factor)
        };
        let (x, y) = (line(&contexts[0], &both, 3)?, line(&contexts[0], &long, 5)?);
        // On another context, which reaches the same pages.
        let z = line(&contexts[1], &upwards, 7)?;
        for step in 0..7 {
            let element = |factor: u32| move |place: usize| (place as u32).wrapping_mul(factor) + step;
            x.halo()?;
            z.halo()?;
            check(&x, (40, 7), element(3));
            check(&z, (5, 0), element(7));
            // A transfer within another one.
            x.overlap(|_| y.halo(), |_| Ok(()))?;
            check(&x, (40, 7), element(3));
            check(&y, (1_400_003, 2), element(5));
            z.halo()?;
            // All ranks fail, or one of them; each exchanges its elements.
            let fails = step % 2 == 0 || rank.rank() == 1;
            let refused = if fails { z.shifted(&[9]).map(drop) } else { Ok(()) };
            assert_eq!(x.overlap(|_| refused, |_| Ok(())).is_err(), fails);
            for array in [&x, &y, &z] {
                (&array.interior() + 1).assign_to(&array.interior())?;
            }
        }
        sent();
        z.halo()?;
        let pairs = if rank.rank() == 1 { 2 } else { 1 };
        assert_eq!((sent(), z.sharing().len()), (8 * pairs, pairs));
        Ok(())
    });
}

#[test]
fn ranks_that_disagree_on_lengths_in_shared_memory_are_told() {
    let errors = ThreadRank::run(2, |rank| {
        let counts = Counts::default();
        let rank = Counted { rank, checks_calls: false, shares_memory: true, counts: &counts };
        let parts = Decomposition::over([16 + 2 * rank.rank.rank()], 2).unwrap().ghosts([(1, 1)]).unwrap();
        let wide = Decomposition::over([16], 2).unwrap().ghosts([(1 + rank.rank.rank(), 1)]).unwrap();
        DistArray::full(&CONTEXT, &rank, &parts, 1_u32).unwrap().halo().unwrap();
        DistArray::full(&CONTEXT, &rank, &wide, 1_u32).unwrap().halo().map_err(|error| error.to_string())
    });
    assert_eq!(errors[0], Ok(()));
    let error = errors[1].clone().unwrap_err();
    assert!(error.starts_with("rank 1 expects 8 bytes from rank 0, which sent 4"), "{error}");
}

#[test]
fn an_exchange_of_cubes_has_the_bytes_of_their_surface() {
    // 3³ parts of 4³ elements, each of which shows the 6³ elements around it but for its own.
    let cubes = Decomposition::with_grid([12; 3], [3; 3]).unwrap().ghosts([(1, 1); 3]).unwrap();
    let cubes = cubes.borders([Border::Periodic; 3]).unwrap();
    assert_eq!(modelled(27, halo_messages(&cubes, 4).unwrap()), (27 * 26, 27 * 4 * (6 * 6 * 6 - 4 * 4 * 4)));
}

#[test]
fn times_are_those_of_the_slowest_rank() {
    let message = |sender, receiver, bytes, views| Message { sender, receiver, bytes, views };
    let seconds = |messages: &[Message]| MACHINE.round(4, messages.iter().copied()).seconds;
    assert_eq!(seconds(&[]), 0.0);
    // Within a host, without copies: the latency, and the bytes by the bandwidth.
    assert_eq!(seconds(&[message(0, 1, 40, 0)]), 1000.0 + 10.0);
    // Both directions at once.
    assert_eq!(seconds(&[message(0, 1, 40, 0), message(1, 0, 40, 0)]), 1000.0 + 200.0 + 10.0);
    // Two views are copied down on one rank, and up on another one.
    assert_eq!(seconds(&[message(0, 1, 40, 2)]), 1000.0 + 10.0 + (100.0 + 10.0 + 20.0));
    // A rank that sends and receives copies down, then up.
    let both = [message(0, 1, 40, 1), message(1, 0, 80, 1)];
    assert_eq!(seconds(&both), (100.0 + 40.0) + (1000.0 + 200.0 + 20.0) + (100.0 + 20.0));
    // What stays on a rank is copied on its device, which takes no time for its bytes.
    assert_eq!(seconds(&[message(1, 1, 4000, 3)]), 100.0 + 2.0 * 10.0);
    // Both ranks of a host share its connection to the other host.
    assert_eq!(seconds(&[message(0, 2, 80, 0)]), 5000.0 + 10.0);
    assert_eq!(seconds(&[message(0, 2, 80, 0), message(1, 3, 80, 0)]), 5000.0 + 20.0);
    // The network and the memory of the host are used at the same time.
    assert_eq!(seconds(&[message(0, 2, 80, 0), message(0, 1, 40, 0)]), 5000.0 + 10.0);
    let rounds = MACHINE.round(4, [message(0, 1, 40, 0)]) + MACHINE.round(4, [message(0, 2, 80, 0)]);
    assert_eq!(rounds, Estimate { messages: 2, bytes: 120, staged: 0, seconds: 1010.0 + 5010.0 });
}

#[test]
fn ten_thousand_ranks_are_simulated() {
    let grid = [25, 20, 20];
    let cubes = Decomposition::with_grid(grid.map(|parts| parts * 64), grid).unwrap();
    let cubes = cubes.ghosts([(1, 1); 3]).unwrap().borders([Border::Periodic; 3]).unwrap();
    let estimate = MACHINE.round(10_000, halo_messages(&cubes, 4).unwrap());
    let bytes = 10_000 * 4 * (66 * 66 * 66 - 64 * 64 * 64);
    assert_eq!((estimate.messages, estimate.bytes, estimate.staged), (260_000, bytes, 2 * bytes));
}
