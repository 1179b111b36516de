//! Routes in words: what a copy of a number of bytes does, and the reason.

use std::fmt;

use vkarray_driver::Direction;

use super::{BlockSide, Bus, CopyQueue, CopyRequest, Fact, HostSide, Route, Via, route};
use crate::error::Result;

/// A line for each copy of that many bytes, not zero: from and to a slice and pinned memory, on an idle device and
/// behind a kernel that uses the bytes.
pub(crate) fn explain(bytes: u64, bus: &Bus, block: BlockSide, has_transfer_queue: bool) -> Result<String> {
    let unit = [16, 8, 4].into_iter().find(|&unit| bytes.is_multiple_of(u64::from(unit)));
    let pinned = HostSide::Pinned { is_read_fast: true };
    let mut lines = String::new();
    for (direction, way) in [(Direction::ToDevice, "upload from"), (Direction::ToHost, "download to")] {
        for (host, name) in [(HostSide::Slice, "a slice"), (pinned, "pinned memory")] {
            for (is_behind, moment) in [(false, "idle"), (true, "behind a kernel")] {
                let holds = |fact| match fact {
                    Fact::TransferQueue => has_transfer_queue,
                    Fact::Busy | Fact::Behind => is_behind,
                    Fact::Alone(_) => !is_behind,
                    Fact::Waiting | Fact::SourceWritten | Fact::InJob | Fact::Single => false,
                };
                let request = CopyRequest { direction, bytes, host, block, unit, is_beside: false };
                let routed = route(&request, bus, |fact| Ok(holds(fact)))?;
                lines += &format!("{way} {name}, {moment}: {}: {}\n", routed.route, routed.reason);
            }
        }
    }
    Ok(lines)
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InPlace { n_threads } => write!(f, "in place by the host, threads: {n_threads}"),
            Self::Kernel { unit } => write!(f, "a kernel, in units of {unit} bytes"),
            Self::Command { queue, via } => {
                let queue = match queue {
                    CopyQueue::Own => "the stream's queue",
                    CopyQueue::Transfer(_) => "a transfer queue",
                };
                write!(f, "a command on {queue}, {via}")
            }
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Slot => f.write_str("through a staging slot"),
            Self::Chunks(plan) => write!(
                f,
                "through staging slots of {} bytes, threads: {}, slots of each: {}",
                plan.chunk, plan.n_threads, plan.slots_each
            ),
            Self::Pinned => f.write_str("through pinned memory of its own"),
            Self::Fill => f.write_str("which fills"),
        }
    }
}
