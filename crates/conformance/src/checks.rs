//! The checks, by name. Each check has a manager of its own.
//!
//! `checks/plain.rs` checks what a manager gives out, `checks/in_flight.rs` memory that the device still uses,
//! `checks/cycle.rs` initialisation, deferral and reset, `checks/failing.rs` failures.

mod cycle;
mod failing;
mod in_flight;
mod plain;

use crate::check_error::CheckError;
use crate::context::CheckContext;

type Check = fn(&CheckContext<'_>) -> Result<(), CheckError>;

/// Every check, in the order in which they run.
pub(crate) const ALL: &[(&str, Check)] = &[
    ("interface-version", cycle::interface_version),
    ("before-initialize", cycle::before_initialize),
    ("initialize-twice", cycle::initialize_twice),
    ("sizes-and-kinds", plain::sizes_and_kinds),
    ("many-live", plain::many_live),
    ("host-options", plain::host_options),
    ("beyond-4-gib", plain::beyond_4_gib),
    ("threads", plain::threads),
    ("labels", plain::labels),
    ("usage", plain::usage),
    ("counters", plain::counters),
    ("memory-info", plain::memory_info),
    #[cfg(unix)]
    ("ipc", plain::ipc),
    ("mempin", plain::mempin),
    ("reuse-in-flight", in_flight::reuse_in_flight),
    ("reuse-of-two-streams", in_flight::reuse_of_two_streams),
    ("host-writes-in-flight", in_flight::host_writes_in_flight),
    ("free-never-waits", in_flight::free_never_waits),
    ("flush-frees", in_flight::flush_frees),
    ("defer-cleanup", cycle::defer_cleanup),
    ("reserve-and-trim", cycle::reserve_and_trim),
    ("reset", cycle::reset),
    ("too-large", failing::too_large),
    ("failing-start", failing::failing_start),
    ("failing-calls", failing::failing_calls),
];
