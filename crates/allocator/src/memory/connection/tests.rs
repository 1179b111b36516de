//! Every rule of the connection, on recorded snapshots of real devices and on devices that are made up.

use vkarray_driver::{DeviceInfo, External, HandleSupport};

use super::*;
use crate::kind::MemoryKind;
use crate::kind::memory_kind::tests::machine;

const NONE: MemoryConnection = MemoryConnection::None;

fn unified(how: UnifiedBy, sync: ConnectionSync) -> MemoryConnection {
    MemoryConnection::Unified { how, sync }
}

fn migratable(path: MigrationPath, sync: ConnectionSync) -> MemoryConnection {
    MemoryConnection::Migratable { path, sync }
}

/// A device that exports, imports, or both.
fn support(letters: &str) -> HandleSupport {
    HandleSupport { exportable: letters.contains('e'), importable: letters.contains('i'), dedicated_only: false }
}

/// A device of this UUID that exports and imports nothing.
fn alone(uuid: &str) -> DeviceInfo {
    let mut device = machine("h100_580.159");
    (device.uuid, device.external) = (uuid.to_owned(), External::default());
    device
}

fn device(uuid: &str, change: impl FnOnce(&mut External)) -> DeviceInfo {
    let mut device = alone(uuid);
    change(&mut device.external);
    device
}

/// The answer between two contexts.
fn between(
    src: &DeviceInfo,
    dst: &DeviceInfo,
    traits: &ConnectionTraits,
    trials: &ConnectionTrials,
) -> MemoryConnection {
    let (src, dst) = ([src.clone()], [dst.clone()]);
    let from = ConnectionEnd { context: 1, devices: &src, device: 0, is_lost: false };
    let to = ConnectionEnd { context: 2, devices: &dst, device: 0, is_lost: false };
    memory_connection(&from, &to, traits, trials).unwrap()
}

/// A group of two devices, whose heaps have one instance for each device or one in common.
fn group(multi_instance: bool) -> Vec<DeviceInfo> {
    let mut devices = vec![alone("a"), alone("b")];
    for device in &mut devices {
        device.external.group = vec!["a".to_owned(), "b".to_owned()];
        device.memory_heaps.iter_mut().for_each(|heap| heap.multi_instance = multi_instance);
    }
    devices
}

fn within(devices: &[DeviceInfo], traits: &ConnectionTraits, trials: &ConnectionTrials) -> MemoryConnection {
    let from = ConnectionEnd { context: 1, devices, device: 0, is_lost: false };
    memory_connection(&from, &ConnectionEnd { device: 1, ..from }, traits, trials).unwrap()
}

/// Two H200s of one host, NVIDIA 580.159.04, joined by NVLink. Their driver has groups of one device only.
#[test]
fn two_real_gpus_share_pages_of_the_host_and_one_opened_twice_shares_its_memory() {
    use ConnectionSync::{Gpu, HostWait};
    let gpus = ["h200_580.159_0", "h200_580.159_1"].map(machine);
    let pages = ConnectionTraits { host_pages: Some(4096), ..ConnectionTraits::of(MemoryKind::Pinned) };
    let exportable = ConnectionTraits::of(MemoryKind::Device).exportable(true);
    let trials = ConnectionTrials::default();
    for (from, to) in [(0, 1), (1, 0)] {
        let [from, to] = [&gpus[from], &gpus[to]];
        let bounce = migratable(MigrationPath::SharedHostBounce, HostWait);
        assert_eq!(between(from, to, &ConnectionTraits::default(), &trials), bounce, "R12");
        assert_eq!(between(from, to, &exportable, &trials), bounce, "R12: R8 needs one device");
        assert_eq!(between(from, to, &pages, &trials), unified(UnifiedBy::SamePages, HostWait), "R7");
        assert_eq!(between(from, from, &exportable, &trials), unified(UnifiedBy::Exported, Gpu), "R8");
        let other = between(from, from, &ConnectionTraits::default(), &trials);
        assert_eq!(other, migratable(MigrationPath::ExportedBounce, Gpu), "R9");
    }
}

