//! The messages of the model against those that arrays exchange, and its times against sums made by hand.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]

mod counted;

use std::sync::LazyLock;
use std::sync::atomic::Ordering::SeqCst;

use counted::{Counted, Counts};
use proptest::prelude::*;
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
