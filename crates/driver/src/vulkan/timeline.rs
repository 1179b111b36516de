//! A timeline semaphore: a number on the device that only grows.
//!
//! Each lane signals its own timeline; a batch is complete when the timeline has reached its number. The last value
//! seen is cached, so a query about old work does not call the driver.
//!
//! The device owns the semaphores. A timeline takes one and returns it when dropped, and the next timeline that takes
//! the semaphore continues from its value. The semaphores are destroyed with the device and not before, because Mesa's
//! common queue code (seen in lavapipe 22.3.6) takes the lock of a semaphore that a batch waited for after the batch's
//! own value is reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ash::prelude::VkResult;
use ash::vk::{self, Handle};

use super::LogicalDevice;
use super::loss::{self, ASK_EVERY, DRAIN_TIMEOUT};
use crate::error::{Error, Result};
use crate::hazard::LaneId;
use crate::trace::BatchId;

/// The time after which a polling thread pauses between two queries, since queries slow down other threads' submissions
/// and queries.
const TIGHT: Duration = Duration::from_micros(20);
/// The length of the pause between two queries in spin-loop hints, of 30 ns each on an x86 server.
const PAUSES: u32 = 16;

/// The longest sleep without a query. Where several threads sleep for one semaphore, the driver of an H100 (580) often
/// wakes one of them ten milliseconds late.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// A counter that the device raises.
///
/// ```
/// use vkarray_driver::{Device, Event, Instance, Stream};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let stream = Stream::new(&device)?;
/// Event::with_timing(&device)?.record(&stream)?;
/// stream.synchronize()?;
/// let point = stream.point()?;
/// assert!(point.timeline().reached()? >= point.value());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Timeline {
    semaphore: vk::Semaphore,
    device: Arc<LogicalDevice>,
    submitted: AtomicU64,
    reached: AtomicU64,
    /// How often a thread has waited for this timeline, or for another timeline of its stream.
    n_waits: Arc<AtomicU64>,
    /// The number of the stream whose work the timeline counts; 0 without a stream.
    stream: u64,
    /// The lane whose work the timeline counts, if any.
    pub(crate) lane: Option<LaneId>,
    /// Whether other code creates, signals and destroys the semaphore.
    is_external: bool,
}

impl Timeline {
    /// Makes a timeline for the stream of the number `stream`, or for no stream if it is 0.
    pub(crate) fn new(device: &Arc<LogicalDevice>, stream: u64) -> Result<Self> {
        device.check_lost()?;
        let (semaphore, value) = match device.semaphores.lock().pop() {
            Some(spare) => spare,
            None => (create(device)?, 0),
        };
        let (submitted, reached) = (AtomicU64::new(value), AtomicU64::new(value));
        let n_waits = Arc::default();
        let device = Arc::clone(device);
        Ok(Self { semaphore, device, submitted, reached, n_waits, stream, lane: None, is_external: false })
    }

    /// Makes a timeline of a semaphore of other code. Other code signals it, so this library never has a batch to
    /// submit for it.
    pub(crate) fn external(device: &Arc<LogicalDevice>, semaphore: vk::Semaphore) -> Self {
        let (submitted, reached) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        let n_waits = Arc::default();
        let device = Arc::clone(device);
        Self { semaphore, device, submitted, reached, n_waits, stream: 0, lane: None, is_external: true }
    }

    /// Makes this the timeline of `lane`. A wait for `beside`, a timeline of the same stream, counts for both.
    pub(crate) fn of_lane(mut self, lane: LaneId, beside: Option<&Self>) -> Self {
        self.lane = Some(lane);
        if let Some(beside) = beside {
            self.n_waits = Arc::clone(&beside.n_waits);
        }
        self
    }

    /// How often a thread has waited for this timeline, or for another timeline of its stream.
    #[inline]
    pub(crate) fn n_waits(&self) -> u64 {
        self.n_waits.load(Ordering::Relaxed)
    }

    /// The handle of the semaphore.
    pub fn raw(&self) -> vk::Semaphore {
        self.semaphore
    }

    /// The `VkSemaphore` as a number, for interchange with other libraries.
    pub fn handle(&self) -> u64 {
        self.semaphore.as_raw()
    }

    /// The device whose work the timeline counts.
    pub fn device(&self) -> &Arc<LogicalDevice> {
        &self.device
    }

    /// The number of the stream whose work the timeline counts; `None` without a stream.
    pub fn stream_number(&self) -> Option<u64> {
        (self.stream != 0).then_some(self.stream)
    }

    /// The largest value that a submitted batch will signal.
    pub fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    pub(crate) fn set_submitted(&self, value: u64) {
        self.submitted.fetch_max(value, Ordering::AcqRel);
    }

    /// The largest value that the device is known to have reached. The driver is not asked, so the value may lag
    /// behind.
    pub fn last_seen(&self) -> u64 {
        self.reached.load(Ordering::Acquire)
    }

