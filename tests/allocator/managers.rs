//! The conformance checks of memory managers: of the built-in managers, of adaptors, of the example plugin, and of
//! wrong managers (`managers/wrong.rs`), whose faults the checks must detect. Checks with failing calls are in
//! `../faults/managers.rs`.

#[path = "../../crates/allocator/examples/plugin/third_party.rs"]
mod third_party;
mod wrong;

use std::io;

use std::sync::Arc;

use vkarray::Context;
use vkarray::device::{Device, Instance};
use vkarray::memory::MemoryKind;
use vkarray::memory::managers::{
    AllocationStatistics, ArenaManager, FailureCallback, HostOnlyMemoryManager, Limiting, Logging, ManagerFactory,
    MemoryManager, PassthroughManager, PoolManager, Tracking, Verdict,
};
use vkarray_allocator::{Adaptor, LogStep, read_log};
use vkarray_conformance::{Conformance, Outcome, Report};

use self::third_party::GpuAllocatorPlugin;
use self::wrong::Wrong;
use crate::fixture::kernels::{keep_busy, spin};
use crate::fixture::{Fixture, child, contents};

fn report_on<M: MemoryManager + 'static>(fixture: &Fixture, make: impl Fn() -> M + Send + Sync + 'static) -> Report {
    let factory = ManagerFactory::new(move || Ok(Box::new(make())));
    Conformance::new(fixture.device(), factory).run()
}

/// Judges a manager. `skipped` are the checks that may be skipped, beside the checks that depend on the device.
fn assert_conforms<M: MemoryManager + 'static>(make: impl Fn() -> M + Send + Sync + 'static, skipped: &[&str]) {
    let fixture = Fixture::open();
    let report = report_on(&fixture, make);
    assert!(report.is_conforming(), "{report}");
    let allowed = [skipped, &["beyond-4-gib", "ipc", "mempin", "failing-start", "failing-calls"]].concat();
    for (name, outcome) in &report.checks {
        assert!(*outcome == Outcome::Passed || allowed.contains(name), "{name} was not checked:\n{report}");
    }
}

#[test]
fn the_plain_manager_conforms() {
    assert_conforms(PassthroughManager::new, &["counters"]);
}

#[test]
fn the_pool_conforms() {
    assert_conforms(PoolManager::new, &[]);
}

#[test]
fn a_pool_with_a_limit_conforms() {
    assert_conforms(|| PoolManager::with_limit(1 << 30), &[]);
}

#[test]
fn an_arena_conforms() {
    // The frames hold all memory that a check asks for.
    assert_conforms(|| ArenaManager::new(Box::new(PoolManager::new()), 2, 256 << 20).unwrap(), &["labels"]);
}

/// An arena that begins the next frame after each free, if it can.
#[derive(Debug)]
struct EagerArena(ArenaManager);

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl Adaptor for EagerArena {
    fn inner(&self) -> &dyn MemoryManager {
        &self.0
    }

    fn freed(&self, _: u64) {
        let _ = self.0.next_frame(); // Fails while a block of the oldest frame is alive.
    }
}

#[test]
fn an_arena_that_begins_a_frame_after_every_free_conforms() {
    let make = || EagerArena(ArenaManager::new(Box::new(PassthroughManager::new()), 3, 64 << 20).unwrap());
    assert_conforms(make, &["labels", "counters"]);
}

#[test]
fn adaptors_conform() {
    fn around<M: MemoryManager>(inner: M) -> impl MemoryManager {
        let limited = Limiting::new(inner, 1 << 40);
        let asked = FailureCallback::new(AllocationStatistics::new(limited), |_, _| Verdict::GiveUp);
        Logging::new(Tracking::new(asked), io::sink())
    }
    assert_conforms(|| around(PassthroughManager::new()), &["counters"]);
    assert_conforms(|| around(PoolManager::new()), &[]);
}

#[test]
fn a_manager_of_host_memory_conforms() {
    assert_conforms(HostOnlyMemoryManager::new, &["labels", "memory-info", "counters"]);
}

#[test]
fn the_example_plugin_conforms() {
    assert_conforms(GpuAllocatorPlugin::new, &["labels", "memory-info", "counters"]);
}