#[test]
fn a_device_outside_its_context_is_refused_and_a_lost_context_reaches_nothing() {
    let devices = [alone("a")];
    let end = ConnectionEnd { context: 1, devices: &devices, device: 0, is_lost: false };
    let (outside, lost) = (ConnectionEnd { device: 1, ..end }, ConnectionEnd { is_lost: true, ..end });
    let (traits, trials) = (ConnectionTraits::default(), ConnectionTrials::default());
    let ask = |src, dst| memory_connection(src, dst, &traits, &trials);
    for (src, dst) in [(&outside, &end), (&end, &outside), (&outside, &lost)] {
        let refused = ask(src, dst).unwrap_err();
        assert!(matches!(refused, Error::InvalidDevice { device: 1, n_devices: 1 }), "{refused}"); // R0
    }
    for (src, dst) in [(&lost, &end), (&end, &lost), (&lost, &lost)] {
        assert_eq!(ask(src, dst).unwrap(), NONE); // R1
    }
}

#[test]
fn one_device_of_one_context_is_unified_for_every_kind_and_limit() {
    let devices = [alone("a")];
    let end = ConnectionEnd { context: 1, devices: &devices, device: 0, is_lost: false };
    for kind in MemoryKind::ALL {
        for limit in ConnectionLimit::ALL {
            let traits = ConnectionTraits::of(kind).at_most(limit);
            let answer = memory_connection(&end, &end, &traits, &ConnectionTrials::default()).unwrap();
            assert_eq!(answer, unified(UnifiedBy::Identity, ConnectionSync::Gpu), "{kind}, {limit:?}"); // R2
        }
    }
}

#[test]
fn the_devices_of_a_group_reach_each_other_as_their_heaps_and_peer_features_say() {
    use ConnectionSync::Gpu;
    let none = PeerFeatures::default();
    let reads = PeerFeatures { generic_src: true, ..none };
    let writes = PeerFeatures { generic_src: true, generic_dst: true, ..none };
    let (copies_from, copies_to) = (PeerFeatures { copy_src: true, ..none }, PeerFeatures { copy_dst: true, ..none });
    let bound = ConnectionTraits { peer_bound: true, ..ConnectionTraits::default() };
    let (unbound, reading) = (ConnectionTraits::default(), ConnectionTraits { writes: false, ..bound });
    let (peer, copy) = (unified(UnifiedBy::Peer, Gpu), migratable(MigrationPath::GroupCopy, Gpu));
    let (single, bounce) = (unified(UnifiedBy::SingleInstanceHeap, Gpu), migratable(MigrationPath::HeapBounce, Gpu));
    // Instances, memory, what the target does with the source's memory, what the source does with the target's memory,
    // answer.
    let cases = [
        (false, bound, none, none, single),            // R3
        (false, unbound, writes, copies_to, single),   // R3
        (true, bound, writes, none, peer),             // R4
        (true, bound, reads, none, bounce),            // The target cannot write the memory.
        (true, reading, reads, none, peer),            // R4, to be read alone
        (true, unbound, writes, none, bounce),         // Not bound for peers.
        (true, bound, none, writes, bounce),           // The wrong direction.
        (true, bound, copies_from, none, copy),        // R5
        (true, bound, none, copies_to, copy),          // R5: the source copies.
        (true, bound, copies_to, copies_from, bounce), // The wrong directions.
        (true, unbound, none, none, bounce),           // R6
    ];
    for (multi_instance, traits, target_at_source, source_at_target, expected) in cases {
        let trials = ConnectionTrials { target_at_source, source_at_target, ..ConnectionTrials::default() };
        let answer = within(&group(multi_instance), &traits, &trials);
        assert_eq!(answer, expected, "{multi_instance}, {traits:?}, {trials:?}");
    }
    // A limit gives the next weaker connection.
    let trials = ConnectionTrials { target_at_source: writes, ..ConnectionTrials::default() };
    let limited = |limit| within(&group(true), &bound.at_most(limit), &trials);
    assert_eq!(limited(ConnectionLimit::Migratable), bounce);
    assert_eq!(limited(ConnectionLimit::None), NONE);
}

