//! [`Gate`]: keeps work in flight until a check opens the gate.
//!
//! Streams wait for a semaphore that the host signals. A manager that waits for these streams would wait forever. For
//! this case a thread signals the semaphore after a long time, and the check can ask whether it did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ash::vk;
use vkarray_driver::{Device, Owned, Point, Stream};

use crate::check_error::CheckError;

/// How long a manager may wait before the gate opens by itself. No check that passes waits as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the device's waiting thread polls submitted batches. If the host signals a semaphore while the thread polls
/// work behind it, the validation layer 1.3.239 waits ten seconds for its own state, and reports that as its likely
/// bug.
const POLLING: Duration = Duration::from_millis(20);

/// A closed gate in front of some streams. Opens when dropped.
pub(crate) struct Gate {
    opener: Option<JoinHandle<()>>,
    open: mpsc::Sender<()>,
    was_forced: Arc<AtomicBool>,
    streams: Vec<Stream>,
    /// One semaphore for each stream.
    semaphores: Option<Arc<[Owned<vk::Semaphore>]>>,
}

impl Gate {
    /// Closes a gate: work given to these streams from here on runs once the gate is opened.
    pub(crate) fn close(device: &Arc<Device>, streams: &[&Stream]) -> Result<Self, CheckError> {
        let semaphores: Arc<[_]> = streams.iter().map(|_| semaphore(device)).collect::<Result<_, _>>()?;
        let was_forced = Arc::new(AtomicBool::new(false));
        let (open, opened) = mpsc::channel();
        let (semaphores_to_signal, forced, of) = (Arc::clone(&semaphores), Arc::clone(&was_forced), Arc::clone(device));
        let opener = thread::spawn(move || {
            if opened.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                forced.store(true, Ordering::SeqCst);
            }
            if of.physical().instance().is_validating() {
                thread::sleep(POLLING);
            }
            for semaphore in &*semaphores_to_signal {
                let info = vk::SemaphoreSignalInfo::default().semaphore(semaphore.raw()).value(1);
                // SAFETY: the semaphore is alive, at zero, and signalled only here.
                let _ = unsafe { of.raw().signal_semaphore(&info) }; // The call fails only if the device is lost.
            }
        });
        let streams = streams.iter().map(|&stream| stream.clone()).collect();
        let gate = Self { opener: Some(opener), open, was_forced, streams, semaphores: Some(semaphores) };
        for (stream, semaphore) in gate.streams.iter().zip(gate.semaphores.iter().flat_map(|all| all.iter())) {
            // SAFETY: `semaphore` is a timeline semaphore of the device. The gate signals it, and keeps it until its
            // streams are idle.
            stream.wait_for(&unsafe { Point::external(device, semaphore.raw(), 1) })?;
        }
        Ok(gate)
    }

    /// Whether the gate opened by itself, because something waited for work behind it.
    pub(crate) fn was_forced(&self) -> bool {
        self.was_forced.load(Ordering::SeqCst)
    }

    /// Opens the gate and waits for the work behind it.
    pub(crate) fn open(mut self) -> Result<(), CheckError> {
        self.signal();
        Ok(self.streams.iter().try_for_each(Stream::synchronize)?)
    }

    fn signal(&mut self) {
        let _ = self.open.send(()); // The thread has ended if the gate was forced.
        if let Some(opener) = self.opener.take() {
            let _ = opener.join(); // The thread does not panic.
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.signal();
        let is_done = self.streams.iter().all(|stream| stream.synchronize_for(PATIENCE).is_ok());
        if !is_done {
            // Work that still waits needs the semaphores, so they are not destroyed.
            self.semaphores.take().map(Arc::into_raw);
        }
    }
}

fn semaphore(device: &Arc<Device>) -> Result<Owned<vk::Semaphore>, CheckError> {
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    // SAFETY: `info` is complete, and an open device has timeline semaphores.
    let raw = unsafe { device.raw().create_semaphore(&info, None) };
    let raw = raw.map_err(|code| CheckError::Failed(format!("cannot make a semaphore: {code}")))?;
    // SAFETY: this device made the semaphore just now, and nothing else owns it.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}