/// Faults of managers, each with the check that detects it and a part of that check's message.
const WRONG: &[(Wrong, &str, &str)] = &[
    (Wrong::IsOfAnotherVersion, "interface-version", "written for version 2 of the interface"),
    (Wrong::PanicsUnready, "before-initialize", "panicked"),
    (Wrong::IsReadyOnce, "initialize-twice", "expected no error"),
    (Wrong::GivesLess, "sizes-and-kinds", "bytes asked for, and got"),
    (Wrong::Overlaps, "many-live", "expected exclusive memory"),
    (Wrong::IsMisaligned, "many-live", "a multiple of 256"),
    (Wrong::MapsAll, "host-options", "expected mapped memory only where asked for"),
    (Wrong::Overlaps, "threads", "expected exclusive memory"),
    (Wrong::IgnoresLabels, "labels", "and then `second`, and got"),
    (Wrong::HidesUse, "usage", "bytes in use and as many reserved"),
    (Wrong::CountsUp, "counters", "expected as many blocks as before"),
    (Wrong::PromisesMore, "memory-info", "expected no more free memory than there is"),
    (Wrong::NamesLess, "ipc", "expected a handle to 500 bytes, and got 499"),
    (Wrong::KeepsOwners, "mempin", "expected a refused owner to be dropped"),
    (Wrong::ForgetsUses, "reuse-in-flight", "to carry those last uses"),
    (Wrong::KeepsOneUse, "reuse-of-two-streams", "to carry those last uses"),
    (Wrong::ForgetsUses, "host-writes-in-flight", "to carry those last uses"),
    (Wrong::Waits, "free-never-waits", "they waited"),
    (Wrong::NeverFrees, "flush-frees", "is left"),
    (Wrong::IgnoresGuards, "defer-cleanup", "expected nothing to go back to the driver under two guards"),
    (Wrong::BoastsOfTrim, "reserve-and-trim", "expected 1 bytes to go back"),
    (Wrong::ForgetsLive, "reset", "expected exclusive memory"),
    (Wrong::Panics, "too-large", "panicked"),
];