#[test]
fn two_contexts_reach_each_other_by_the_first_rule_that_holds() {
    use ConnectionSync::HostWait;
    let fd = |uuid, letters: &str| device(uuid, |external| external.memory_fd = support(letters));
    let pages = |uuid| device(uuid, |external| external.host_memory = support("i"));
    let dma_buf = |uuid, letters: &str| {
        device(uuid, |external| (external.dma_buf, external.dma_buf_copies) = (support(letters), support(letters)))
    };
    let dma_copies = |uuid| device(uuid, |external| external.dma_buf_copies = support("ei"));
    let both =
        |uuid| device(uuid, |external| (external.memory_fd, external.host_memory) = (support("ei"), support("i")));
    let (plain, exportable) = (ConnectionTraits::default(), ConnectionTraits::default().exportable(true));
    let at = |alignment| ConnectionTraits { host_pages: Some(alignment), ..ConnectionTraits::of(MemoryKind::Pinned) };
    let as_dma_buf = ConnectionTraits { dma_buf: true, ..plain };
    let untried = ConnectionTrials::default();
    let passed = ConnectionTrials { dma_buf: Trial::Passed, dma_buf_copies: Trial::Passed, ..untried };
    let failed = ConnectionTrials { same_pages: Trial::Failed, exported: Trial::Failed, ..untried };
    let exported = unified(UnifiedBy::Exported, HostWait);
    let bounce = migratable(MigrationPath::ExportedBounce, HostWait);
    let shared = migratable(MigrationPath::SharedHostBounce, HostWait);
    let same_pages = unified(UnifiedBy::SamePages, HostWait);
    // Source, target, memory, trials, answer.
    let cases = [
        (alone("a"), pages("b"), at(4096), untried, same_pages),     // R7
        (pages("a"), pages("b"), at(64), untried, shared),           // Not whole pages.
        (pages("a"), pages("b"), at(8192), failed, shared),          // It failed before.
        (alone("a"), alone("b"), at(4096), untried, NONE),           // The target imports none.
        (fd("a", "e"), fd("a", "i"), exportable, untried, exported), // R8
        (fd("a", "i"), fd("a", "e"), exportable, untried, NONE),     // The wrong direction.
        (fd("a", "ei"), fd("b", "ei"), exportable, untried, NONE),   // Another device.
        (fd("a", "ei"), fd("a", "ei"), exportable, failed, NONE),    // It failed before.
        (fd("", "ei"), fd("", "ei"), exportable, untried, NONE),     // Devices without a UUID.
        (fd("a", "ei"), fd("a", "ei"), plain, untried, bounce),      // R9
        (both("a"), both("a"), plain, failed, shared),               // The next weaker connection.
        (dma_buf("a", "e"), dma_buf("b", "i"), as_dma_buf, passed, unified(UnifiedBy::DmaBuf, HostWait)), // R10
        (dma_buf("a", "ei"), dma_buf("b", "ei"), as_dma_buf, untried, NONE), // No driver promises it.
        (dma_buf("a", "ei"), dma_buf("b", "ei"), plain, passed, bounce), // R11: not asked for in place.
        (dma_copies("a"), dma_copies("b"), as_dma_buf, passed, bounce), // R11: for copies alone.
        (dma_buf("a", "ei"), dma_buf("a", "ei"), as_dma_buf, passed, NONE), // Not another device.
        (pages("a"), pages("b"), plain, untried, shared),            // R12
        (pages("a"), alone("b"), plain, untried, NONE),              // R13
        (alone("a"), alone("a"), exportable, passed, NONE),          // R13
    ];
    for (idx, (src, dst, traits, trials, expected)) in cases.into_iter().enumerate() {
        assert_eq!(between(&src, &dst, &traits, &trials), expected, "case {idx}");
    }
}

#[test]
fn another_build_of_the_driver_reads_no_opaque_descriptors() {
    let here = device("a", |external| external.memory_fd = support("ei"));
    let mut there = here.clone();
    there.driver.uuid = "another".to_owned();
    let answer = between(&here, &there, &ConnectionTraits::default().exportable(true), &ConnectionTrials::default());
    assert_eq!(answer, NONE);
}

