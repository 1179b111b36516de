//! The lines of a log, also when its writer fails.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::manager::adaptors::log_format::{LogStep, read_log};
use crate::manager::tests::fake::{Failure, Fake, give_back};
use crate::manager::{HostOptions, Request};

/// Bytes that a test reads while they are written.
#[derive(Debug, Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::Error::other("the disk is full"))
    }
}

fn device(size: u64) -> Request {
    Request::new(size, MemoryKind::Device)
}

#[test]
fn a_log_has_a_line_for_each_step() {
    let (bytes, fake) = (Bytes::default(), Fake::new());
    let logging = Logging::new(Arc::clone(&fake), bytes.clone());
    let first = logging.memalloc(&device(1000)).unwrap();
    let pinned = logging.memhostalloc(24, HostOptions::default()).unwrap().into_pointer();
    fake.fail(1, Failure::OutOfMemory);
    logging.memalloc(&device(99)).unwrap_err();
    give_back(&logging, first);
    let again = logging.memalloc(&device(0)).unwrap(); // The fake gives out the same number again.
    give_back(&logging, pinned);
    give_back(&logging, again);
    logging.flush_log();
    assert!(logging.failure().is_none());
    let text = String::from_utf8(bytes.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], COLUMNS);
    let (thread, rest): (Vec<_>, Vec<_>) = lines[1..].iter().map(|line| (line[0], line[2..].to_vec())).unzip();
    assert!(thread.iter().all(|&number| number == thread[0] && number.parse::<u64>().unwrap() > 0), "{thread:?}");
    let expected = [
        ["allocate", "0x1+0", "1000", "", "device"],
        ["allocate", "0x2+0", "24", "", "pinned"],
        ["allocate failure", "", "99", "", "device"],
        ["free", "0x1+0", "1000", "", "device"],
        ["allocate", "0x1+0", "0", "", "device"],
        ["free", "0x2+0", "24", "", "pinned"],
        ["free", "0x1+0", "0", "", "device"],
    ];
    assert_eq!(rest, expected);
    let (kind, pinned) = (MemoryKind::Device, MemoryKind::Pinned);
    let steps = [
        LogStep::Allocate { size: 1000, kind },
        LogStep::Allocate { size: 24, kind: pinned },
        LogStep::Failure { size: 99, kind },
        LogStep::Free { nth: 0 },
        LogStep::Allocate { size: 0, kind },
        LogStep::Free { nth: 1 },
        LogStep::Free { nth: 2 },
    ];
    assert_eq!(read_log(text.as_bytes()).unwrap(), steps);
}

#[test]
fn a_log_of_many_threads_can_be_read() {
    let bytes = Bytes::default();
    let logging = Logging::new(Fake::new(), bytes.clone());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|size| give_back(&logging, logging.memalloc(&device(size)).unwrap())));
        }
    });
    drop(logging); // Writes the buffered lines.
    // A number that is given out again before its free is logged would be refused.
    assert_eq!(read_log(bytes.0.lock().unwrap().as_slice()).unwrap().len(), 4000);
}

#[test]
fn a_writer_that_fails_loses_no_memory() {
    let fake = Fake::new();
    let logging = Logging::new(Arc::clone(&fake), Full);
    let blocks: Vec<_> = (0..2000).map(|size| logging.memalloc(&device(size)).unwrap()).collect();
    logging.flush_log();
    assert!(logging.failure().unwrap().to_string().contains("the disk is full"));
    assert_eq!(fake.live(), 2000);
    blocks.into_iter().for_each(|block| give_back(&logging, block));
    assert_eq!(fake.live(), 0);
}

#[test]
fn times_are_of_the_day() {
    let cases = [
        (Duration::ZERO, "00:00:00.000000"),
        (Duration::from_micros(1), "00:00:00.000001"),
        (Duration::new(3 * 86_400 + 14 * 3600 + 3 * 60 + 59, 7_999), "14:03:59.000007"),
        (Duration::new(86_399, 999_999_999), "23:59:59.999999"), // The time is not rounded up to the next day.
    ];
    for (since, text) in cases {
        assert_eq!(time_text(UNIX_EPOCH + since), text);
    }
}
