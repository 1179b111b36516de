//! What each test stands on: an instance under the validation layer, a device, a context.
//!
//! When a [`Fixture`] ends it takes its own down first, then asks two questions: does anything still hold the device,
//! and has the validation layer said anything. A yes fails the test that caused it. A missing layer or device is a
//! failure too, and says what to install: a suite that skips is green for no reason. `canary.rs` proves that the
//! fixture sees what it is meant to see; `kernels.rs` holds the shaders that many tests share.

use std::ops::Deref;
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use vkarray::{Context, Device, DeviceNDArray, DeviceType, Element, Instance, ValidationMessage};

/// A device under watch, and a context on it.
pub(crate) struct Fixture {
    context: Option<Context>,
    device: Option<Arc<Device>>,
    instance: Arc<Instance>,
}

impl Fixture {
    /// Opens the device that the environment names, or the best there is.
    pub(crate) fn open() -> Self {
        let instance = Instance::builder().validation(true).build().unwrap_or_else(|error| panic!("{error}"));
        let device = Device::open_selected(&instance, None).unwrap_or_else(|error| panic!("{error}"));
        report_device(&device);
        let context = Context::on(&device).unwrap_or_else(|error| panic!("{error}"));
        Self { context: Some(context), device: Some(device), instance }
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
        let is_wrong =
            |message: &ValidationMessage| is_not_about_us(message) || n_queues > 1 && is_inside_one_queue(message);
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

/// Says once, loudly, what a device that lacks something leaves out.
pub(crate) fn skipped(test: &str, reason: &str) {
    eprintln!("SKIPPED: {test}: {reason}");
}

fn report_device(device: &Device) {
    static ONCE: Once = Once::new();
    let info = device.info();
    ONCE.call_once(|| eprintln!("device: {}, {} {}", info.name, info.driver.name, info.driver.info));
}

/// Whether the layer complains of something that this program does not do.
///
/// Version 1.3.239, on a machine that is busy, now and then waits ten seconds for its own note of a semaphore that the
/// host raised, and then says "This is most likely a validation bug". Above NVIDIA's driver, 1.4.330 reports a query for
/// the address of a function of video encoding, whose name stands nowhere in this program.
fn is_not_about_us(message: &ValidationMessage) -> bool {
    message.id == "UNASSIGNED-VkSemaphore-state-timeout" && message.text.contains("most likely a validation bug")
        || message.id == "WARNING-vkGetDeviceProcAddr-device" && message.text.contains("VideoEncode")
}

/// Whether the layer complains, at a submission, about the order of two uses on one and the same queue.
///
/// Where work goes from one queue to another and back, the layer (1.4.330) now and then takes no notice of a barrier
/// between the two; `docs/decisions/010` has the cases. The same programs are judged in full where there is one queue,
/// and what is between queues is judged everywhere.
fn is_inside_one_queue(message: &ValidationMessage) -> bool {
    let mut queues = message.text.split("submitted on ").skip(1).map(|rest| {
        let queue = rest.strip_prefix("the current ").unwrap_or(rest);
        queue.split(')').next().unwrap_or(queue)
    });
    let is_after = message.id.starts_with("SYNC-HAZARD-") && message.id.contains("-AFTER-");
    let (current, prior) = (queues.next(), queues.next());
    is_after && message.text.starts_with("vkQueueSubmit2(): ") && current.is_some() && current == prior
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
