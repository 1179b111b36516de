//! Memory managers under the judge: ours, adaptors around them, the example plugin, and wrong ones, which it must catch.
//!
//! The wrong ones are `managers/wrong.rs`. Failing calls are in `../faults/managers.rs`, which has the table for them.

#[path = "../../crates/allocator/examples/plugin/plain.rs"]
mod plain;
mod wrong;

use std::io;
use std::process::Command;
use std::sync::Arc;

use vkarray::{
    Context, HostOnlyMemoryManager, Limiting, Logging, ManagerFactory, MemoryKind, MemoryManager, PassthroughManager,
    Statistics, Tracking,
};
use vkarray_allocator::{FailureCallback, LogStep, Verdict, read_log};
use vkarray_conformance::{Conformance, Outcome, Report};

use self::plain::PlainPlugin;
use self::wrong::Wrong;
use crate::fixture::{Fixture, contents};
use crate::kernels::{keep_busy, spin};

fn judged<M: MemoryManager + 'static>(fixture: &Fixture, make: impl Fn() -> M + Send + Sync + 'static) -> Report {
    let factory = ManagerFactory::new(move || Ok(Box::new(make())));
    Conformance::new(fixture.device(), factory).run()
}

/// Judges a manager; `skipped` is what may be skipped, beside what depends on the device.
fn assert_conforms<M: MemoryManager + 'static>(make: impl Fn() -> M + Send + Sync + 'static, skipped: &[&str]) {
    let fixture = Fixture::open();
    let report = judged(&fixture, make);
    assert!(report.is_conforming(), "{report}");
    let allowed = [skipped, &["beyond-4-gib", "ipc", "mempin", "failing-calls"]].concat();
    for (name, outcome) in &report.checks {
        assert!(*outcome == Outcome::Passed || allowed.contains(name), "{name} was not checked:\n{report}");
    }
}

#[test]
fn the_plain_manager_conforms() {
    assert_conforms(PassthroughManager::new, &[]);
}

#[test]
fn adaptors_conform() {
    let make = || {
        let limited = Limiting::new(PassthroughManager::new(), 1 << 40);
        let asked = FailureCallback::new(Statistics::new(limited), |_, _| Verdict::GiveUp);
        Logging::new(Tracking::new(asked), io::sink())
    };
    assert_conforms(make, &[]);
}

#[test]
fn a_manager_of_host_memory_conforms() {
    assert_conforms(HostOnlyMemoryManager::new, &["holders", "memory-info"]);
}

#[test]
fn the_example_plugin_conforms() {
    assert_conforms(PlainPlugin::new, &["holders", "memory-info"]);
}

#[test]
fn wrong_managers_are_caught() {
    // What is wrong, and the check that says so, with a part of what it says.
    let cases = [
        (Wrong::Overlaps, "many-live", "expected memory that is nobody's"),
        (Wrong::ForgetsUses, "reuse-in-flight", "to come with those last uses"),
        (Wrong::ForgetsUses, "host-writes-in-flight", "to come with those last uses"),
        (Wrong::KeepsOneUse, "reuse-of-two-streams", "to come with those last uses"),
        (Wrong::Waits, "free-never-waits", "they waited"),
        (Wrong::IsMisaligned, "many-live", "a multiple of 256"),
        (Wrong::GivesLess, "sizes-and-kinds", "bytes asked for, and got"),
        (Wrong::NeverFrees, "flush-frees", "is left"),
        (Wrong::Panics, "too-large", "panicked"),
        (Wrong::IsOfAnotherVersion, "interface-version", "expected version"),
    ];
    let mut wrong = None;
    for (kind, check, text) in cases {
        let fixture = Fixture::open();
        let report = match &wrong {
            Some((of, report)) if *of == kind => report,
            _ => &wrong.insert((kind, judged(&fixture, move || kind.manager()))).1,
        };
        let reason = report.failures().find(|(name, _)| *name == check).map(|(_, reason)| reason);
        assert!(reason.is_some_and(|reason| reason.contains(text)), "{kind:?} passes {check}:\n{report}");
    }
}

#[test]
fn a_right_manager_of_the_same_making_is_not_caught() {
    // What the wrong ones do with one thing wrong each: so it is that which is caught.
    assert_conforms(|| Wrong::Nothing.manager(), &[]);
}

#[test]
fn a_context_takes_its_manager_from_its_builder() {
    let statistics = Arc::new(Statistics::new(PassthroughManager::new()));
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
fn one_manager_serves_one_device() {
    let (first, second) = (Fixture::open(), Fixture::open());
    let manager = PassthroughManager::new();
    manager.initialize(first.device()).unwrap();
    let message = manager.initialize(second.device()).unwrap_err().to_string();
    assert!(message.contains("they were opened separately"), "{message}");
    manager.initialize(first.device()).unwrap();
}

#[test]
fn a_log_names_the_stream_that_used_memory_last() {
    let fixture = Fixture::open();
    let (reader, writer) = io::pipe().unwrap();
    let log = Logging::new(PassthroughManager::new(), writer);
    let allocator = vkarray::Allocator::with_manager(fixture.device(), Box::new(log)).unwrap();
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

/// Runs in a process of its own, where the variable is set.
#[test]
fn the_environment_names_the_manager() {
    const MARK: &str = "VKARRAY_TEST_NAMED_MANAGER";
    if std::env::var_os(MARK).is_some() {
        let fixture = Fixture::open(); // Its context has no use of memory so far.
        let refused = fixture.allocator().allocate(16, MemoryKind::Device).unwrap_err().to_string();
        assert_eq!(refused, "device memory from a manager of host memory only is not supported here");
        fixture.allocator().allocate(16, MemoryKind::Pinned).unwrap();
        // What is set wins, for what is opened later.
        vkarray::set_memory_manager(ManagerFactory::named("passthrough").unwrap()).unwrap();
        let later = Context::on(fixture.device()).unwrap();
        later.allocator().allocate(16, MemoryKind::Device).unwrap();
        assert!(fixture.allocator().allocate(16, MemoryKind::Device).is_err(), "what is open keeps what it has");
        return;
    }
    let run = |name: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "allocator::managers::the_environment_names_the_manager"])
            .envs([(MARK, "1"), ("VKARRAY_MEMORY_MANAGER", name)])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text.into_owned())
    };
    let (is_good, text) = run("host-only");
    assert!(is_good && text.contains("1 passed"), "{text}");
    let (is_good, text) = run("no-such");
    assert!(!is_good && text.contains("VKARRAY_MEMORY_MANAGER names the memory manager `no-such`"), "{text}");
}
