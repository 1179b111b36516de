//! Writes each allocation and free as a line of CSV, in the columns of RMM's logs and one more, the kind.
//!
//! Logs are read by `log_format.rs`. A free is logged before the memory can be given out again.

use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use ash::vk::Handle;
use vkarray_driver::Device;
use vkarray_driver::lock::{Mutex, Rank};

use super::Adaptor;
use crate::kind::MemoryKind;
use crate::manager::adaptors::log_format::{ALLOCATE, ALLOCATE_FAILURE, COLUMNS, FREE, kind_text};
use crate::manager::{MemoryManager, Request};
use crate::memory::MemoryPointer;

/// Writes a log of what a manager gives out and takes back.
///
/// ```
/// use std::sync::Arc;
///
/// use vkarray_allocator::{Allocator, Logging, MemoryKind, PoolManager};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let logging = Arc::new(Logging::new(PoolManager::new(), std::io::stderr()));
/// let allocator = Allocator::with_manager(&device, Box::new(Arc::clone(&logging)))?;
/// drop(allocator.allocate(100, MemoryKind::Device)?);
/// logging.flush_log();
/// assert!(logging.failure().is_none());
/// # Ok(())
/// # }
/// ```
#[doc(alias = "LoggingResourceAdaptor")]
pub struct Logging<M, W: Write> {
    /// A writer that panicked under the lock leaves an incomplete line.
    log: Mutex<LogWriter<W>>,
    /// The device, for the numbers of its streams. Weak, so that a log does not keep a device open.
    device: OnceLock<Weak<Device>>,
    inner: M,
}

struct LogWriter<W: Write> {
    writer: csv::Writer<W>,
    failure: Option<Arc<csv::Error>>,
}

impl<M: MemoryManager, W: Write + Send> Logging<M, W> {
    /// Writes to `writer`, which is called under a lock: it must not allocate from this manager. Lines are buffered.
    ///
    /// When writing fails, nothing more is written. Memory is still given out; see [`Logging::failure`].
    pub fn new(inner: M, writer: W) -> Self {
        let writer = csv::WriterBuilder::new().has_headers(false).from_writer(writer);
        let mut log = LogWriter { writer, failure: None };
        log.write(|writer| writer.write_record(COLUMNS));
        Self { log: Mutex::new(Rank::Log, log), device: OnceLock::new(), inner }
    }

    /// Writes the buffered lines.
    pub fn flush_log(&self) {
        self.log.lock().write(|writer| Ok(writer.flush()?));
    }

    /// The error that ended the log early, if there was one.
    pub fn failure(&self) -> Option<Arc<csv::Error>> {
        self.log.lock().failure.clone()
    }

    /// Writes a line. A free has the number of the stream that used the memory last.
    fn write(&self, action: &str, memory: Option<&MemoryPointer>, size: u64, kind: MemoryKind) {
        let pointer =
            memory.map_or_else(String::new, |memory| format!("{:#x}+{}", memory.buffer().as_raw(), memory.offset()));
        let stream = memory.filter(|_| action == FREE).and_then(|memory| self.last_stream(memory));
        let stream = stream.map_or_else(String::new, |number| number.to_string());
        let (thread, size) = (thread_number().to_string(), size.to_string());
        let mut log = self.log.lock();
        let time = time_text(SystemTime::now()); // Taken under the lock, so that times never decrease.
        let fields = [&thread, &time, action, &pointer, &size, &stream, kind_text(kind)];
        log.write(|writer| writer.write_record(fields));
    }

    /// The number of the stream that used the memory last, if there is one.
    fn last_stream(&self, memory: &MemoryPointer) -> Option<u64> {
        let device = self.device.get()?.upgrade()?;
        device.points(memory.last_uses()).last()?.timeline().stream_number()
    }
}

impl<W: Write> LogWriter<W> {
    fn write(&mut self, write: impl FnOnce(&mut csv::Writer<W>) -> csv::Result<()>) {
        if self.failure.is_some() {
            return;
        }
        if let Err(error) = write(&mut self.writer) {
            log::warn!("the log of memory ends here: {error}");
            self.failure = Some(Arc::new(error));
        }
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager, W: Write + Send> Adaptor for Logging<M, W> {
    fn inner(&self) -> &dyn MemoryManager {
        &self.inner
    }

    fn initialized(&self, device: &Arc<Device>) {
        self.device.get_or_init(|| Arc::downgrade(device));
    }

    fn after(&self, request: &Request, given: Option<&MemoryPointer>) {
        let action = if given.is_some() { ALLOCATE } else { ALLOCATE_FAILURE };
        self.write(action, given, request.size, request.kind);
    }

    fn freeing(&self, memory: &MemoryPointer) {
        self.write(FREE, Some(memory), memory.size(), memory.kind());
    }
}

vkarray_driver::debug_fields!([M: fmt::Debug, W: Write] Logging<M, W>, this => inner: this.inner);

/// The calling thread's number. Numbers start at 1, in the order in which threads first log.
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// The time of day in UTC, as `14:03:59.000001`.
fn time_text(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, micros) = (since.as_secs() % 86_400, since.subsec_micros());
    format!("{:02}:{:02}:{:02}.{micros:06}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests;
