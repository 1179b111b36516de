//! [`Job`]: the operations between two waits of a thread, from which the lane infers how many the next batch will have.
//!
//! A program that uploads, runs a kernel and downloads repeats itself. If its first operation is held back until the
//! others are recorded, one submission takes all of them. An operation is not waited for if it comes later than the
//! device takes for a submission. Pure but for the clock.

use std::time::{Duration, Instant};

/// The most operations that are held back until others are recorded.
const MAX_OPS: u32 = 8;

/// The longest time from the first operation of a job to one that is waited for the next time. It is about the time
/// that a device takes to begin and end a small kernel.
const PROMPT: Duration = Duration::from_micros(20);

/// The operations of a lane since a thread last waited for it.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// When the first operation was recorded.
    begun: Option<Instant>,
    /// How many operations there are, counted up to one more than [`MAX_OPS`].
    n_ops: u32,
    /// How many operations were recorded within [`PROMPT`].
    n_prompt: u32,
    /// How many copies the same stream made on other queues.
    n_beside: u32,
}

impl Job {
    /// Adds an operation that is recorded now.
    #[inline]
    pub(super) fn add(&mut self, now: impl FnOnce() -> Instant) {
        if self.is_burst() {
            return;
        }
        let now = now();
        let begun = *self.begun.get_or_insert(now);
        self.n_ops += 1;
        if now.duration_since(begun) <= PROMPT {
            self.n_prompt = self.n_ops;
        }
    }

    /// Adds a copy on another queue.
    pub(super) fn add_beside(&mut self) {
        self.n_beside = self.n_beside.saturating_add(1);
    }

    /// Whether the lane had no operation. Copies on other queues tell nothing about its batches.
    pub(super) fn is_empty(&self) -> bool {
        self.n_ops == 0
    }

    /// Whether the job was a single operation, or a single copy on another queue.
    pub(super) fn is_single(&self) -> bool {
        self.n_ops.saturating_add(self.n_beside) == 1
    }

    /// Leaves the time of a submission out of account, since the program could not record anything then.
    pub(super) fn leave_out(&mut self, submission: Duration) {
        if let Some(begun) = &mut self.begun {
            *begun += submission;
        }
    }

    /// How many operations the next batch should hold before it is submitted to an idle device, if this job is repeated.
    pub(super) fn eager_ops(&self) -> u32 {
        if self.is_burst() { 1 } else { self.n_prompt.max(1) }
    }

    /// Whether the job has more operations than are held back for each other.
    pub(super) fn is_burst(&self) -> bool {
        self.n_ops > MAX_OPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_operations_of_a_short_job_are_submitted_together() {
        // The microseconds from the first operation to each operation, and how many operations are enough.
        let cases: &[(&[u64], u32)] = &[
            (&[], 1),                                 // Nothing is known yet.
            (&[0], 1),                                // A kernel that is waited for.
            (&[0, 2], 2),                             // A kernel and a download.
            (&[0, 1, 3], 3),                          // With an upload.
            (&[0, 50], 1),        // The host did something else in between: the kernel ran meanwhile.
            (&[0, 2, 90, 91], 2), // The second half is a batch of its own.
            (&[0, 1, 2, 3, 4, 5, 6, 7], 8), // The longest.
            (&[0, 1, 2, 3, 4, 5, 6, 7, 8], 1), // A burst.
            (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 1), // Likewise.
        ];
        let start = Instant::now();
        for (times, expected) in cases {
            let mut job = Job::default();
            times.iter().for_each(|&time| job.add(|| start + Duration::from_micros(time)));
            assert_eq!(job.eager_ops(), *expected, "{times:?}");
            assert_eq!(job.is_burst(), times.len() > 8, "{times:?}");
        }
    }

    #[test]
    fn a_job_of_one_operation_is_single_on_whatever_queue() {
        let now = Instant::now;
        let (mut job, mut copy) = (Job::default(), Job::default());
        assert!(!job.is_single());
        job.add(now);
        copy.add_beside();
        assert!(job.is_single() && copy.is_single() && copy.is_empty() && !job.is_empty());
        job.add_beside();
        copy.add_beside();
        assert!(!job.is_single() && !copy.is_single());
    }

    #[test]
    fn operations_behind_an_early_submission_are_prompt_all_the_same() {
        let (start, micros) = (Instant::now(), Duration::from_micros);
        let mut job = Job::default();
        job.add(|| start);
        job.leave_out(micros(30));
        job.add(|| start + micros(32));
        job.add(|| start + micros(49));
        job.add(|| start + micros(51)); // 21 us without the submission.
        assert_eq!(job.eager_ops(), 3);
    }
}
