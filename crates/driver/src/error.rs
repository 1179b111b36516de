//! The errors of this crate.
//!
//! One enum for the crate. A variant carries the facts a caller can act on; a failing Vulkan call that no caller can
//! act on keeps the call's name and code. The crates above wrap this as their `source()`.

use std::time::{Duration, Instant};

use ash::vk;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The errors of the driver crate.
///
/// In the variants, `hint` is what to install on this system, `origin` is the argument or environment variable that a
/// text came from, `call` is a command as the specification spells it, and `labels` are the labels of the last work
/// sent to the device, oldest first.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum Error {
    /// The Vulkan loader is not installed, or not where the system looks.
    #[error("no Vulkan loader found ({reason}); {hint}")]
    LoaderMissing { reason: String, hint: &'static str },
    /// Validation was asked for, and the Khronos layer is not installed.
    #[error("validation was asked for, but VK_LAYER_KHRONOS_validation is not installed; {hint}")]
    ValidationMissing { hint: &'static str },
    /// The loader is installed, but no driver is.
    #[error("no Vulkan device found; {hint}")]
    NoDevice { hint: &'static str },
    /// Vulkan cannot be loaded or asked, while the process can open hardly any more files.
    #[error(
        "fewer than {needed} file descriptors are free, and the Vulkan loader and drivers need them: close files, or raise \
         the limit (`ulimit -n`)"
    )]
    NoDescriptors { needed: usize },
    /// No device matches what was asked for.
    #[error("no device matches \"{selector}\" (from {origin}); there {}", list_devices(available))]
    UnknownDevice { selector: String, origin: &'static str, available: Vec<String> },
    /// A selector or requirement that is not written in a known form.
    #[error("\"{text}\" in {origin} is not a device selector: {reason}")]
    BadSelector { text: String, origin: &'static str, reason: &'static str },
    /// Text that names no [`LimitProfile`](crate::LimitProfile): neither a known name nor a readable file.
    #[error("\"{text}\" (from {origin}) is not a limit profile: {reason}")]
    BadLimits { text: String, origin: &'static str, reason: String },
    /// An environment variable with a value that it cannot have.
    #[error("\"{text}\" in {variable} is not {expected}")]
    BadSetting { variable: &'static str, text: String, expected: &'static str },
    /// The device exists but lacks something that the runtime needs.
    #[error("{device} cannot be used: {reason}")]
    Unsuitable { device: String, reason: String },
    /// The driver has lost the device. Every later call on it fails the same way; open a new one.
    #[error("device lost during {call}{}", recent(labels))]
    DeviceLost { call: &'static str, labels: Vec<String> },
    /// A device was used in a forked child of the process that opened it. Load Vulkan again in the child.
    #[error("the device was opened by process {opened_by} and does not work in process {used_by}, forked from it")]
    Forked { opened_by: u32, used_by: u32 },
    /// The device, or another part of the program, was to use memory that the host is reading or writing in place. A
    /// kernel uses whole words of four bytes and all bytes from the aligned offset at which the memory is bound, so
    /// this can name more bytes than the kernel touches.
    #[error(
        "the host holds bytes {range:?} of this memory to {}: drop the guard first",
        if *mode == crate::hazard::Mode::Read { "read" } else { "write" }
    )]
    HeldByHost { range: std::ops::Range<u64>, mode: crate::hazard::Mode },
    /// A wait ended before the work did.
    #[error("work not done after {waited:?}")]
    Timeout { waited: Duration },
    /// An event's time was asked for, and the event was made without timing.
    #[error("the event was created without timing; `Event::with_timing` creates one with it")]
    TimingOff,
    /// An event's time was asked for before the event was ever recorded.
    #[error("event was never recorded")]
    NeverRecorded,
    /// A wait for the first of no events, which would never end.
    #[error("no events to wait for")]
    NoEvents,
    /// An event's time was asked for before the device reached it.
    #[error("event is not complete yet")]
    NotReady,
    /// Two objects of devices that were opened separately were used together: an event recorded or timed with another
    /// device, a wait on the host for events of several devices, or a wait of a stream for a semaphore of other code on
    /// another device.
    #[error("events of devices that were opened separately share no timeline and no clock")]
    DifferentDevices,
    /// A stream waited for work of another device, which will never be complete. This device has failed too, since the work
    /// that waited would use results that do not exist.
    #[error("work waits for {device}, which failed: {reason}")]
    AwaitedDeviceFailed { device: String, reason: Box<Self> },
    /// Two timestamps of queues whose clocks the device does not relate.
    #[error("events were recorded on different queues, and this device does not relate their clocks")]
    DifferentQueues,
    /// A trace was started on a device that is already being traced.
    #[error("the device is being traced already")]
    AlreadyTraced,
    /// A trace could not be written.
    #[error("the trace could not be written: {0}")]
    TraceNotWritten(std::sync::Arc<std::io::Error>),
    /// A device was to be closed while something made from it is left.
    #[error("{device} cannot be closed: {holders} holders of it are left after {waited:?}")]
    StillHeld { device: String, holders: usize, waited: Duration },
    /// A graph and a stream of different devices.
    #[error("the graph belongs to {graph} and the stream to {stream}: they were opened separately")]
    ForeignGraph { graph: String, stream: String },
    /// A step of a device that is not the graph's.
    #[error("the graph belongs to {graph} and the step to {step}: they were opened separately")]
    ForeignStep { graph: String, step: String },
    /// A node that another graph was asked about.
    #[error("node {node} belongs to graph {of}, not to graph {graph}")]
    ForeignNode { node: usize, of: u64, graph: u64 },
    /// A Vulkan call failed in a way that only a reader of the specification can act on.
    #[error("{call} returned {code:?}")]
    Vulkan { call: &'static str, code: vk::Result },
}

crate::debug_as_display!(Error);

impl Error {
    /// Returns a converter for `map_err` that names the call that failed.
    pub fn from_call(call: &'static str) -> impl FnOnce(vk::Result) -> Self {
        move |code| match code {
            vk::Result::ERROR_DEVICE_LOST => Self::DeviceLost { call, labels: Vec::new() },
            code => Self::Vulkan { call, code },
        }
    }

    /// Whether this machine has no Vulkan device at all: no loader, or no driver that answers.
    ///
    /// A test that may be skipped on such a machine skips on this alone: a misspelt `VKARRAY_DEVICE`, or a device that
    /// is there and cannot be used, is another error.
    ///
    /// ```no_run
    /// let instance = match vkarray_driver::Instance::new() {
    ///     Err(error) if error.is_no_device() => return Ok(()), // Nothing to test on.
    ///     other => other?,
    /// };
    /// # drop(instance);
    /// # Ok::<(), vkarray_driver::Error>(())
    /// ```
    pub fn is_no_device(&self) -> bool {
        matches!(self, Self::LoaderMissing { .. } | Self::NoDevice { .. })
    }

    /// Replaces the time of a timeout by the time since `begun`. Any other error is returned unchanged.
    pub(crate) fn since(self, begun: Instant) -> Self {
        match self {
            Self::Timeout { .. } => Self::Timeout { waited: begun.elapsed() },
            other => other,
        }
    }

    /// Whether the driver ran out of device or host memory.
    ///
    /// ```
    /// use vkarray_driver::Error;
    ///
    /// assert!(!Error::NoEvents.is_out_of_memory());
    /// ```
    pub fn is_out_of_memory(&self) -> bool {
        use vk::Result as R;
        matches!(self, Self::Vulkan { code: R::ERROR_OUT_OF_DEVICE_MEMORY | R::ERROR_OUT_OF_HOST_MEMORY, .. })
    }
}

/// What to install where there is no loader or driver.
pub(crate) const INSTALL_DRIVER: &str = if cfg!(target_os = "macos") {
    "install MoltenVK and the Vulkan loader (`brew install molten-vk vulkan-loader`)"
} else if cfg!(windows) {
    "install your GPU vendor's driver, which brings vulkan-1.dll"
} else {
    "install your GPU's Vulkan driver, or the CPU driver: `libvulkan1 mesa-vulkan-drivers` on Debian and Ubuntu, \
     `vulkan-loader mesa-vulkan-drivers` on Fedora, `vulkan-icd-loader vulkan-swrast` on Arch"
};

/// What to install where there is no validation layer.
pub(crate) const INSTALL_LAYER: &str = if cfg!(target_os = "macos") {
    "`brew install vulkan-validationlayers`"
} else if cfg!(windows) {
    "install the Vulkan SDK"
} else {
    "`vulkan-validationlayers` on Debian and Ubuntu, `vulkan-validation-layers` on Fedora and Arch"
};

fn list_devices(available: &[String]) -> String {
    match available {
        [] => "is none".to_owned(),
        names => {
            format!("are: {}", names.iter().enumerate().map(|(i, n)| format!("{i} {n}")).collect::<Vec<_>>().join(", "))
        }
    }
}

fn recent(labels: &[String]) -> String {
    if labels.is_empty() { String::new() } else { format!("; last work: {}", labels.join(", ")) }
}
