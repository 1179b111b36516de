//! Converts the device's time to the host's time.
//!
//! With `VK_EXT_calibrated_timestamps` both clocks are read together at the start, at the end and about once a second;
//! between two readings the device's clock is taken to run evenly. Without the extension, a batch cannot have begun
//! before it was sent, nor ended after it was found done. Batches of one queue narrow each other's bounds, and where
//! the bounds leave a choice the earliest time is shown. The host's time is `CLOCK_MONOTONIC` in nanoseconds.

use std::time::Duration;

use ash::{ext, vk};

use crate::error::{Error, Result};
use crate::instance::{DeviceInfo, PhysicalDevice};

const RECALIBRATE: Duration = Duration::from_secs(1);

/// A device's clock. It counts up to `valid_bits` bits and then wraps round; even half the range of 32 bits is some
/// seconds, longer than a host waits for one batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ticks {
    pub(crate) period_ns: f64,
    pub(crate) valid_bits: u32,
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) host_ns: u64,
    pub(super) ticks: u64,
    pub(super) deviation_ns: u64,
}

/// The readings taken so far.
pub(crate) struct Calibration {
    /// The extension's commands, if the device was opened with the extension and relates its clock to [`now_ns`].
    clocks: Option<ext::calibrated_timestamps::Device>,
    /// Oldest first; none if the device's time cannot be read together with the host's.
    pub(super) samples: Vec<Sample>,
}

/// What is known of a batch without calibration: when it was sent, when it was found done, and the ticks of its
/// beginning and its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) submitted_ns: u64,
    pub(super) seen_ns: u64,
    pub(super) ticks: [u64; 2],
}

impl Calibration {
    /// Prepares to read the clocks of a device; `is_enabled` says whether it has `VK_EXT_calibrated_timestamps`.
    pub(crate) fn new(physical: &PhysicalDevice, device: &ash::Device, is_enabled: bool) -> Result<Self> {
        let mut calibration = Self { clocks: None, samples: Vec::new() };
        if is_enabled && cfg!(target_os = "linux") {
            let instance = physical.instance();
            let table = ext::calibrated_timestamps::Instance::new(&instance.entry, instance.raw());
            // SAFETY: the physical device has the extension.
            let domains = unsafe { table.get_physical_device_calibrateable_time_domains(physical.raw()) }
                .map_err(Error::from_call("vkGetPhysicalDeviceCalibrateableTimeDomainsEXT"))?;
            // The second is the clock that `now_ns` reads.
            let wanted = [vk::TimeDomainEXT::DEVICE, vk::TimeDomainEXT::CLOCK_MONOTONIC];
            let has_both = wanted.iter().all(|domain| domains.contains(domain));
            let clocks = || ext::calibrated_timestamps::Device::new(instance.raw(), device);
            calibration.clocks = has_both.then(clocks);
        }
        Ok(calibration)
    }

    pub(super) fn sample_if_old(&mut self) {
        let age = self.samples.last().map(|last| Duration::from_nanos(now_ns().saturating_sub(last.host_ns)));
        if age.is_some_and(|age| age > RECALIBRATE) {
            self.sample();
        }
    }

    /// Reads both clocks. If the call fails, there is one reading less.
    pub(crate) fn sample(&mut self) {
        let Some(clocks) = &self.clocks else { return };
        let domain = |domain| vk::CalibratedTimestampInfoEXT::default().time_domain(domain);
        let wanted = [domain(vk::TimeDomainEXT::DEVICE), domain(vk::TimeDomainEXT::CLOCK_MONOTONIC)];
        // SAFETY: the extension is enabled, and the device has both clocks, as `new` saw.
        match unsafe { clocks.get_calibrated_timestamps(&wanted) } {
            Ok((read, deviation_ns)) => {
                self.samples.push(Sample { ticks: read[0], host_ns: read[1], deviation_ns });
            }
            Err(code) => log::warn!("the device's time cannot be read: {code:?}"),
        }
    }
}