/// Runs without the validation layer, which would report some of these faults too.
#[test]
fn wrong_managers_are_detected() {
    let instance = Instance::builder().validation(false).build().unwrap();
    let device = Device::open_selected(&instance, None).unwrap();
    let mut missed = Vec::new();
    for &(wrong, check, text) in WRONG {
        let factory = ManagerFactory::new(move || Ok(Box::new(wrong.manager())));
        let report = Conformance::new(&device, factory).only(check).run();
        let reason = report.failures().next().map_or("", |(_, reason)| reason);
        if !reason.contains(text) {
            missed.push(format!("{wrong:?} at {check}:\n{report}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_handle_of_a_manager_names_the_bytes_of_its_block() {
    use crate::fixture::shares::Shares;

    let fixture = Fixture::open();
    let external = fixture.device().external().memory_fd;
    if !external.exportable || !external.importable {
        return;
    }
    for skew in [0, 4] {
        let factory = ManagerFactory::new(move || Ok(Box::new(Shares::skewed(skew))));
        let report = Conformance::new(fixture.device(), factory).only("ipc").run();
        let reason = report.failures().next().map(|(_, reason)| reason.to_owned());
        assert_eq!(reason.is_some_and(|reason| reason.contains("it names others")), skew > 0, "{report}");
        assert_eq!(report.is_conforming(), skew == 0, "{report}");
    }
}

#[test]
fn every_check_detects_a_wrong_manager() {
    let fixture = Fixture::open();
    let report = report_on(&fixture, HostOnlyMemoryManager::new);
    // The first check needs a large device; the others need failing calls and are in `faults/managers.rs`.
    let elsewhere = ["beyond-4-gib", "failing-start", "failing-calls"];
    for (name, _) in report.checks {
        let catches = WRONG.iter().any(|(_, check, _)| *check == name);
        assert!(catches || elsewhere.contains(&name), "nothing wrong is known that {name} catches");
    }
}

#[test]
fn the_wrong_managers_conform_without_their_fault() {
    // Without their fault the wrong managers conform, so the checks detect the faults and nothing else.
    assert_conforms(|| Wrong::Nothing.manager(), &["counters"]);
}

#[test]
fn a_context_uses_the_manager_of_its_builder() {
    let statistics = Arc::new(AllocationStatistics::new(PassthroughManager::new()));
    let shared = Arc::clone(&statistics);
    let factory = ManagerFactory::new(move || Ok(Box::new(Arc::clone(&shared))));
    let ctx = Context::builder().memory_manager(factory).open().unwrap();
    let before = statistics.counted().allocations.total;
    let array = ctx.slice_to_device(&[1_u32, 2, 3]).unwrap();
    assert_eq!(contents(&array), [1, 2, 3]);
    assert!(statistics.counted().allocations.total > before);
    drop((array, ctx));
    assert_eq!(statistics.counted().bytes.current, 0);
}

#[test]
fn a_manager_cannot_be_initialized_for_a_second_device() {
    let (first, second) = (Fixture::open(), Fixture::open());
    let arena = ArenaManager::new(Box::new(PoolManager::new()), 1, 1).unwrap();
    let managers: [Box<dyn MemoryManager>; 3] =
        [Box::new(PassthroughManager::new()), Box::new(PoolManager::new()), Box::new(arena)];
    for manager in managers {
        manager.initialize(first.device()).unwrap();
        let message = manager.initialize(second.device()).unwrap_err().to_string();
        assert!(message.contains("they were opened separately"), "{manager:?}: {message}");
        manager.initialize(first.device()).unwrap();
    }
}

#[test]
fn a_log_names_the_stream_that_used_memory_last() {
    let fixture = Fixture::open();
    let (reader, writer) = io::pipe().unwrap();
    let log = Logging::new(PassthroughManager::new(), writer);
    let allocator = vkarray::memory::Allocator::with_manager(fixture.device(), Box::new(log)).unwrap();
    let ctx = Context::with_allocator(&allocator).unwrap();
    let array = ctx.zeros::<u32>([1]).unwrap();
    keep_busy(ctx.default_stream(), &spin(&ctx), &array);
    drop(array);
    ctx.synchronize().unwrap();
    drop((ctx, allocator)); // The log ends.
    let text = io::read_to_string(reader).unwrap();
    let freed: Vec<_> = text.lines().filter(|line| line.contains(",free,")).collect();
    assert!(freed.iter().any(|line| !line.split(',').nth(5).unwrap().is_empty()), "{text}");
    let steps = read_log(text.as_bytes()).unwrap();
    let n_freed = steps.iter().filter(|step| matches!(step, LogStep::Free { .. })).count();
    assert_eq!(2 * n_freed, steps.len(), "{text}");
}

/// Runs again in a child process, in which the variable is set.
#[test]
fn an_environment_variable_chooses_the_manager() {
    if child::argument().is_some() {
        let fixture = Fixture::open();
        let refused = fixture.allocator().allocate(16, MemoryKind::Device).unwrap_err().to_string();
        assert_eq!(refused, "device memory from a manager of host memory only is not supported here");
        fixture.allocator().allocate(16, MemoryKind::Pinned).unwrap();
        // A manager that the program sets takes precedence for contexts that are created later.
        vkarray::memory::managers::set_memory_manager(ManagerFactory::named("passthrough").unwrap()).unwrap();
        let later = Context::on(fixture.device()).unwrap();
        later.allocator().allocate(16, MemoryKind::Device).unwrap();
        assert!(
            fixture.allocator().allocate(16, MemoryKind::Device).is_err(),
            "an existing context has changed its manager"
        );
        return;
    }
    let test = "allocator::managers::an_environment_variable_chooses_the_manager";
    let run = |name: &str| child::run(test, "", &[("VKARRAY_MEMORY_MANAGER", name)]);
    let (has_passed, text) = run("host-only");
    assert!(has_passed, "{text}");
    let (has_passed, text) = run("no-such");
    assert!(!has_passed && text.contains("VKARRAY_MEMORY_MANAGER names the memory manager `no-such`"), "{text}");
}
