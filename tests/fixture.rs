//! What each test stands on: an instance under the validation layer, a device, a context.
//!
//! When a [`Fixture`] ends it takes its own down first, then asks two questions: does anything still hold the device,
//! and has the validation layer said anything. A yes fails the test that caused it. A missing layer or device is a
//! failure too, and says what to install: a suite that skips is green for no reason. `canary.rs` proves that the
//! fixture sees what it is meant to see; `kernels.rs` holds the shaders that many tests share.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use vkarray::device::{Device, DeviceType, Instance, ValidationMessage};
use vkarray::{Context, DeviceNDArray, Element};
use vkarray_tests::skips;

/// A device under watch, and a context on it.
pub(crate) struct Fixture {
    context: Option<Context>,
    device: Option<Arc<Device>>,
    instance: Arc<Instance>,
    /// See [`Fixture::for_round_trips`].
    has_round_trips: bool,
}

impl Fixture {
    /// Opens the device that the environment names, or the best there is.
    pub(crate) fn open() -> Self {
        let instance = Instance::builder().validation(true).build().unwrap_or_else(|error| panic!("{error}"));
        let device = Device::open_selected(&instance, None).unwrap_or_else(|error| panic!("{error}"));
        known_driver(&device);
        let context = Context::on(&device).unwrap_or_else(|error| panic!("{error}"));
        Self { context: Some(context), device: Some(device), instance, has_round_trips: false }
    }

    /// For programs of several streams that go to and fro without a pattern, about which the validation layer is known to
    /// be wrong on a device of several queues: see [`is_inside_one_queue`].
    pub(crate) fn for_round_trips() -> Self {
        let mut fixture = Self::open();
        fixture.has_round_trips = true;
        fixture
    }

    /// The device, for tests of what lies below a context.
    pub(crate) fn device(&self) -> &Arc<Device> {
        self.device.as_ref().expect("taken only by `close`")
    }

    /// The instance that listed it.
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Hands the context over, to be dropped when the test says.
    pub(crate) fn take_context(&mut self) -> Context {
        self.context.take().expect("taken once")
    }

    /// Whether the device is the processor.
    pub(crate) fn is_cpu(&self) -> bool {
        self.device().info().device_type == DeviceType::Cpu
    }

    /// Fails if the validation layer has said anything so far.
    pub(crate) fn assert_silent(&self, during: &str) {
        let messages = self.take_verdicts(self.n_queues());
        assert!(messages.is_empty(), "validation, during {during}:\n{}", listed(&messages));
    }

    /// How many queues the device was opened with; none once it is closed.
    fn n_queues(&self) -> u32 {
        let plan = self.device.as_ref().map(|device| device.plan());
        plan.map_or(0, |plan| plan.compute.count + plan.transfer.map_or(0, |queues| queues.count))
    }

    /// What the validation layer has said, without what it is known to say wrongly.
    fn take_verdicts(&self, n_queues: u32) -> Vec<ValidationMessage> {
        let messages = self.instance.take_messages();
        let may_be_wrong = self.has_round_trips && n_queues > 1;
        let is_wrong =
            |message: &ValidationMessage| is_not_about_us(message) || may_be_wrong && is_inside_one_queue(message);
        messages.into_iter().filter(|message| !is_wrong(message)).collect()
    }

    /// Closes everything and returns what is wrong: nothing, for a good test.
    pub(crate) fn close(&mut self) -> Vec<String> {
        let mut complaints = Vec::new();
        let n_queues = self.n_queues();
        self.context = None;
        if let Some(device) = self.device.take() {
            // The device's waiting thread holds it while it looks after a lane, and lets go by itself.
            if !becomes_true(Duration::from_secs(2), || Arc::strong_count(&device) == 1) {
                complaints.push(format!("leak: {} holders of the device are left", Arc::strong_count(&device) - 1));
            }
            // Closing the device is judged too: the layer lists the objects that still live.
            drop(device);
        }
        let messages = self.take_verdicts(n_queues);
        if !messages.is_empty() {
            complaints.push(format!("validation:\n{}", listed(&messages)));
        }
        complaints
    }
}

impl Deref for Fixture {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context.as_ref().expect("the test did not take it")
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let complaints = self.close();
        if thread::panicking() {
            // The first failure is the one to report; what else is wrong may follow from it.
            complaints.iter().for_each(|complaint| eprintln!("also: {complaint}"));
        } else {
            assert!(complaints.is_empty(), "{}", complaints.join("\n"));
        }
    }
}

/// Leaves out what the device cannot do. `test` is the function's name, `feature` what is missing.
///
/// Panics unless `skips.txt` lets this test be skipped on this driver.
pub(crate) fn skipped(test: &str, feature: &str) {
    let current = thread::current();
    let name = current.name().unwrap_or_default();
    // With one thread, tests run on the main thread.
    assert!(name == "main" || name.rsplit("::").next() == Some(test), "{name} calls itself {test}");
    let driver = DRIVER.get().expect("a fixture was opened");
    skips::skip(driver, test, feature).unwrap_or_else(|refusal| panic!("{test}: {refusal}"));
}

/// The driver of this process's tests, as `skips.txt` calls it.
static DRIVER: OnceLock<String> = OnceLock::new();

