//! Ranges never overlap, neighbours are joined, and empty chunks are found: random steps against a plain model.

use super::*;

/// Checks the rules of a free list, and compares it with the list of ranges that were taken.
fn check(list: &FreeList<u64>, taken: &[ChunkRange]) {
    let mut by_chunk: Vec<_> =
        taken.iter().map(|chunk_range| (chunk_range.chunk, chunk_range.offset, chunk_range.granules)).collect();
    by_chunk.sort_unstable();
    for pair in by_chunk.windows(2) {
        let [(chunk, offset, granules), (next_chunk, next, _)] = pair else { unreachable!("windows of two") };
        assert!(chunk != next_chunk || offset + granules <= *next, "{pair:?} overlap");
    }
    for &(chunk, offset, granules) in &by_chunk {
        assert!(offset + granules <= *list.chunk(chunk), "past the end of its chunk");
    }
    let total: u64 = list.chunks.iter().map(|(_, entry)| entry.chunk).sum();
    let used: u64 = taken.iter().map(|chunk_range| chunk_range.granules).sum();
    assert_eq!((list.total, list.free), (total, total - used));
    // Neighbours are never both free: all neighbours that could be joined are joined.
    for (_, entry) in &list.chunks {
        let (mut at, mut was_free, mut end) = (entry.first, false, 0);
        while at != NONE {
            let node = list.nodes[at as usize];
            assert_eq!(node.offset, end, "a gap");
            assert!(!(node.is_free && was_free), "two free neighbours at {end}");
            (was_free, end, at) = (node.is_free, end + node.granules, node.next);
        }
        assert_eq!(end, entry.granules);
    }
}

#[test]
fn random_programs_never_overlap_and_join_all_in_the_end() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut list, mut taken) = (FreeList::default(), Vec::new());
        for _ in 0..=random.u32(0..4) {
            let granules = random.u64(1..3000);
            list.add(granules, granules);
        }
        let largest = 1 << random.u32(1..11);
        for _ in 0..400 {
            if random.bool() || taken.is_empty() {
                let granules = random.u64(1..=largest);
                let had = list.largest_free() / GRANULE;
                match list.take(granules) {
                    Some(chunk_range) => taken.push(chunk_range),
                    // A range may hide behind other ranges of its class, but not behind a class.
                    None => assert!(had < Class::at_least(granules).granules(), "{granules} of {had} free"),
                }
            } else {
                list.give(taken.swap_remove(random.usize(..taken.len())));
            }
            check(&list, &taken);
        }
        while let Some(chunk_range) = taken.pop() {
            list.give(chunk_range);
            check(&list, &taken);
        }
        let (chunks, total) = (list.n_chunks(), list.total);
        let largest = list.chunks.iter().map(|(_, entry)| entry.chunk).max().unwrap();
        assert_eq!(list.largest_free(), Class::at_most(largest).granules() * GRANULE, "something was not joined");
        assert_eq!(list.take_empty(0).len(), chunks);
        assert_eq!((list.total, list.free, list.n_chunks()), (0, 0, 0), "of {total}");
    }
}

#[test]
fn every_order_of_giving_back_joins_everything() {
    // Every split of a chunk into up to four ranges, given back in every order.
    let sizes = [[1, 1, 1, 1], [1, 2, 3, 4], [5, 1, 16, 1], [17, 31, 9, 2]];
    let orders = (0..256).map(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6]).filter(|order| {
        (0..4).all(|idx| order.contains(&idx)) // The order is a permutation.
    });
    for (order, sizes) in orders.flat_map(|order| sizes.map(|sizes| (order, sizes))) {
        for spare in [0, 1, 40] {
            let total = sizes.iter().sum::<u64>() + spare;
            let mut list = FreeList::default();
            list.add(total, total);
            let pieces = sizes.map(|granules| list.take(granules).expect("there is room for all"));
            assert_eq!(list.take(spare + 1), None);
            for idx in order {
                list.give(pieces[idx]);
            }
            let whole = list.take(total).expect("all of it again");
            assert_eq!((whole.offset, whole.granules), (0, total), "{sizes:?} and {spare} back in order {order:?}");
        }
    }
}

#[test]
fn a_chunk_can_be_taken_to_its_last_granule() {
    for granules in (1..200).chain([1000, 4095, 4096, 4097, 1_000_003, 1 << 32]) {
        let mut list = FreeList::default();
        list.add((), granules);
        let whole = list.take(granules).unwrap_or_else(|| panic!("{granules} granules are not found in as many"));
        assert_eq!(list.take(1), None);
        assert_eq!(list.take_empty(0), [], "taken, so not empty");
        list.give(whole);
        assert_eq!(list.take_empty(0), [()]);
    }
}

#[test]
fn what_fits_tightly_is_preferred() {
    let mut list = FreeList::default();
    for granules in [4096, 32, 600] {
        list.add(granules, granules);
    }
    // The granules that are taken, and the chunk that they come from. Large free ranges stay whole while smaller ones
    // are large enough.
    let cases = [(32, 32), (32, 600), (1000, 4096), (500, 600), (500, 4096)];
    for (granules, from) in cases {
        let chunk_range = list.take(granules).unwrap();
        assert_eq!(*list.chunk(chunk_range.chunk), from, "{granules} granules");
    }
}

#[test]
fn empty_chunks_go_the_largest_first_until_little_is_kept() {
    // The most granules to keep, and the chunks that are removed.
    let cases: [(u64, &[u64]); 5] = [(0, &[40, 30, 20]), (20, &[40, 30]), (60, &[40]), (89, &[40]), (90, &[])];
    for (keep, gone) in cases {
        let mut list = FreeList::default();
        for granules in [20, 10, 40, 30] {
            list.add(granules, granules);
        }
        let held = list.take(10).unwrap();
        assert_eq!(*list.chunk(held.chunk), 10);
        assert_eq!(list.take_empty(keep), gone, "keeping {keep}");
    }
}
