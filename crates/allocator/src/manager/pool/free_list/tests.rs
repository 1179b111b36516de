//! Ranges never overlap, neighbours are joined, and empty chunks are found: random steps against a plain model.

use super::*;

/// What a ground must be, checked against a list of what was taken.
fn check(ground: &Ground<u64>, taken: &[Piece]) {
    let mut by_chunk: Vec<_> = taken.iter().map(|piece| (piece.chunk, piece.offset, piece.granules)).collect();
    by_chunk.sort_unstable();
    for pair in by_chunk.windows(2) {
        let [(chunk, offset, granules), (next_chunk, next, _)] = pair else { unreachable!("windows of two") };
        assert!(chunk != next_chunk || offset + granules <= *next, "{pair:?} overlap");
    }
    for &(chunk, offset, granules) in &by_chunk {
        assert!(offset + granules <= *ground.chunk(chunk), "past the end of its chunk");
    }
    let total: u64 = ground.chunks.iter().map(|(_, plot)| plot.chunk).sum();
    let used: u64 = taken.iter().map(|piece| piece.granules).sum();
    assert_eq!((ground.total, ground.free), (total, total - used));
    // Neighbours are never both free: everything that could be joined is.
    for (_, plot) in &ground.chunks {
        let (mut at, mut was_free, mut end) = (plot.first, false, 0);
        while at != NONE {
            let node = ground.nodes[at as usize];
            assert_eq!(node.offset, end, "a gap");
            assert!(!(node.is_free && was_free), "two free neighbours at {end}");
            (was_free, end, at) = (node.is_free, end + node.granules, node.behind);
        }
        assert_eq!(end, plot.granules);
    }
}

#[test]
fn random_programs_never_overlap_and_join_all_in_the_end() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut ground, mut taken) = (Ground::default(), Vec::new());
        for _ in 0..=random.u32(0..4) {
            let granules = random.u64(1..3000);
            ground.add(granules, granules);
        }
        let largest = 1 << random.u32(1..11);
        for _ in 0..400 {
            if random.bool() || taken.is_empty() {
                let granules = random.u64(1..=largest);
                let had = ground.largest_free() / GRANULE;
                match ground.take(granules) {
                    Some(piece) => taken.push(piece),
                    // A range may hide behind others of its class, never behind a class.
                    None => assert!(had < Class::at_least(granules).granules(), "{granules} of {had} free"),
                }
            } else {
                ground.give(taken.swap_remove(random.usize(..taken.len())));
            }
            check(&ground, &taken);
        }
        while let Some(piece) = taken.pop() {
            ground.give(piece);
            check(&ground, &taken);
        }
        let (chunks, total) = (ground.n_chunks(), ground.total);
        let largest = ground.chunks.iter().map(|(_, plot)| plot.chunk).max().unwrap();
        assert_eq!(ground.largest_free(), Class::at_most(largest).granules() * GRANULE, "something was not joined");
        assert_eq!(ground.take_empty(0).len(), chunks);
        assert_eq!((ground.total, ground.free, ground.n_chunks()), (0, 0, 0), "of {total}");
    }
}

#[test]
fn every_order_of_giving_back_joins_everything() {
    // Every split of a chunk into up to four ranges, given back in every order.
    let sizes = [[1, 1, 1, 1], [1, 2, 3, 4], [5, 1, 16, 1], [17, 31, 9, 2]];
    let orders = (0..256).map(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6]).filter(|order| {
        (0..4).all(|idx| order.contains(&idx)) // A permutation.
    });
    for (order, sizes) in orders.flat_map(|order| sizes.map(|sizes| (order, sizes))) {
        for spare in [0, 1, 40] {
            let total = sizes.iter().sum::<u64>() + spare;
            let mut ground = Ground::default();
            ground.add(total, total);
            let pieces = sizes.map(|granules| ground.take(granules).expect("there is room for all"));
            assert_eq!(ground.take(spare + 1), None);
            for idx in order {
                ground.give(pieces[idx]);
            }
            let whole = ground.take(total).expect("all of it again");
            assert_eq!((whole.offset, whole.granules), (0, total), "{sizes:?} and {spare} back in order {order:?}");
        }
    }
}

#[test]
fn a_chunk_can_be_taken_to_its_last_granule() {
    for granules in (1..200).chain([1000, 4095, 4096, 4097, 1_000_003, 1 << 32]) {
        let mut ground = Ground::default();
        ground.add((), granules);
        let whole = ground.take(granules).unwrap_or_else(|| panic!("{granules} granules are not found in as many"));
        assert_eq!(ground.take(1), None);
        assert_eq!(ground.take_empty(0), [], "taken, so not empty");
        ground.give(whole);
        assert_eq!(ground.take_empty(0), [()]);
    }
}

#[test]
fn what_fits_tightly_is_preferred() {
    let mut ground = Ground::default();
    for granules in [4096, 32, 600] {
        ground.add(granules, granules);
    }
    // PoolAttempt, the chunk it comes from. Large free ranges stay whole while smaller ones serve.
    let cases = [(32, 32), (32, 600), (1000, 4096), (500, 600), (500, 4096)];
    for (granules, from) in cases {
        let piece = ground.take(granules).unwrap();
        assert_eq!(*ground.chunk(piece.chunk), from, "{granules} granules");
    }
}

#[test]
fn empty_chunks_go_the_largest_first_until_little_is_kept() {
    // Kept at most, chunks that go.
    let cases: [(u64, &[u64]); 5] = [(0, &[40, 30, 20]), (20, &[40, 30]), (60, &[40]), (89, &[40]), (90, &[])];
    for (keep, gone) in cases {
        let mut ground = Ground::default();
        for granules in [20, 10, 40, 30] {
            ground.add(granules, granules);
        }
        let held = ground.take(10).unwrap();
        assert_eq!(*ground.chunk(held.chunk), 10);
        assert_eq!(ground.take_empty(keep), gone, "keeping {keep}");
    }
}
