//! [`CheckedContext`]: a context under the validation layer that reports its problems when it is closed.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use vkarray::Context;
use vkarray::device::{Device, Instance, ValidationMessage};

/// How long references to a device may outlive the test: its waiting thread holds it while it works for a stream.
const LEAK_LIMIT: Duration = Duration::from_secs(2);

/// A problem of a context that is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Something still holds the device: an array, a stream, an event or a kernel.
    Leak {
        /// The name of the device.
        device: String,
        /// How many references are left.
        n_references: usize,
    },
    /// The validation layer has reported a message.
    Message(ValidationMessage),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leak { device, n_references } => write!(f, "leak: {n_references} references to {device} are left"),
            Self::Message(message) => write!(f, "validation: {message}"),
        }
    }
}

/// A context for a test that is a plain `#[test]` function: a [`Context`] on a device that was opened for it, under the
/// validation layer. Dropping it fails the test if the layer has reported anything, or if something still holds the device.
///
/// ```
/// use vkarray_test::{CheckedContext, assert_close};
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = CheckedContext::open()?;
/// assert_close!(ctx.ones::<f32>(3)?, [1.0; 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CheckedContext {
    context: Option<Context>,
    device: Option<Arc<Device>>,
    instance: Arc<Instance>,
    is_ignored: fn(&ValidationMessage) -> bool,
}

impl CheckedContext {
    /// Opens the device that `VKARRAY_DEVICE` names, otherwise the best device.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::open_default`], and an error if the validation layer is missing.
    pub fn open() -> vkarray::Result<Self> {
        let instance = Instance::builder().validation(true).build()?;
        let device = Device::open_selected(&instance, None)?;
        let context = Context::on(&device)?;
        Ok(Self::new(context, device))
    }

    /// Takes a context that no other value holds, and its device.
    pub(crate) fn new(context: Context, device: Arc<Device>) -> Self {
        let instance = Arc::clone(device.physical().instance());
        Self { context: Some(context), device: Some(device), instance, is_ignored: |_| false }
    }

    /// The device.
    ///
    /// # Panics
    ///
    /// If the context was closed with [`CheckedContext::close`].
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        self.device.as_ref().expect("the context is closed")
    }

    /// The device's instance.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Ignores messages of the validation layer that are known to be wrong in this test.
    ///
    /// ```
    /// # fn main() -> anyhow::Result<()> {
    /// let mut ctx = vkarray_test::CheckedContext::open()?;
    /// ctx.ignore(|message| message.id == "SYNC-HAZARD-WRITE-AFTER-WRITE");
    /// assert!(ctx.take_messages().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn ignore(&mut self, is_ignored: fn(&ValidationMessage) -> bool) {
        self.is_ignored = is_ignored;
    }

    /// Moves the context out, for a test that drops it itself.
    pub fn take_context(&mut self) -> Option<Context> {
        self.context.take()
    }

    /// The messages of the validation layer since the last call, without those that [`is_false_report`] accepts or that are
    /// [ignored](Self::ignore).
    #[must_use]
    pub fn take_messages(&self) -> Vec<ValidationMessage> {
        let is_report = |message: &ValidationMessage| !is_false_report(message) && !(self.is_ignored)(message);
        self.instance.take_messages().into_iter().filter(is_report).collect()
    }

    /// Closes the context and the device, and returns the problems found; a correct test has none. Waits two seconds at most.
    #[must_use]
    pub fn close(&mut self) -> Vec<Problem> {
        self.context = None;
        let mut problems = Vec::new();
        if let Some(device) = self.device.take() {
            if !becomes_true(LEAK_LIMIT, || Arc::strong_count(&device) == 1) {
                let n_references = Arc::strong_count(&device) - 1;
                problems.push(Problem::Leak { device: device.info().name.clone(), n_references });
            }
            // When the device is destroyed, the layer lists the objects that were not destroyed before.
            drop(device);
        }
        problems.extend(self.take_messages().into_iter().map(Problem::Message));
        problems
    }
}

impl Deref for CheckedContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context.as_ref().expect("the context is open until it is taken or closed")
    }
}

impl Drop for CheckedContext {
    fn drop(&mut self) {
        let problems = self.close();
        if thread::panicking() {
            // The test has failed already, and these problems may follow from its failure.
            problems.iter().for_each(|problem| eprintln!("also: {problem}"));
        } else {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            assert!(lines.is_empty(), "{}", lines.join("\n"));
        }
    }
}

/// Polls until `is_true` returns true or the limit is over. Returns whether it became true.
pub fn becomes_true(limit: Duration, is_true: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_true() {
        if begun.elapsed() > limit {
            return false;
        }
        thread::yield_now();
    }
    true
}

/// Whether the message is about a call that this program does not make, or about one that is allowed.
///
/// - Version 1.3.239, on a busy machine, sometimes waits ten seconds for its own record of a semaphore that the host
///   signalled, and then says "This is most likely a validation bug".
/// - 1.4.330 with NVIDIA's driver reports a query for the address of a function of video encoding, which no call of this
///   program names.
/// - 1.3.239 says which of its own checks of kernels it leaves out on devices without 64-bit integers.
/// - 1.4.341 advises against allocations beyond `maxMemoryAllocationSize`. Drivers may grant them, and NVIDIA's does.
/// - 1.4.341 treats each write of a dispatch as a write of the whole binding. The pieces of a launch that is folded on a
///   short axis write unordered, as its workgroups would without folding; only they are recorded with
///   `vkCmdDispatchBase`.
#[must_use]
pub fn is_false_report(message: &ValidationMessage) -> bool {
    message.id == "UNASSIGNED-VkSemaphore-state-timeout" && message.text.contains("most likely a validation bug")
        || message.id == "WARNING-vkGetDeviceProcAddr-device" && message.text.contains("VideoEncode")
        || message.id == "UNASSIGNED-GPU-Assisted Validation Warning"
            && message.text.contains("feature is not available")
        || message.id == "UNASSIGNED-vkAllocateMemory-maxMemoryAllocationSize"
        || message.id == "SYNC-HAZARD-WRITE-AFTER-WRITE"
            && message.text.contains("vkCmdDispatchBase(): WRITE_AFTER_WRITE")
            && message.text.contains("previously written by another vkCmdDispatchBase command")
}
