//! The format of memory logs, as `logging.rs` and RMM write them, and its reader.
//!
//! Columns are found by their names. A log without kinds, such as RMM's, is a log of device memory. Pointers are only
//! compared. `bench replay`, in `benches/`, runs a log again.

use std::collections::HashMap;
use std::io::Read;

use crate::error::{Error, Result};
use crate::kind::MemoryKind;

/// The columns that are written.
pub(crate) const COLUMNS: [&str; 7] = ["Thread", "Time", "Action", "Pointer", "Size", "Stream", "Kind"];

/// The action of a line on memory that was given out.
pub(crate) const ALLOCATE: &str = "allocate";

/// The action of a line on an allocation that failed.
pub(crate) const ALLOCATE_FAILURE: &str = "allocate failure";

/// The action of a line on memory that was given back.
pub(crate) const FREE: &str = "free";

/// A kind, as logs spell it.
pub(crate) fn kind_text(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Device => "device",
        MemoryKind::Pinned => "pinned",
        MemoryKind::WriteCombined => "write-combined",
        MemoryKind::Shared => "shared",
    }
}

/// A step of a log that was read; see [`read_log`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStep {
    /// Memory was given out. Later steps refer to it by the number of allocations before it.
    Allocate {
        /// Bytes.
        size: u64,
        /// The kind of memory.
        kind: MemoryKind,
    },
    /// An allocation failed.
    Failure {
        /// Bytes.
        size: u64,
        /// The kind of memory.
        kind: MemoryKind,
    },
    /// Memory was given back.
    Free {
        /// The number of the allocation, counted from zero.
        nth: usize,
    },
}

/// Reads a log.
///
/// ```
/// use vkarray_allocator::{LogStep, MemoryKind, read_log};
///
/// # fn main() -> vkarray_allocator::Result<()> {
/// let log = "Action,Pointer,Size\nallocate,0x10,64\nfree,0x10,64\n";
/// let steps = read_log(log.as_bytes())?;
/// assert_eq!(steps, [LogStep::Allocate { size: 64, kind: MemoryKind::Device }, LogStep::Free { nth: 0 }]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::Log`] with the line: text that is not CSV, a missing column, an unknown action or kind, a size that is not a
/// number, a pointer that is freed while it is not live or given out while it is live.
pub fn read_log(source: impl Read) -> Result<Vec<LogStep>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(source);
    let headers = reader.headers().map_err(|error| refused(1, error.to_string()))?.clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let needed = |name: &str| column(name).ok_or_else(|| refused(1, format!("there is no column {name}")));
    let columns = (needed("Action")?, needed("Pointer")?, needed("Size")?, column("Kind"));
    let (mut live, mut n_given, mut steps) = (HashMap::<String, usize>::new(), 0, Vec::new());
    for (record, counted) in reader.into_records().zip(2_u64..) {
        let record = record.map_err(|error| refused(counted, error.to_string()))?;
        let line = record.position().map_or(counted, csv::Position::line);
        let (action, pointer, size, kind) = fields(&record, columns).map_err(|reason| refused(line, reason))?;
        steps.push(match action {
            ALLOCATE => {
                if live.insert(pointer.to_owned(), n_given).is_some() {
                    return Err(refused(line, format!("{pointer} is given out while it is live")));
                }
                n_given += 1;
                LogStep::Allocate { size, kind }
            }
            ALLOCATE_FAILURE => LogStep::Failure { size, kind },
            FREE => {
                let nth = live.remove(pointer);
                LogStep::Free { nth: nth.ok_or_else(|| refused(line, format!("{pointer} is freed and not live")))? }
            }
            unknown => return Err(refused(line, format!("there is no action `{unknown}`"))),
        });
    }
    Ok(steps)
}

type LogColumns = (usize, usize, usize, Option<usize>);

