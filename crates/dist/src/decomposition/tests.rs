//! Decompositions and schedules against definitions for single elements.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::region::product;
use super::{Border, Decomposition, DecompositionError, HaloMessage, HaloSchedule, Region};

fn any_border() -> impl Strategy<Value = Border> {
    prop_oneof![Just(Border::Fixed), Just(Border::Periodic), Just(Border::Reflecting)]
}

fn any_decomposition() -> impl Strategy<Value = Decomposition> {
    let axis = (1..10_usize, 1..5_usize, (0..4_usize, 0..4_usize), any_border());
    prop::collection::vec(axis, 1..4).prop_map(|axes| {
        let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
        let grid: Vec<usize> = axes.iter().map(|axis| axis.1).collect();
        let ghosts: Vec<(usize, usize)> = axes.iter().map(|axis| axis.2).collect();
        let borders: Vec<Border> = axes.iter().map(|axis| axis.3).collect();
        let parts = Decomposition::with_grid(shape, grid).unwrap();
        parts.ghosts(ghosts).unwrap().borders(borders).unwrap()
    })
}

/// All indices of a box of `shape`, counted from 0.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let ranges: Vec<Vec<usize>> = shape.iter().map(|&len| (0..len).collect()).collect();
    product(&ranges.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The element that is shown at a place of an axis, by walking back into the array.
fn shown(mut place: i64, len: i64, border: Border) -> Option<i64> {
    while !(0..len).contains(&place) {
        place = match border {
            Border::Fixed => return None,
            Border::Periodic => place + if place < 0 { len } else { -len },
            Border::Reflecting => {
                if place < 0 {
                    -1 - place
                } else {
                    2 * len - 1 - place
                }
            }
        };
    }
    Some(place)
}

/// What each ghost element of a rank has to be after an exchange: local index and global index, sorted.
fn expected(parts: &Decomposition, rank: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let part = parts.part(rank).unwrap();
    if part.size() == 0 {
        return Vec::new();
    }
    let axes: Vec<_> = parts.surroundings().collect();
    (indices(&parts.local_shape(rank).unwrap()).into_iter())
        .filter_map(|local| {
            let places: Vec<i64> =
                (0..local.len()).map(|axis| (part.start[axis] + local[axis]) as i64 - axes[axis].1.0 as i64).collect();
            let own = (0..local.len()).all(|axis| {
                let start = part.start[axis] as i64;
                (start..start + part.shape[axis] as i64).contains(&places[axis])
            });
            let global = (places.iter().zip(&axes))
                .map(|(&place, axis)| shown(place, axis.0.len as i64, axis.2).map(|at| usize::try_from(at).unwrap()))
                .collect::<Option<Vec<usize>>>();
            if own { None } else { Some((local, global?)) }
        })
        .collect()
}

/// Elements that a message writes: index in the receiver's array and in the sender's, one element after the other.
fn written(message: &HaloMessage) -> Vec<(Vec<usize>, Vec<usize>)> {
    let Region { start, shape } = &message.source;
    let element = |offset: &[usize]| -> Vec<usize> {
        (0..shape.len())
            .map(|axis| {
                let last = shape[axis] - 1;
                start[axis] + if message.mirrored[axis] { last - offset[axis] } else { offset[axis] }
            })
            .collect()
    };
    let target = |offset: &[usize]| message.target.iter().zip(offset).map(|(first, at)| first + at).collect();
    indices(shape).iter().map(|offset| (target(offset), element(offset))).collect()
}

/// The global index of each element that a rank's array shows, by the index in this array: at first only of its part.
fn own_elements(parts: &Decomposition, rank: usize) -> BTreeMap<Vec<usize>, Vec<usize>> {
    let part = parts.part(rank).unwrap();
    let plus = |at: &[usize], first: &[usize]| -> Vec<usize> { at.iter().zip(first).map(|(a, b)| a + b).collect() };
    let ghosts: Vec<usize> = parts.widths().iter().map(|width| width.0).collect();
    indices(&part.shape).iter().map(|at| (plus(at, &ghosts), plus(at, &part.start))).collect()
}

proptest! {
    #[test]
    fn each_element_has_the_owner_whose_part_contains_it(parts in any_decomposition()) {
        for index in indices(parts.shape()) {
            let owners: Vec<usize> =
                (0..parts.ranks()).filter(|&rank| parts.part(rank).unwrap().contains(&index)).collect();
            prop_assert_eq!(owners, vec![parts.owner(&index).unwrap()]);
        }
        prop_assert_eq!(parts.owner(parts.shape()), None);
    }

    #[test]
    fn parts_differ_by_one_element_along_an_axis(parts in any_decomposition()) {
        for axis in 0..parts.shape().len() {
            let lens: Vec<usize> =
                (0..parts.ranks()).map(|rank| parts.part(rank).unwrap().shape[axis]).collect();
            prop_assert!(lens.iter().max().unwrap() - lens.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn an_exchange_fills_each_ghost_element_once_with_its_element(parts in any_decomposition()) {
        let schedule = HaloSchedule::new(&parts);
        let mut arrays: Vec<_> = (0..parts.ranks()).map(|rank| own_elements(&parts, rank)).collect();
        for (rank, array) in arrays.iter_mut().enumerate() {
            for (target, source) in schedule.own(rank).unwrap().iter().flat_map(written) {
                let element = array[&source].clone();
                prop_assert!(array.insert(target, element).is_none());
            }
        }
        let sent = arrays.clone();
        for (rank, array) in arrays.iter_mut().enumerate() {
            for message in schedule.incoming(rank).unwrap() {
                for (target, source) in written(&message) {
                    prop_assert!(array.insert(target, sent[message.sender][&source].clone()).is_none());
                }
            }
            let own = own_elements(&parts, rank);
            let ghosts: Vec<_> = array.clone().into_iter().filter(|(local, _)| !own.contains_key(local)).collect();
            prop_assert_eq!(ghosts, expected(&parts, rank));
        }
    }

    #[test]
    fn senders_and_receivers_list_the_same_messages_in_the_same_order(parts in any_decomposition()) {
        let schedule = HaloSchedule::new(&parts);
        let outgoing: Vec<Vec<HaloMessage>> =
            (0..parts.ranks()).map(|rank| schedule.outgoing(rank).unwrap()).collect();
        let mut received = 0;
        for rank in 0..parts.ranks() {
            let incoming = schedule.incoming(rank).unwrap();
            received += incoming.len();
            for (sender, sent) in outgoing.iter().enumerate() {
                let ours: Vec<_> = incoming.iter().filter(|message| message.sender == sender).collect();
                let theirs: Vec<_> = sent.iter().filter(|message| message.receiver == rank).collect();
                prop_assert_eq!(ours, theirs);
            }
        }
        prop_assert_eq!(received, outgoing.iter().map(Vec::len).sum::<usize>());
    }

    #[test]
    fn overlaps_cover_a_part_once_and_lie_in_the_other_parts(parts in any_decomposition(), ranks in 1..9_usize) {
        let other = Decomposition::over(parts.shape(), ranks).unwrap();
        for rank in 0..parts.ranks() {
            let part = parts.part(rank).unwrap();
            let overlaps = parts.overlaps(rank, &other).unwrap();
            prop_assert_eq!(overlaps.iter().map(|overlap| overlap.region.size()).sum::<usize>(), part.size());
            for index in overlaps.iter().flat_map(|overlap| {
                let Region { start, shape } = overlap.region.clone();
                let element = move |offset: Vec<usize>| -> Vec<usize> {
                    start.iter().zip(offset).map(|(first, at)| first + at).collect()
                };
                indices(&shape).into_iter().map(element).map(|index| (overlap.rank, index)).collect::<Vec<_>>()
            }) {
                prop_assert!(part.contains(&index.1));
                prop_assert_eq!(other.owner(&index.1), Some(index.0));
            }
        }
    }

    #[test]
    fn a_chosen_grid_has_all_ranks(shape in prop::collection::vec(1..2000_usize, 1..5), ranks in 1..200_usize) {
        prop_assert_eq!(Decomposition::over(shape, ranks).unwrap().ranks(), ranks);
    }
}

#[test]
fn grids_cut_through_the_fewest_elements() {
    let grid = |shape: &[usize], ranks| Decomposition::over(shape, ranks).unwrap().grid().to_vec();
    assert_eq!(grid(&[512, 512, 512], 8), [2, 2, 2]);
    assert_eq!(grid(&[1000, 10], 4), [4, 1]);
    assert_eq!(grid(&[10, 1000], 7), [1, 7]);
    assert_eq!(grid(&[100, 100], 6), [3, 2]);
    // [3, 2, 14] cuts through fewer elements, but leaves ranks without any.
    assert_eq!(grid(&[4, 3, 13], 84), [4, 3, 7]);
}

#[test]
fn ten_thousand_ranks_exchange_what_their_surface_has() {
    let parts = Decomposition::with_grid([250, 200, 200], [25, 20, 20]).unwrap();
    let parts = parts.ghosts([(1, 1); 3]).unwrap().borders([Border::Periodic; 3]).unwrap();
    let schedule = HaloSchedule::new(&parts);
    let messages: Vec<HaloMessage> = (0..10_000).flat_map(|rank| schedule.outgoing(rank).unwrap()).collect();
    assert_eq!(messages.len(), 260_000);
    let elements: usize = messages.iter().map(|message| message.source.size()).sum();
    assert_eq!(elements, 10_000 * (12 * 12 * 12 - 10 * 10 * 10));
}

#[test]
fn ghost_zones_of_axes_that_are_not_divided_are_filled_first_and_sent_with_the_rows() {
    let parts = Decomposition::with_grid([8, 5, 6], [2, 1, 1]).unwrap().ghosts([(1, 1); 3]).unwrap();
    let boxes = |messages: Vec<HaloMessage>| -> Vec<Vec<usize>> {
        messages.into_iter().map(|message| message.source.shape).collect()
    };
    let periodic = HaloSchedule::new(&parts.clone().borders([Border::Periodic; 3]).unwrap());
    assert_eq!(boxes(periodic.own(1).unwrap()), [[4, 1, 6], [4, 1, 6], [4, 7, 1], [4, 7, 1]]);
    assert_eq!(boxes(periodic.outgoing(1).unwrap()), [[1, 7, 8], [1, 7, 8]]);
    // What a program wrote beside a fixed border stays with its rank.
    let fixed = [Border::Periodic, Border::Fixed, Border::Reflecting];
    let fixed = HaloSchedule::new(&parts.borders(fixed).unwrap());
    assert_eq!(boxes(fixed.own(1).unwrap()), [[4, 5, 1], [4, 5, 1]]);
    assert_eq!(boxes(fixed.outgoing(1).unwrap()), [[1, 5, 8], [1, 5, 8]]);
}

#[test]
fn refusals_name_the_culprit() {
    let refused = |parts: Result<Decomposition, DecompositionError>| parts.unwrap_err();
    assert_eq!(refused(Decomposition::over([4], 0)), DecompositionError::NoRanks);
    assert_eq!(refused(Decomposition::over([], 2)), DecompositionError::NoAxes { ranks: 2 });
    let axes = DecompositionError::Axes { what: "the grid of ranks", given: 1, ndim: 2 };
    assert_eq!(refused(Decomposition::with_grid([4, 4], [2])), axes);
    let large = DecompositionError::TooLarge { what: "elements", sizes: vec![usize::MAX, 2] };
    assert_eq!(refused(Decomposition::with_grid([usize::MAX, 2], [1, 1])), large);
    let half = Decomposition::over([4], 2).unwrap();
    assert_eq!(half.part(2).unwrap_err(), DecompositionError::Rank { rank: 2, ranks: 2 });
    let shapes = DecompositionError::Shapes { ours: vec![4], theirs: vec![5] };
    assert_eq!(half.overlaps(0, &Decomposition::over([5], 2).unwrap()).unwrap_err(), shapes);
}

#[test]
fn an_array_without_axes_has_one_element_on_one_rank() {
    let scalar = Decomposition::over([], 1).unwrap();
    assert_eq!((scalar.ranks(), scalar.owner(&[]), scalar.part(0).unwrap().size()), (1, Some(0), 1));
    assert!(HaloSchedule::new(&scalar).incoming(0).unwrap().is_empty());
}

#[test]
fn a_mirrored_zone_is_one_message() {
    let parts = Decomposition::with_grid([6], [2]).unwrap().ghosts([(3, 3)]).unwrap();
    let schedule = HaloSchedule::new(&parts.borders([Border::Reflecting]).unwrap());
    let message = |sender, start, target, mirrored| HaloMessage {
        sender,
        receiver: 0,
        source: Region { start: vec![start], shape: vec![3] },
        target: vec![target],
        mirrored: vec![mirrored],
    };
    assert_eq!(schedule.incoming(0).unwrap(), [message(0, 3, 0, true), message(1, 3, 6, false)]);
}
