//! Keeps work in flight until a check says otherwise.
//!
//! Streams wait for a semaphore that the host raises. Whoever waits for those streams with the gate closed waits for
//! good, so a thread opens it after a long while, and the check hears of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ash::vk;
use vkarray_driver::{Device, Owned, Point, Stream};

use crate::check_error::CheckError;

/// How long a manager may hang before the gate opens by itself. No check that goes well waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// For how long the device's own thread asks after batches that are sent. The layer 1.3.239 waits ten seconds for its own
/// note of a semaphore that the host raises while somebody asks after work behind it, and says that this is most likely
/// its bug.
const LULL: Duration = Duration::from_millis(20);

/// A closed gate before some streams. Opens when dropped.
pub(crate) struct Gate {
    opener: Option<JoinHandle<()>>,
    open: mpsc::Sender<()>,
    was_forced: Arc<AtomicBool>,
    streams: Vec<Stream>,
    /// One a stream.
    semaphores: Option<Arc<[Owned<vk::Semaphore>]>>,
}

impl Gate {
    /// Closes a gate: what these streams are given from here on runs when it is opened.
    pub(crate) fn close(device: &Arc<Device>, streams: &[&Stream]) -> Result<Self, CheckError> {
        let semaphores: Arc<[_]> = streams.iter().map(|_| semaphore(device)).collect::<Result<_, _>>()?;
        let was_forced = Arc::new(AtomicBool::new(false));
        let (open, opened) = mpsc::channel();
        let (raised, forced, of) = (Arc::clone(&semaphores), Arc::clone(&was_forced), Arc::clone(device));
        let opener = thread::spawn(move || {
            if opened.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                forced.store(true, Ordering::SeqCst);
            }
            if of.physical().instance().is_validating() {
                thread::sleep(LULL);
            }
            for semaphore in &*raised {
                let info = vk::SemaphoreSignalInfo::default().semaphore(semaphore.raw()).value(1);
                // SAFETY: the semaphore is alive, at zero, and raised only here.
                let _ = unsafe { of.raw().signal_semaphore(&info) }; // It fails with the device alone.
            }
        });
        let streams = streams.iter().map(|&stream| stream.clone()).collect();
        let gate = Self { opener: Some(opener), open, was_forced, streams, semaphores: Some(semaphores) };
        for (stream, semaphore) in gate.streams.iter().zip(gate.semaphores.iter().flat_map(|all| all.iter())) {
            // SAFETY: a timeline semaphore of the device; the gate raises it, and keeps it until its streams are done.
            stream.wait_for(&unsafe { Point::external(device, semaphore.raw(), 1) })?;
        }
        Ok(gate)
    }

    /// Whether somebody waited for work behind the gate, for so long that it was opened.
    pub(crate) fn was_forced(&self) -> bool {
        self.was_forced.load(Ordering::SeqCst)
    }

    /// Opens the gate and waits for what was held up.
    pub(crate) fn open(mut self) -> Result<(), CheckError> {
        self.let_go();
        Ok(self.streams.iter().try_for_each(Stream::synchronize)?)
    }

    fn let_go(&mut self) {
        let _ = self.open.send(()); // Nobody listens if it was forced.
        if let Some(opener) = self.opener.take() {
            let _ = opener.join(); // It does not panic.
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.let_go();
        let is_done = self.streams.iter().all(|stream| stream.synchronize_for(PATIENCE).is_ok());
        if !is_done {
            // What still waits needs it.
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
    // SAFETY: made by this device just now, and owned by nobody else.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}