fn known_driver(device: &Device) {
    DRIVER.get_or_init(|| {
        let info = device.info();
        let driver = skips::driver(&info.driver.name, &info.driver.info).unwrap_or_else(|error| panic!("{error}"));
        eprintln!("device: {}, {driver}", info.name);
        driver
    });
}

/// Whether the layer complains of something that this program does not do.
///
/// Version 1.3.239, on a machine that is busy, now and then waits ten seconds for its own note of a semaphore that the
/// host raised, and then says "This is most likely a validation bug". Above NVIDIA's driver, 1.4.330 reports a query for
/// the address of a function of video encoding, whose name stands nowhere in this program. Where memory beyond
/// `maxMemoryAllocationSize` is asked for, 1.4.341 advises against it. Drivers may give such memory, and NVIDIA's does,
/// so it is asked for.
/// 1.4.341 takes each write of a dispatch for one of the whole binding. The pieces of a launch that is folded on a short
/// axis write as its workgroups would without folding, unordered, and only they are recorded with `vkCmdDispatchBase`.
pub(crate) fn is_not_about_us(message: &ValidationMessage) -> bool {
    message.id == "UNASSIGNED-VkSemaphore-state-timeout" && message.text.contains("most likely a validation bug")
        || message.id == "WARNING-vkGetDeviceProcAddr-device" && message.text.contains("VideoEncode")
        || message.id == "UNASSIGNED-vkAllocateMemory-maxMemoryAllocationSize"
        || message.id == "SYNC-HAZARD-WRITE-AFTER-WRITE"
            && message.text.contains("vkCmdDispatchBase(): WRITE_AFTER_WRITE")
            && message.text.contains("previously written by another vkCmdDispatchBase command")
}

/// The rules that [`is_inside_one_queue`] is about.
const KNOWN_TO_BE_WRONG: [&str; 3] =
    ["SYNC-HAZARD-READ-AFTER-WRITE", "SYNC-HAZARD-WRITE-AFTER-READ", "SYNC-HAZARD-WRITE-AFTER-WRITE"];

/// Whether this is one of three rules about the order of two uses, at a submission, on one and the same queue.
///
/// Where work goes from one queue to another and back, the layer (1.4.330) now and then takes no notice of a barrier
/// between the two; `docs/decisions/038` has the cases. Only such programs are exempt. The same programs are judged in
/// full where there is one queue, and what is between queues is judged everywhere.
fn is_inside_one_queue(message: &ValidationMessage) -> bool {
    let mut queues = message.text.split("submitted on ").skip(1).map(|rest| {
        let queue = rest.strip_prefix("the current ").unwrap_or(rest);
        queue.split(')').next().unwrap_or(queue)
    });
    let is_known = KNOWN_TO_BE_WRONG.contains(&message.id.as_str());
    let (current, prior) = (queues.next(), queues.next());
    is_known && message.text.starts_with("vkQueueSubmit2(): ") && current.is_some() && current == prior
}

#[test]
fn only_complaints_inside_one_queue_are_set_aside() {
    let text = |call: &str, current: &str, prior: &str| {
        format!(
            "{call}(): hazard. vkCmdDispatch (from VkCommandBuffer 0x1 submitted on the current VkQueue {current}) reads \
             VkBuffer 0x2, which was written by vkCmdDispatch (from VkCommandBuffer 0x3 submitted on VkQueue {prior}). "
        )
    };
    let submit = "vkQueueSubmit2";
    // Rule, text, whether it is set aside.
    let cases = [
        ("SYNC-HAZARD-READ-AFTER-WRITE", text(submit, "0xa", "0xa"), true),
        ("SYNC-HAZARD-READ-AFTER-WRITE", text(submit, "0xa", "0xb"), false), // Two queues.
        ("SYNC-HAZARD-READ-RACING-WRITE", text(submit, "0xa", "0xa"), false), // Two queues, says the rule.
        ("SYNC-HAZARD-READ-AFTER-WRITE", text("vkCmdDispatch", "0xa", "0xa"), false), // Inside one batch.
        ("SYNC-HAZARD-READ-AFTER-WRITE", "vkQueueSubmit2(): hazard".to_owned(), false), // Words of another version.
        ("SYNC-HAZARD-PRESENT-AFTER-WRITE", text(submit, "0xa", "0xa"), false), // Another rule.
        ("VUID-VkSubmitInfo2-semaphore-03882", text(submit, "0xa", "0xa"), false),
    ];
    for (id, text, is_set_aside) in cases {
        let message = ValidationMessage { id: id.to_owned(), text };
        assert_eq!(is_inside_one_queue(&message), is_set_aside, "{message}");
    }
}

fn listed(messages: &[ValidationMessage]) -> String {
    messages.iter().map(|message| format!("  {message}")).collect::<Vec<_>>().join("\n")
}

/// What the array holds, in C order.
pub(crate) fn contents<T: Element>(array: &DeviceNDArray<T>) -> Vec<T> {
    array.copy_to_host().unwrap().iter().copied().collect()
}

/// Polls until `is_done`, for a minute at most: far longer than any test takes.
pub(crate) fn poll(what: &str, is_done: impl Fn() -> bool) {
    assert!(becomes_true(Duration::from_secs(60), is_done), "{what} is not done after a minute");
}

/// Polls until `is_true`, for as long as given at most.
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