    /// Queries the value from the driver. Never blocks.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`] if the device is lost, [`Error::Forked`] in a forked process.
    pub fn reached(&self) -> Result<u64> {
        let device = self.device();
        device.check_lost()?;
        // SAFETY: the semaphore is a timeline, alive in `self`.
        let value = unsafe { device.raw().get_semaphore_counter_value(self.raw()) };
        let value = value.map_err(device.failed("vkGetSemaphoreCounterValue"))?;
        Ok(self.reached.fetch_max(value, Ordering::AcqRel).max(value))
    }

    /// Whether the value is reached. The driver is asked unless that is known. Never blocks.
    #[inline]
    pub(crate) fn has_reached(&self, value: u64) -> Result<bool> {
        Ok(self.last_seen() >= value || self.reached()? >= value)
    }

    /// Blocks until the value is reached: polls for the device's polling time, then sleeps.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`] when `timeout` has passed (`None` waits without a bound), [`Error::DeviceLost`] if the device
    /// is lost, [`Error::Forked`] in a forked process.
    pub(crate) fn wait(&self, value: u64, timeout: Option<Duration>) -> Result<()> {
        self.wait_polling(value, timeout, self.device().poll)
    }

    /// Blocks until the value is reached: polls for the time `poll`, then sleeps.
    pub(crate) fn wait_polling(&self, value: u64, timeout: Option<Duration>, poll: Duration) -> Result<()> {
        self.n_waits.fetch_add(1, Ordering::Relaxed);
        if self.last_seen() >= value {
            return Ok(());
        }
        // The work of a lost device may never complete, and no lock may be taken in a forked process.
        self.device().check_lost()?;
        let span = self.device().trace.span("wait", Some(BatchId { timeline: self.handle(), value }));
        let outcome = self.poll_then_sleep(value, timeout, poll);
        if let (Some(span), Err(_)) = (span, &outcome) {
            span.rename("wait given up");
        }
        outcome
    }

    fn poll_then_sleep(&self, value: u64, timeout: Option<Duration>, poll: Duration) -> Result<()> {
        self.device().n_host_waits.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let poll = timeout.map_or(poll, |limit| limit.min(poll));
        loop {
            if self.reached()? >= value {
                return Ok(());
            }
            let waited = begun.elapsed();
            if waited >= poll {
                break;
            }
            (0..if waited < TIGHT { 1 } else { PAUSES }).for_each(|_| std::hint::spin_loop());
        }
        sleep(self.device(), (begun, timeout), |left| self.call_wait(value, left.min(LONGEST_SLEEP)))?;
        // If this device failed because an awaited device did, its work is complete too, but ran without what it waited
        // for.
        self.device().check_lost()
    }

    /// Raises the value by one from the host. The timeline is one that no work signals, and one thread at a time raises
    /// it.
    pub(crate) fn raise(&self) -> Result<()> {
        let value = self.submitted.fetch_add(1, Ordering::AcqRel) + 1;
        let info = vk::SemaphoreSignalInfo::default().semaphore(self.raw()).value(value);
        // SAFETY: the value is larger than any before: one thread at a time raises the timeline, by this function's contract,
        // so the values are signalled in the order in which they are counted, and no work signals this timeline.
        unsafe { self.device().raw().signal_semaphore(&info) }.map_err(self.device().failed("vkSignalSemaphore"))
    }

    /// Asks whether `value` is reached, by a wait with a timeout of zero, which fails where a longer wait would fail.
    pub(crate) fn ask(&self, value: u64) -> Result<bool> {
        match self.call_wait(value, Duration::ZERO) {
            Ok(()) => Ok(true),
            Err(vk::Result::TIMEOUT) => Ok(false),
            Err(code) => Err(self.device().failed("vkWaitSemaphores")(code)),
        }
    }

