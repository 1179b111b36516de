//! [`IpcError`]: why a handle of another process is refused.

use std::io;

/// Why a handle of another process is refused. A refused handle imports nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum IpcError {
    /// The socket failed.
    #[error("the socket of the handle failed: {0}")]
    Socket(#[from] io::Error),
    /// The sender closed its side before the whole handle arrived.
    #[error("the handle is truncated: the sender closed the socket")]
    Truncated,
    /// Bytes that are not a handle, or a handle of another version.
    #[error("what was received is no handle of this version")]
    NotAHandle,
    /// The process at the other side of the socket is of another user.
    #[error("the handle was sent by user {sender} to user {receiver}")]
    OtherUser { sender: u32, receiver: u32 },
    /// A handle without its file descriptors, or with more descriptors than these.
    #[error("the handle has {expected} file descriptors, and {received} were received")]
    Descriptors { received: usize, expected: usize },
    /// An impossible value in a handle.
    #[error("the handle is not possible: {what}")]
    Malformed { what: &'static str },
    /// A handle that is to be opened in the process that made it, which has the memory already.
    #[error("process {process} made the handle, and cannot open it: use the array itself, or `import_array`")]
    SameProcess { process: u32 },
}
