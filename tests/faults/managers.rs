//! The conformance checks of memory managers, with each of the managers' calls failing in turn.

use std::sync::atomic::{AtomicBool, Ordering};

use ash::vk;
use vkarray::device::Device;
use vkarray::memory::Error as MemoryError;
use vkarray::memory::managers::{
    ArenaManager, Limiting, ManagerFactory, MemoryManager, PassthroughManager, PoolManager,
};
use vkarray_allocator::{Adaptor, MemoryPointer, Request};
use vkarray_conformance::{Conformance, Faults, Outcome, Report};

use crate::table::{Fault, Table};
use crate::watchdog::watched;

impl Faults for Table {
    fn arm(&self, call: &'static str, nth: u32, times: u32) {
        Self::arm(self, Fault { call, nth, times, code: vk::Result::ERROR_OUT_OF_DEVICE_MEMORY });
    }

    fn disarm(&self) -> u32 {
        Self::disarm(self)
    }
}

const CHECKS: [&str; 2] = ["failing-start", "failing-calls"];

fn report_on<M: MemoryManager + 'static>(make: fn() -> M) -> Report {
    let table = Table::take();
    let instance = table.instance();
    let device = Device::open(&instance.devices().unwrap()[0]).unwrap();
    let factory = ManagerFactory::new(move || Ok(Box::new(make())));
    let mut report = Report { checks: Vec::new() };
    watched("managers whose calls fail", || {
        for check in CHECKS {
            report
                .checks
                .extend(Conformance::new(&device, factory.clone()).with_faults(&table).only(check).run().checks);
        }
    });
    table.close(device);
    report
}

#[test]
fn built_in_managers_handle_every_failing_call() {
    let reports = [
        report_on(PassthroughManager::new),
        report_on(PoolManager::new),
        report_on(|| ArenaManager::new(Box::new(PoolManager::new()), 2, 256 << 20).unwrap()),
        report_on(|| Limiting::new(PoolManager::new(), 1 << 40)),
    ];
    for report in reports {
        assert_eq!(report.checks, CHECKS.map(|name| (name, Outcome::Passed)), "{report}");
    }
}

/// A wrong manager: after one failed allocation it refuses all other allocations.
#[derive(Debug)]
struct FailsForGood {
    is_over: AtomicBool,
    inner: PassthroughManager,
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl Adaptor for FailsForGood {
    fn inner(&self) -> &dyn MemoryManager {
        &self.inner
    }

    fn before(&self, _: &Request) -> Result<(), MemoryError> {
        if self.is_over.load(Ordering::Relaxed) { Err(MemoryError::NotInitialized) } else { Ok(()) }
    }

    fn after(&self, _: &Request, given: Option<&MemoryPointer>) {
        self.is_over.fetch_or(given.is_none(), Ordering::Relaxed);
    }
}

fn fails_for_good() -> FailsForGood {
    FailsForGood { is_over: AtomicBool::new(false), inner: PassthroughManager::new() }
}

#[test]
fn a_manager_that_fails_for_good_after_one_error_is_detected() {
    let reason = |report: &Report, check: &str| {
        report.failures().find(|(name, _)| *name == check).map_or(String::new(), |(_, reason)| reason.to_owned())
    };
    let report = report_on(fails_for_good);
    assert!(reason(&report, "failing-calls").contains("expected memory again after a failing vk"), "{report}");
    // An arena allocates its memory when it is initialized.
    let report = report_on(|| ArenaManager::new(Box::new(fails_for_good()), 2, 256 << 20).unwrap());
    assert!(reason(&report, "failing-start").contains("expected no error"), "{report}");
}