#[test]
fn the_device_waits_where_a_timeline_passes_in_one_of_the_directions() {
    use ConnectionSync::{Gpu, HostWait};
    let with = |uuid, letters: &str| {
        device(uuid, |external| (external.memory_fd, external.timeline_fd) = (support("ei"), support(letters)))
    };
    let failed = ConnectionTrials { timeline: Trial::Failed, ..ConnectionTrials::default() };
    // The timelines of source and target, the results of trials, and how the sides wait.
    let cases = [
        ("e", "i", ConnectionTrials::default(), Gpu),
        ("i", "e", ConnectionTrials::default(), Gpu),
        ("e", "e", ConnectionTrials::default(), HostWait),
        ("ei", "", ConnectionTrials::default(), HostWait),
        ("ei", "ei", failed, HostWait),
    ];
    for (src, dst, trials, sync) in cases {
        let answer = between(&with("a", src), &with("a", dst), &ConnectionTraits::default(), &trials);
        assert_eq!(answer, migratable(MigrationPath::ExportedBounce, sync), "{src}, {dst}");
    }
    let pages =
        |uuid| device(uuid, |external| (external.host_memory, external.timeline_fd) = (support("i"), support("ei")));
    let answer = between(&pages("a"), &pages("b"), &ConnectionTraits::default(), &ConnectionTrials::default());
    assert_eq!(answer.sync(), Some(HostWait), "timelines of one device passed to another");
}

#[test]
fn a_limit_takes_the_strongest_answer_below_it() {
    use ConnectionSync::HostWait;
    let able = device("a", |external| (external.memory_fd, external.host_memory) = (support("ei"), support("i")));
    let exportable = ConnectionTraits::default().exportable(true);
    let limited = |limit| between(&able, &able, &exportable.at_most(limit), &ConnectionTrials::default());
    assert_eq!(limited(ConnectionLimit::Unified), unified(UnifiedBy::Exported, HostWait));
    assert_eq!(limited(ConnectionLimit::Migratable), migratable(MigrationPath::ExportedBounce, HostWait));
    assert_eq!(limited(ConnectionLimit::HostPages), migratable(MigrationPath::SharedHostBounce, HostWait));
    assert_eq!(limited(ConnectionLimit::None), NONE);
    let strengths = ConnectionLimit::ALL.map(|limit| limited(limit).strength());
    assert_eq!(strengths, ConnectionLimit::ALL, "an answer is as strong as its limit where all ways are there");
    let weaker = ConnectionLimit::ALL.map(ConnectionLimit::weaker);
    assert_eq!((weaker[0], &weaker[1..]), (ConnectionLimit::None, &ConnectionLimit::ALL[..3]));
}

#[test]
fn a_noted_failure_weakens_the_next_answer_until_nothing_is_left() {
    let able = device("a", |external| (external.memory_fd, external.host_memory) = (support("ei"), support("i")));
    let traits = ConnectionTraits { host_pages: Some(4096), exportable: true, ..ConnectionTraits::default() };
    let (mut trials, mut answers) = (ConnectionTrials::default(), Vec::new());
    loop {
        let answer = between(&able, &able, &traits, &trials);
        answers.push(answer.to_string());
        if answer == NONE {
            break;
        }
        trials.note_failure(answer);
    }
    let expected = [
        "unified (same pages, host waits)",
        "unified (exported memory, host waits)",
        "migratable (host pages between, host waits)",
        "none",
    ];
    assert_eq!(answers, expected);
}

#[test]
fn the_variable_names_the_strongest_answer() {
    for (text, limit) in [
        ("", ConnectionLimit::Unified),
        ("unified", ConnectionLimit::Unified),
        ("migratable", ConnectionLimit::Migratable),
        ("host-pages", ConnectionLimit::HostPages),
        ("none", ConnectionLimit::None),
    ] {
        assert_eq!(ConnectionLimit::parse(text).unwrap(), limit, "{text}");
    }
    let refused = ConnectionLimit::parse("all").unwrap_err().to_string();
    assert_eq!(refused, "\"all\" in VKARRAY_MEMORY_CONNECTION is not `none`, `host-pages`, `migratable` or `unified`");
}