    fn call_wait(&self, value: u64, timeout: Duration) -> VkResult<()> {
        let (semaphores, values) = ([self.raw()], [value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: `info` borrows both arrays; `self` keeps the semaphore alive.
        unsafe { self.device().raw().wait_semaphores(&info, nanoseconds(timeout)) }?;
        self.reached.fetch_max(value, Ordering::AcqRel);
        Ok(())
    }

    /// Waits for `value`, so that the validation layer records it as reached. The value is known to be reached, since
    /// later work had waited for it.
    ///
    /// When the host sees a timeline's value, everything that the work before it waited for is complete, on all queues.
    /// The layer records only the work of that timeline's own queue as complete. Does nothing without validation, and
    /// nothing on a failed device, whose lost work never completes.
    pub(crate) fn confirm_to_validation(&self, value: u64) {
        let is_validating = self.device.physical().instance().is_validating();
        if self.last_seen() < value && is_validating && self.device.check_lost().is_ok() {
            let shown = self.call_wait(value, Duration::ZERO);
            debug_assert_ne!(shown, Err(vk::Result::TIMEOUT), "what waited for the value {value} was done before it");
        }
    }

    /// Blocks until the device no longer uses anything of the work up to `value`, because the work is complete or the
    /// device is lost. Blocks for ten seconds at most.
    pub(crate) fn drain(&self, value: u64) -> Result<()> {
        if self.last_seen() >= value {
            return Ok(());
        }
        let begun = Instant::now();
        loop {
            match loss::retry_wait(|| self.call_wait(value, ASK_EVERY)) {
                Err(vk::Result::TIMEOUT) => {}
                Err(code) => return Err(Error::from_call("vkWaitSemaphores")(code)),
                Ok(()) => return Ok(()),
            }
            if self.device().find_loss() {
                return Ok(()); // A lost device executes nothing any more.
            }
            let waited = begun.elapsed();
            if waited >= DRAIN_TIMEOUT {
                return Err(Error::Timeout { waited });
            }
        }
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        if self.is_external || self.device.is_forked() {
            // The semaphore belongs to other code, or to the parent process, where a thread may have held the lock
            // during the fork.
            return;
        }
        // Batches that signal the timeline or wait for it hold it, so all of them are complete.
        self.device.semaphores.lock().push((self.semaphore, self.submitted()));
    }
}

fn create(device: &Arc<LogicalDevice>) -> Result<vk::Semaphore> {
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    // SAFETY: `info` is complete, and no device is opened without timeline semaphores.
    let raw = unsafe { device.raw().create_semaphore(&info, None) };
    raw.map_err(device.failed("vkCreateSemaphore"))
}

/// The time in nanoseconds, or the longest that Vulkan can express.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Repeats `wait`, a wait of the driver for the time left at most, until it succeeds or `timeout` has passed since `begun`.
fn sleep(
    device: &LogicalDevice,
    (begun, timeout): (Instant, Option<Duration>),
    wait: impl Fn(Duration) -> VkResult<()>,
) -> Result<()> {
    loop {
        let waited = begun.elapsed();
        let left = next_sleep(timeout, waited).ok_or(Error::Timeout { waited })?;
        match wait(left) {
            Ok(()) => return Ok(()),
            Err(vk::Result::TIMEOUT) => device.ask_lost()?,
            Err(code) => return Err(device.failed("vkWaitSemaphores")(code)),
        }
    }
}

/// How long to sleep next, or `None` once the limit has passed.
///
/// A driver rounds times and has a clock of its own, so its wait may return early. Only the time measured here ends a
/// wait.
fn next_sleep(limit: Option<Duration>, waited: Duration) -> Option<Duration> {
    match limit {
        None => Some(Duration::MAX),
        Some(limit) => limit.checked_sub(waited).filter(|left| !left.is_zero()),
    }
}

/// Blocks until one of the values is reached on its timeline. All timelines are of one device.
pub(crate) fn wait_any(waits: &[(Arc<Timeline>, u64)], timeout: Option<Duration>) -> Result<()> {
    let Some((first, _)) = waits.first() else { return Ok(()) };
    let device = first.device();
    // The work of a failed device may never complete.
    device.check_lost()?;
    let _span = device.trace.span("wait for any", None);
    let (semaphores, values): (Vec<_>, Vec<_>) = waits.iter().map(|(timeline, value)| (timeline.raw(), *value)).unzip();
    let info =
        vk::SemaphoreWaitInfo::default().flags(vk::SemaphoreWaitFlags::ANY).semaphores(&semaphores).values(&values);
    sleep(device, (Instant::now(), timeout), |left| {
        // SAFETY: `info` borrows both lists; `waits` keeps the semaphores alive.
        unsafe { device.raw().wait_semaphores(&info, nanoseconds(left.min(ASK_EVERY))) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_goes_on_until_its_limit_has_passed() {
        let limit = Duration::from_micros(100);
        let cases = [
            (Some(limit), Duration::ZERO, Some(limit)),
            (Some(limit), Duration::from_nanos(99_948), Some(Duration::from_nanos(52))), // The driver was early.
            (Some(limit), Duration::from_nanos(99_999), Some(Duration::from_nanos(1))),
            (Some(limit), limit, None),
            (Some(limit), Duration::from_secs(1), None),
            (Some(Duration::ZERO), Duration::ZERO, None),
            (None, Duration::from_secs(u64::MAX), Some(Duration::MAX)),
        ];
        for (limit, waited, expected) in cases {
            assert_eq!(next_sleep(limit, waited), expected, "{waited:?} of {limit:?}");
        }
    }

    #[test]
    fn times_too_long_for_vulkan_are_the_longest_it_has() {
        assert_eq!(nanoseconds(Duration::from_micros(100)), 100_000);
        assert_eq!(nanoseconds(Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_limit_counts_from_the_first_part_of_a_wait() {
        let begun = Instant::now() - Duration::from_millis(3);
        let Error::Timeout { waited } = (Error::Timeout { waited: Duration::ZERO }).since(begun) else { panic!() };
        assert!(waited >= Duration::from_millis(3), "{waited:?}");
        assert!(matches!(Error::NoEvents.since(begun), Error::NoEvents));
    }
}
