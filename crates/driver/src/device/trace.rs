//! Starting a recording of what happens on a device, and writing it when it ends.
//!
//! What is recorded, and how it is written, is in the folder `trace`.

use std::io::Write;
use std::sync::Arc;

use super::Device;
use crate::error::Result;
use crate::trace::{self, Calibration, TraceRecording};

/// A recording of everything that happens on a device, from [`Trace::start`] on.
///
/// Takes memory for every operation until it is finished or dropped.
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
    /// Starts to record. Work that streams hold unsent is sent, so that what follows is in the trace from its beginning.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyTraced`](crate::Error::AlreadyTraced); those of sending the work, and of asking for the device's time.
    pub fn start(device: &Arc<Device>) -> Result<Self> {
        device.check_lost()?;
        let is_calibrated = device.plan().extensions.iter().any(|name| name == "VK_EXT_calibrated_timestamps");
        let calibration = Calibration::new(device.physical(), device.raw(), is_calibrated)?;
        let recording = Arc::new(TraceRecording::new(calibration));
        device.trace().put(&recording)?;
        let trace = Self { recording, device: Arc::clone(device) };
        let lanes = device.tracker.lock().lanes(); // The lock is given back: sending takes it.
        lanes.iter().try_for_each(|lane| lane.flush())?;
        Ok(trace)
    }

    /// Stops to record and writes the trace, as JSON. Blocks until all work recorded so far is done.
    ///
    /// Work that another thread records at the same time is in the trace or not.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`](crate::Error::Forked); [`Error::TraceNotWritten`](crate::Error::TraceNotWritten), whatever else
    /// happens; those of waiting for the work, after the rest is written.
    pub fn finish(self, out: impl Write) -> Result<()> {
        self.device.check_process()?;
        let synchronized = self.synchronize();
        self.device.trace().take();
        self.recording.calibrate();
        trace::write(self.device.info(), &self.recording, out)?;
        synchronized
    }

    fn synchronize(&self) -> Result<()> {
        self.device.check_lost()?;
        let lanes = self.device.tracker.lock().lanes();
        // All are sent before the first is waited for.
        lanes.iter().try_for_each(|lane| lane.flush())?;
        lanes.iter().try_for_each(|lane| lane.synchronize())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if self.device.is_forked() {
            return; // In a forked process the lock may stay locked for ever.
        }
        self.device.trace().take();
    }
}

crate::debug_fields!(Trace, this => device: this.device.info().name);