/// Reads a line, or returns the reason why it is wrong.
fn fields(
    record: &csv::StringRecord,
    (action, pointer, size, kind): LogColumns,
) -> Result<(&str, &str, u64, MemoryKind), String> {
    let field = |column: usize| record.get(column).unwrap_or_default();
    let bytes = field(size).parse().map_err(|_| format!("`{}` is not a number of bytes", field(size)))?;
    let kind = match kind.map(field) {
        None | Some("") => MemoryKind::Device,
        Some(text) => {
            let known = MemoryKind::ALL.into_iter().find(|&known| kind_text(known) == text);
            known.ok_or_else(|| format!("there is no kind `{text}`"))?
        }
    };
    Ok((field(action), field(pointer), bytes, kind))
}

fn refused(line: u64, reason: String) -> Error {
    Error::Log { line, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "Thread,Time,Action,Pointer,Size,Stream\n";

    #[test]
    fn a_log_of_rmm_is_read() {
        let log = format!(
            "{HEADER}1,10:00:00.000001,allocate,0x7f00,1000,0x0\n2,10:00:00.000002,allocate,0x7f10,24,0x1\n\
            1,10:00:00.000003,free,0x7f00,1000,0x0\n1,10:00:00.000004,allocate failure,0x0,99,0x0\n\
            1,10:00:00.000005,allocate,0x7f00,5,0x0\n1,10:00:00.000006,free,0x7f10,24,0x0\n1,10:00:00.000006,free,0x7f00,5,0x0\n"
        );
        let kind = MemoryKind::Device;
        let expected = [
            LogStep::Allocate { size: 1000, kind },
            LogStep::Allocate { size: 24, kind },
            LogStep::Free { nth: 0 },
            LogStep::Failure { size: 99, kind },
            LogStep::Allocate { size: 5, kind }, // The address is given out again.
            LogStep::Free { nth: 1 },
            LogStep::Free { nth: 2 },
        ];
        assert_eq!(read_log(log.as_bytes()).unwrap(), expected);
        assert_eq!(read_log(HEADER.as_bytes()).unwrap(), []);
    }

    #[test]
    fn kinds_are_read_back() {
        for kind in MemoryKind::ALL {
            let log = format!("Kind,Action,Pointer,Size\n{},allocate,a+0,8\n", kind_text(kind));
            assert_eq!(read_log(log.as_bytes()).unwrap(), [LogStep::Allocate { size: 8, kind }]);
        }
    }

    #[test]
    fn a_damaged_log_is_refused_with_its_line() {
        let cases = [
            ("", "line 1: there is no column Action"),
            ("Action,Size\n", "line 1: there is no column Pointer"),
            ("Action,Pointer,Size\nallocate,a,1\nresize,a,2\n", "line 3: there is no action `resize`"),
            ("Action,Pointer,Size\nallocate,a,-1\n", "line 2: `-1` is not a number of bytes"),
            (
                "Action,Pointer,Size\nallocate,a,18446744073709551616\n",
                "line 2: `18446744073709551616` is not a number of bytes",
            ),
            ("Action,Pointer,Size,Kind\nallocate,a,1,vram\n", "line 2: there is no kind `vram`"),
            ("Action,Pointer,Size\nallocate,a,1\nallocate,a,1\n", "line 3: a is given out while it is live"),
            ("Action,Pointer,Size\nfree,a,1\n", "line 2: a is freed and not live"),
        ];
        for (log, text) in cases {
            let message = read_log(log.as_bytes()).unwrap_err().to_string();
            assert_eq!(message, format!("memory log, {text}"));
        }
        let message = read_log(b"Action,Pointer,Size\nallocate,a\n".as_slice()).unwrap_err().to_string();
        assert!(message.starts_with("memory log, line 2: "), "{message}"); // A field is missing.
        let message = read_log(b"Action,Pointer,Size\nallocate,\xff,1\n".as_slice()).unwrap_err().to_string();
        assert!(message.starts_with("memory log, line 2: "), "{message}");
    }
}