/// The host's time, in nanoseconds from some fixed moment.
#[cfg(target_os = "linux")]
pub(crate) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Seconds and nanoseconds are not negative, since the clock counts from the system's start.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// The host's time, in nanoseconds from the first call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn now_ns() -> u64 {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Ticks {
    /// The clock of a device, as queues of a family read it.
    pub(crate) fn of(device: &DeviceInfo, family: u32) -> Self {
        let valid_bits = device.queue_families[family as usize].timestamp_valid_bits;
        Self { period_ns: f64::from(device.limits.timestamp_period_ns), valid_bits }
    }

    /// Ticks from `from` to `to`, which may be negative. The two are at most half the clock's range apart.
    #[expect(clippy::cast_precision_loss, reason = "2^53 ticks are days; the difference is what counts")]
    pub(crate) fn between(self, from: u64, to: u64) -> f64 {
        let mask = if self.valid_bits >= 64 { u64::MAX } else { (1 << self.valid_bits) - 1 };
        let (ahead, behind) = (to.wrapping_sub(from) & mask, from.wrapping_sub(to) & mask);
        if ahead <= behind { ahead as f64 } else { -(behind as f64) }
    }

    /// The host's time, in nanoseconds after `base_ns`, of the timestamp `ticks`, which was taken near the host's time
    /// `near_ns`. `samples` is not empty.
    pub(super) fn calibrated(self, samples: &[Sample], base_ns: u64, near_ns: u64, ticks: u64) -> f64 {
        let after = samples.partition_point(|sample| sample.host_ns <= near_ns);
        let from = &samples[after.saturating_sub(1)];
        let even =
            samples.get(after.max(1)).map(|to| (since(from.host_ns, to.host_ns), self.between(from.ticks, to.ticks)));
        let period_ns = match even {
            Some((ns, ticks)) if ns > 0.0 && ticks > 0.0 => ns / ticks,
            _ => self.period_ns,
        };
        // The clock may have wrapped since the sample, so the ticks are counted from where the clock should stand at
        // `near_ns`.
        let expected = since(from.host_ns, near_ns) / period_ns;
        let near_ticks = add(from.ticks, expected);
        since(base_ns, near_ns) + self.between(near_ticks, ticks) * period_ns
    }

    /// For each batch of one queue, in the order of submission, the host's time of its first timestamp, in nanoseconds
    /// after `base_ns`.
    pub(super) fn anchored(self, batches: &[Bounds], base_ns: u64) -> Vec<f64> {
        let mut anchors = Vec::with_capacity(batches.len());
        let mut start = 0;
        while start < batches.len() {
            let first = batches[start].ticks[0];
            let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
            let mut end = start;
            // Consecutive batches share one offset as long as one offset fits all of them. A clock that drifts needs
            // another offset after a while.
            for batch in &batches[start..] {
                let begin = self.between(first, batch.ticks[0]) * self.period_ns;
                let done = begin + self.between(batch.ticks[0], batch.ticks[1]) * self.period_ns;
                let (l, h) = (since(base_ns, batch.submitted_ns) - begin, since(base_ns, batch.seen_ns) - done);
                if end > start && (l.max(low) > h.min(high)) {
                    break;
                }
                (low, high, end) = (l.max(low), h.min(high), end + 1);
            }
            let window = &batches[start..end];
            anchors.extend(window.iter().map(|batch| low + self.between(first, batch.ticks[0]) * self.period_ns));
            start = end;
        }
        anchors
    }
}

/// Nanoseconds from `base_ns` to `at_ns`, which may be negative.
#[expect(clippy::cast_precision_loss, reason = "a trace spans less than the hundred days that 2^53 ns are")]
pub(super) fn since(base_ns: u64, at_ns: u64) -> f64 {
    if at_ns >= base_ns { (at_ns - base_ns) as f64 } else { -((base_ns - at_ns) as f64) }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded on purpose; times in a trace fit by far")]
fn add(ticks: u64, change: f64) -> u64 {
    ticks.wrapping_add_signed(change.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(host_ns: u64, ticks: u64) -> Sample {
        Sample { host_ns, ticks, deviation_ns: 1 }
    }

    #[test]
    fn ticks_wrap_and_run_backwards() {
        // The two timestamps, their valid bits, and the ticks between them.
        let cases = [
            (10, 15, 64, 5.0),          // Plain.
            (15, 10, 64, -5.0),         // The second came first.
            (u64::MAX - 1, 3, 64, 5.0), // Wrapped at 64 bits.
            (0xffff_fffe, 3, 32, 5.0),  // Wrapped at 32 bits.
            (3, 0xffff_fffe, 32, -5.0), // The second came first, at 32 bits.
            (7, 7, 36, 0.0),            // No time at all.
        ];
        for (from, to, valid_bits, expected) in cases {
            let clock = Ticks { period_ns: 1.0, valid_bits };
            assert_eq!(clock.between(from, to), expected, "{from} to {to} of {valid_bits} bits");
        }
    }

    #[test]
    fn calibrated_time_runs_through_the_samples() {
        let (two, wraps) = (Ticks { period_ns: 2.0, valid_bits: 64 }, Ticks { period_ns: 1.0, valid_bits: 32 });
        let far = 1_u64 << 32;
        let pair = [sample(1000, 500), sample(2000, 1000)];
        let drifting = [sample(1000, 500), sample(2000, 900)]; // 2.5 ns a tick, not the 2 it claims.
        let wrapping = [sample(0, far - 1000), sample(10_000, far + 9000)];
        // The clock, the samples, the host's time nearby, the ticks, and the expected host's time, counted from 100 ns.
        let cases: &[(Ticks, &[Sample], u64, u64, f64)] = &[
            (two, &pair[..1], 1000, 500, 900.0),        // At the only sample.
            (two, &pair[..1], 5000, 1500, 2900.0),      // Long after it.
            (two, &pair, 900, 400, 700.0),              // Before the first.
            (two, &pair, 1500, 750, 1400.0),            // Between two.
            (two, &drifting, 1500, 700, 1400.0),        // Between two, at the pace they show.
            (two, &drifting, 2500, 1000, 2100.0),       // After the last, at the pace it claims.
            (wraps, &wrapping, 4000, far - 500, 400.0), // Just before the wrap.
            (wraps, &wrapping, 4000, 2500, 3400.0),     // After it; the device gives 32 bits alone.
            (wraps, &wrapping[..1], far * 3, 7, 3.0 * 4_294_967_296.0 + 1007.0 - 100.0), // After three more.
        ];
        for &(clock, samples, near_ns, ticks, expected) in cases {
            let at = clock.calibrated(samples, 100, near_ns, ticks);
            assert!((at - expected).abs() < 1.0, "{clock:?} {samples:?} {near_ns} {ticks}: {at}, expected {expected}");
        }
    }

    #[test]
    fn anchored_time_keeps_to_what_the_host_saw() {
        let clock = Ticks { period_ns: 1.0, valid_bits: 36 };
        let bounds = |submitted_ns, seen_ns, begin, end| Bounds { submitted_ns, seen_ns, ticks: [begin, end] };
        let wrap = 1_u64 << 36;
        // The batches, and the host's time of each batch's first timestamp.
        let cases: &[(&[Bounds], &[f64])] = &[
            (&[], &[]),
            (&[bounds(100, 900, 5000, 5100)], &[100.0]), // Alone, as early as can be.
            // The second batch began 200 ticks later but was sent 350 ns later, so the first batch began late too.
            (&[bounds(100, 900, 5000, 5100), bounds(450, 900, 5200, 5300)], &[250.0, 450.0]),
            // The reverse: the first batch shows that the second one began late.
            (&[bounds(100, 900, 5000, 5100), bounds(120, 900, 5400, 5500)], &[100.0, 500.0]),
            // The batches have no common offset: the clock was stopped in between.
            (&[bounds(100, 250, 5000, 5100), bounds(9000, 9900, 5200, 5300)], &[100.0, 9000.0]),
            // The clock wraps between the two batches.
            (&[bounds(100, 900, wrap - 50, wrap - 20), bounds(200, 900, 50, 60)], &[100.0, 200.0]),
        ];
        for (batches, expected) in cases {
            assert_eq!(clock.anchored(batches, 0), *expected, "{batches:?}");
        }
    }
}
