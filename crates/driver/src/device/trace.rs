//! Starting a recording of what happens on a device, and writing it when it ends.
//!
//! The folder `trace` has the recorded data and the writer of the file.

use std::io::Write;
use std::sync::Arc;

use super::Device;
use crate::error::Result;
use crate::trace::{self, Calibration, TraceRecording};

/// A recording of everything that happens on a device, from [`Trace::start`] on.
///
/// A recording takes memory for every operation until it is finished or dropped.
///
/// ```
/// use vkarray_driver::{Device, Event, Instance, Stream, Trace};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let stream = Stream::new(&device)?;
/// let trace = Trace::start(&device)?;
/// Event::with_timing(&device)?.record(&stream)?;
/// let mut json = Vec::new(); // Usually a file, for Perfetto or `chrome://tracing`.
/// trace.finish(&mut json)?;
/// assert!(String::from_utf8_lossy(&json).contains("traceEvents"));
/// # Ok(())
/// # }
/// ```
pub struct Trace {
    recording: Arc<TraceRecording>,
    device: Arc<Device>,
}

impl Trace {
    /// Starts to record. Work that streams hold unsent is sent, so that what follows is in the trace from its
    /// beginning.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyTraced`](crate::Error::AlreadyTraced) if the device has a recording,
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the unsent work or does not tell its time, [`Error::Forked`](crate::Error::Forked) in a
    /// forked process.
    pub fn start(device: &Arc<Device>) -> Result<Self> {
        device.check_lost()?;
        let is_calibrated = device.plan().extensions.iter().any(|name| name == "VK_EXT_calibrated_timestamps");
        let calibration = Calibration::new(device.physical(), device.raw(), is_calibrated)?;
        let recording = Arc::new(TraceRecording::new(calibration));
        device.trace.put(&recording)?;
        let trace = Self { recording, device: Arc::clone(device) };
        let lanes = device.tracker.lock().live_lanes(); // The lock is given back: sending takes it.
        lanes.iter().try_for_each(|lane| lane.flush())?;
        Ok(trace)
    }

    /// Stops recording and writes the trace as JSON. Blocks until all work recorded so far is done.
    ///
    /// The trace may lack work that another thread records during the call.
    ///
    /// # Errors
    ///
    /// [`Error::TraceNotWritten`](crate::Error::TraceNotWritten) if `out` fails,
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost while its work is waited for,
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver refuses unsent work,
    /// [`Error::Forked`](crate::Error::Forked) in a forked process. When the wait fails, the trace is still written.
    pub fn finish(self, out: impl Write) -> Result<()> {
        self.device.check_process()?;
        let synchronized = self.device.synchronize();
        self.device.trace.take();
        self.recording.calibrate();
        trace::write(self.device.info(), &self.recording, out)?;
        synchronized
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if self.device.is_forked() {
            return; // In a forked process the lock may stay locked for ever.
        }
        self.device.trace.take();
    }
}

crate::debug_fields!(Trace, this => device: this.device.info().name);
