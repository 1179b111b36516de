//! [`Fixture`]: an instance under the validation layer, a device and a context, for one test: a [`CheckedContext`] that
//! records the driver, and ignores false reports of the layer.
//!
//! When a fixture is dropped it closes the context and the device. The test fails if something still holds the device or
//! if the validation layer has reported anything, apart from [`is_false_report`]. A missing layer or device is a
//! failure too, with a message that says what to install. `canary.rs` tests the fixture itself.
//!
//! The folder `fixture/` has what tests of several crates share: shaders and their results on the host (`kernels.rs`,
//! which to read next), a time limit (`watchdog.rs`), a semaphore that the test signals (`host_semaphore.rs`), reads of
//! memory without ordering (`peek.rs`), a manager whose memory is shared (`shares.rs`), tests in a child process (`child.rs`) and on a Vulkan layer (`layer.rs`).

mod canary;
pub(crate) mod child;
pub(crate) mod host_semaphore;
pub(crate) mod kernels;
#[cfg(target_os = "linux")]
pub(crate) mod layer;
pub(crate) mod peek;
#[cfg(target_os = "linux")]
pub(crate) mod shares;
mod validation;
pub(crate) mod watchdog;

use std::fs;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use vkarray::device::{Device, DeviceType, Instance, LimitProfile};
use vkarray::{Context, DeviceNDArray, Element};
pub(crate) use vkarray_test::is_false_report;
use vkarray_test::{CheckedContext, Problem, becomes_true};
use vkarray_tests::skips;

use self::validation::is_hazard_within_one_queue;

/// A device and a context on it, checked when they are closed.
pub(crate) struct Fixture {
    checked: CheckedContext,
}

impl Fixture {
    /// Opens the device that `VKARRAY_DEVICE` names, otherwise the best device.
    pub(crate) fn open() -> Self {
        let checked = CheckedContext::open().unwrap_or_else(|error| panic!("{error}"));
        note_driver(checked.device());
        Self { checked }
    }

    /// Opens a fixture for random programs whose work alternates between streams, for which the validation layer is
    /// known to give false reports on a device with several queues: see [`is_hazard_within_one_queue`].
    pub(crate) fn for_round_trips() -> Self {
        let mut fixture = Self::open();
        let plan = fixture.device().plan();
        if plan.compute.count + plan.transfer.map_or(0, |queues| queues.count) > 1 {
            fixture.checked.ignore(is_hazard_within_one_queue);
        }
        fixture
    }

    /// The device of the fixture.
    pub(crate) fn device(&self) -> &Arc<Device> {
        self.checked.device()
    }

    /// Other devices: this device opened again, and every other device of this machine. The test drops them.
    pub(crate) fn other_devices(&self) -> Vec<Arc<Device>> {
        let own = self.device().physical();
        let others = self.instance().devices().unwrap_or_else(|error| panic!("{error}"));
        let others = others.iter().filter(|other| other.info().uuid != own.info().uuid);
        others.chain([own]).map(|physical| Device::open(physical).unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    /// The device's instance.
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        self.checked.instance()
    }

    /// Moves the context out, for a test that drops it itself.
    pub(crate) fn take_context(&mut self) -> Context {
        self.checked.take_context().expect("taken once")
    }

    /// Whether the device is a CPU driver.
    pub(crate) fn is_cpu(&self) -> bool {
        self.device().info().device_type == DeviceType::Cpu
    }

    /// Fails if the validation layer has reported anything so far.
    pub(crate) fn assert_no_messages(&self, during: &str) {
        let problems = texts(self.checked.take_messages().into_iter().map(Problem::Message));
        assert!(problems.is_empty(), "during {during}:\n{}", problems.join("\n"));
    }

    /// Closes the context and the device, and returns the problems found; a correct test has none.
    pub(crate) fn close(&mut self) -> Vec<String> {
        texts(self.checked.close())
    }
}

/// Runs `test` in a context on a device with these limits, the text of a file of [`LimitProfile`]. Fails if the
/// validation layer has reported anything.
pub(crate) fn with_limits(limits: &str, test: impl FnOnce(Context)) {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    fs::write(file.path(), limits).unwrap();
    let profile = LimitProfile::parse(file.path().to_str().unwrap()).unwrap();
    let instance = Instance::builder().validation(true).limits(profile).build().unwrap();
    test(Context::on(&Device::open_selected(&instance, None).unwrap()).unwrap());
    let messages: Vec<_> = instance.take_messages().into_iter().filter(|m| !is_false_report(m)).collect();
    assert!(messages.is_empty(), "{messages:?}");
}

fn texts(problems: impl IntoIterator<Item = Problem>) -> Vec<String> {
    problems.into_iter().map(|problem| problem.to_string()).collect()
}

impl Deref for Fixture {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.checked
    }
}

/// Records that a test is skipped because the device lacks a feature. `test` is the name of the test's function.
///
/// Panics unless `skips.txt` has this test, feature and driver.
pub(crate) fn skipped(test: &str, feature: &str) {
    let current = thread::current();
    let name = current.name().unwrap_or_default();
    // The test harness names a test's thread after the test; with one thread, tests run on the main thread.
    assert!(name == "main" || name.rsplit("::").next() == Some(test), "{name} is skipped as {test}");
    let driver = DRIVER.get().expect("a fixture was opened");
    skips::skip(driver, test, feature).unwrap_or_else(|refusal| panic!("{test}: {refusal}"));
}

/// The driver of this process's tests, by its name in `skips.txt`.
static DRIVER: OnceLock<String> = OnceLock::new();

fn note_driver(device: &Device) {
    DRIVER.get_or_init(|| {
        let info = device.info();
        let driver = skips::driver(&info.driver.name, &info.driver.info).unwrap_or_else(|error| panic!("{error}"));
        eprintln!("device: {}, {driver}", info.name);
        driver
    });
}

/// The array's elements in C order.
pub(crate) fn contents<T: Element>(array: &DeviceNDArray<T>) -> Vec<T> {
    array.copy_to_host().unwrap().iter().copied().collect()
}

/// Compares all elements with the expected ones, a part at a time and each part in several threads.
pub(crate) fn assert_holds<T: Element + PartialEq + Sync>(
    array: &DeviceNDArray<T>,
    expected: impl Fn(usize) -> T + Sync,
) {
    const PART: usize = 1 << 28;
    const PIECE: usize = 1 << 24;
    for start in (0..array.size()).step_by(PART) {
        let end = array.size().min(start + PART);
        let part = array.slice([(start as isize..end as isize).into()]).unwrap().to_vec().unwrap();
        std::thread::scope(|scope| {
            for (begin, piece) in (start..).step_by(PIECE).zip(part.chunks(PIECE)) {
                let expected = &expected;
                scope.spawn(move || {
                    let wrong = (begin..).zip(piece).find(|&(at, found)| *found != expected(at));
                    assert_eq!(wrong.map(|(at, _)| at), None, "the first of {} elements that differs", array.size());
                });
            }
        });
    }
}

/// Polls until `is_done`; fails after a minute, which is longer than any test takes.
pub(crate) fn poll(what: &str, is_done: impl Fn() -> bool) {
    assert!(becomes_true(Duration::from_secs(60), is_done), "{what} is not done after a minute");
}
