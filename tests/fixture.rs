//! [`Fixture`]: an instance under the validation layer, a device and a context, for one test.
//!
//! When a fixture is dropped it closes the context and the device. The test fails if something still holds the device or
//! if the validation layer has reported anything (`validation.rs` lists the exceptions). A missing layer or device is a
//! failure too, with a message that says what to install. `canary.rs` tests the fixture itself.
//!
//! The folder `fixture/` has what tests of several crates share: shaders and their results on the host (`kernels.rs`,
//! which to read next), a time limit (`watchdog.rs`), a semaphore that the test signals (`host_semaphore.rs`), reads of
//! memory without ordering (`peek.rs`), tests in a child process (`child.rs`) and on a Vulkan layer (`layer.rs`).

mod canary;
pub(crate) mod child;
pub(crate) mod host_semaphore;
pub(crate) mod kernels;
#[cfg(target_os = "linux")]
pub(crate) mod layer;
pub(crate) mod peek;
mod validation;
pub(crate) mod watchdog;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use vkarray::device::{Device, DeviceType, Instance, ValidationMessage};
use vkarray::{Context, DeviceNDArray, Element};
use vkarray_tests::skips;

pub(crate) use self::validation::is_false_report;
use self::validation::is_hazard_within_one_queue;

/// A device and a context on it, checked when they are closed.
pub(crate) struct Fixture {
    context: Option<Context>,
    device: Option<Arc<Device>>,
    instance: Arc<Instance>,
    /// See [`Fixture::for_round_trips`].
    has_round_trips: bool,
}

impl Fixture {
    /// Opens the device that `VKARRAY_DEVICE` names, otherwise the best one.
    pub(crate) fn open() -> Self {
        let instance = Instance::builder().validation(true).build().unwrap_or_else(|error| panic!("{error}"));
        let device = Device::open_selected(&instance, None).unwrap_or_else(|error| panic!("{error}"));
        note_driver(&device);
        let context = Context::on(&device).unwrap_or_else(|error| panic!("{error}"));
        Self { context: Some(context), device: Some(device), instance, has_round_trips: false }
    }

    /// For random programs whose work goes back and forth between streams, which the validation layer is known to misjudge
    /// on a device with several queues: see [`is_hazard_within_one_queue`].
    pub(crate) fn for_round_trips() -> Self {
        let mut fixture = Self::open();
        fixture.has_round_trips = true;
        fixture
    }

    /// The device.
    pub(crate) fn device(&self) -> &Arc<Device> {
        self.device.as_ref().expect("taken only by `close`")
    }

    /// Devices that are not this one: the same opened again, and every other of this machine. The test drops them.
    pub(crate) fn other_devices(&self) -> Vec<Arc<Device>> {
        let own = self.device().physical();
        let others = self.instance.devices().unwrap_or_else(|error| panic!("{error}"));
        let others = others.iter().filter(|other| other.info().uuid != own.info().uuid);
        others.chain([own]).map(|physical| Device::open(physical).unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    /// The device's instance.
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Moves the context out, for a test that drops it itself.
    pub(crate) fn take_context(&mut self) -> Context {
        self.context.take().expect("taken once")
    }

    /// Whether the device is a CPU driver.
    pub(crate) fn is_cpu(&self) -> bool {
        self.device().info().device_type == DeviceType::Cpu
    }

    /// Fails if the validation layer has reported anything so far.
    pub(crate) fn assert_no_messages(&self, during: &str) {
        let messages = self.take_messages(self.n_queues());
        assert!(messages.is_empty(), "validation, during {during}:\n{}", listed(&messages));
    }

    /// The number of queues that the device was opened with; 0 once it is closed.
    fn n_queues(&self) -> u32 {
        let plan = self.device.as_ref().map(|device| device.plan());
        plan.map_or(0, |plan| plan.compute.count + plan.transfer.map_or(0, |queues| queues.count))
    }

    /// The messages of the validation layer so far, without those that are known to be wrong.
    fn take_messages(&self, n_queues: u32) -> Vec<ValidationMessage> {
        let ignores_hazards = self.has_round_trips && n_queues > 1;
        let is_ignored = |message: &ValidationMessage| {
            is_false_report(message) || ignores_hazards && is_hazard_within_one_queue(message)
        };
        self.instance.take_messages().into_iter().filter(|message| !is_ignored(message)).collect()
    }

    /// Closes the context and the device, and returns the problems found; a correct test has none.
    pub(crate) fn close(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        let n_queues = self.n_queues();
        self.context = None;
        if let Some(device) = self.device.take() {
            // The device's waiting thread holds the device while it works for a stream, so its reference may end later.
            if !becomes_true(Duration::from_secs(2), || Arc::strong_count(&device) == 1) {
                problems.push(format!("leak: {} references to the device are left", Arc::strong_count(&device) - 1));
            }
            // When the device is destroyed, the layer lists the objects that were not.
            drop(device);
        }
        let messages = self.take_messages(n_queues);
        if !messages.is_empty() {
            problems.push(format!("validation:\n{}", listed(&messages)));
        }
        problems
    }
}

impl Deref for Fixture {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context.as_ref().expect("taken only by `take_context` and `close`")
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let problems = self.close();
        if thread::panicking() {
            // The test has failed already, and these problems may follow from that.
            problems.iter().for_each(|problem| eprintln!("also: {problem}"));
        } else {
            assert!(problems.is_empty(), "{}", problems.join("\n"));
        }
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

/// The driver of this process's tests, as `skips.txt` names it.
static DRIVER: OnceLock<String> = OnceLock::new();

fn note_driver(device: &Device) {
    DRIVER.get_or_init(|| {
        let info = device.info();
        let driver = skips::driver(&info.driver.name, &info.driver.info).unwrap_or_else(|error| panic!("{error}"));
        eprintln!("device: {}, {driver}", info.name);
        driver
    });
}

fn listed(messages: &[ValidationMessage]) -> String {
    messages.iter().map(|message| format!("  {message}")).collect::<Vec<_>>().join("\n")
}

/// The array's elements in C order.
pub(crate) fn contents<T: Element>(array: &DeviceNDArray<T>) -> Vec<T> {
    array.copy_to_host().unwrap().iter().copied().collect()
}

/// Polls until `is_done`; fails after a minute, which is longer than any test takes.
pub(crate) fn poll(what: &str, is_done: impl Fn() -> bool) {
    assert!(becomes_true(Duration::from_secs(60), is_done), "{what} is not done after a minute");
}

/// Polls until `is_true` or the limit is over. Returns whether it became true.
fn becomes_true(limit: Duration, is_true: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_true() {
        if begun.elapsed() > limit {
            return false;
        }
        thread::yield_now();
    }
    true
}
