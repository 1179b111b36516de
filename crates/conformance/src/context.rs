//! [`CheckContext`]: what a check uses: a new manager in a checking adaptor, an allocator, and functions that use
//! memory.

use std::sync::{Arc, OnceLock};

use vkarray_allocator::{Allocator, Block, Error as MemoryError, ManagerFactory, MemoryKind, MemoryManager, Usage};
use vkarray_driver::{Device, Stream};

use crate::Faults;
use crate::check_error::{CheckError, expect};
use crate::checking_adaptor::{CheckingAdaptor, MemoryRecords};

/// The context of one check. The manager is made when it is first used.
pub(crate) struct CheckContext<'a> {
    allocator: OnceLock<(Arc<Allocator>, Usage)>,
    records: Arc<MemoryRecords>,
    factory: &'a ManagerFactory,
    pub(crate) faults: Option<&'a dyn Faults>,
    pub(crate) device: &'a Arc<Device>,
}

impl<'a> CheckContext<'a> {
    pub(crate) fn new(device: &'a Arc<Device>, factory: &'a ManagerFactory, faults: Option<&'a dyn Faults>) -> Self {
        Self { allocator: OnceLock::new(), records: MemoryRecords::new(device), factory, faults, device }
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.records.violations()
    }

    /// A new manager in a checking adaptor.
    pub(crate) fn fresh(&self) -> Result<Box<dyn MemoryManager>, CheckError> {
        Ok(Box::new(CheckingAdaptor { records: Arc::clone(&self.records), inner: self.factory.make()? }))
    }

    /// The allocator with this check's manager.
    pub(crate) fn allocator(&self) -> Result<&Arc<Allocator>, CheckError> {
        if self.allocator.get().is_none() {
            let made = Allocator::with_manager(self.device, self.fresh()?)?;
            let at_first = made.usage(); // Some managers have memory in use from the start.
            self.allocator.get_or_init(|| (made, at_first));
        }
        Ok(&self.allocator.get().expect("made above").0)
    }

    /// Checks that nothing is in use that was not in use when the manager was new.
    pub(crate) fn expect_nothing_left(&self, after: &str) -> Result<(), CheckError> {
        let left = self.allocator()?.usage();
        let at_first = self.allocator.get().map_or(left, |(_, at_first)| *at_first);
        expect((left.in_use, left.n_pending, left.pending) == (at_first.in_use, 0, 0), || {
            format!("expected {after} to free all that was dropped, and {left:?} is left of {at_first:?}")
        })
    }

    pub(crate) fn manager(&self) -> Result<&dyn MemoryManager, CheckError> {
        Ok(self.allocator()?.manager())
    }

    pub(crate) fn stream(&self) -> Result<Stream, CheckError> {
        Ok(Stream::new(self.device)?)
    }

    pub(crate) fn block(&self, size: u64, kind: MemoryKind) -> Result<Arc<Block>, CheckError> {
        Ok(self.allocator()?.allocate(size, kind)?)
    }

    /// The kinds of memory that the manager gives out on this device.
    pub(crate) fn kinds(&self) -> Result<Vec<MemoryKind>, CheckError> {
        Self::kinds_of(self.allocator()?)
    }

    /// The kinds of memory that an allocator gives out.
    pub(crate) fn kinds_of(allocator: &Arc<Allocator>) -> Result<Vec<MemoryKind>, CheckError> {
        let mut kinds = Vec::new();
        for kind in MemoryKind::ALL {
            match allocator.allocate(1, kind) {
                Ok(_) => kinds.push(kind),
                Err(MemoryError::Unsupported { .. } | MemoryError::NoSuchMemory { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        expect(!kinds.is_empty(), || "expected memory of some kind, and got none".to_owned())?;
        Ok(kinds)
    }

    /// A kind of memory, for checks that need only one.
    pub(crate) fn kind(&self) -> Result<MemoryKind, CheckError> {
        Ok(self.kinds()?[0])
    }
}

/// Writes the pattern of `seed` to a block, and waits until the copy is complete.
pub(crate) fn write(stream: &Stream, block: &Arc<Block>, seed: u8) -> Result<(), CheckError> {
    block.copy_from_host(stream, 0, &pattern(seed, block.size()))?;
    block.allocator().release_staging(); // Released, so that only the check's own memory is in use.
    Ok(stream.synchronize()?)
}

/// Checks that a block holds the pattern of `seed`.
pub(crate) fn check(stream: &Stream, block: &Arc<Block>, seed: u8) -> Result<(), CheckError> {
    let expected = pattern(seed, block.size());
    let mut found = vec![!seed; expected.len()];
    block.copy_to_host(stream, 0, &mut found)?;
    block.allocator().release_staging();
    let first = expected.iter().zip(&found).position(|(expected, found)| expected != found);
    match first {
        None => Ok(()),
        Some(at) => Err(CheckError::Failed(format!(
            "expected a block of {} bytes of {} memory to keep its contents: byte {at} is {} and was {}",
            block.size(),
            block.kind(),
            found[at],
            expected[at]
        ))),
    }
}

/// Writes a block and checks that it holds what was written.
pub(crate) fn write_and_check(stream: &Stream, block: &Arc<Block>, seed: u8) -> Result<(), CheckError> {
    write(stream, block, seed)?;
    check(stream, block, seed)
}

/// Checks that a block holds four-byte words of `word`, in its whole words.
pub(crate) fn check_words(stream: &Stream, block: &Arc<Block>, word: u32) -> Result<(), CheckError> {
    let mut found = vec![0; len(block.size())];
    block.copy_to_host(stream, 0, &mut found)?;
    block.allocator().release_staging();
    let wrong = found.chunks_exact(4).position(|bytes| bytes != word.to_ne_bytes());
    expect(wrong.is_none(), || {
        format!("expected a block of {} bytes to keep its contents: word {wrong:?} was overwritten", block.size())
    })
}

/// Bytes that differ from their neighbours and between seeds.
fn pattern(seed: u8, size: u64) -> Vec<u8> {
    (0..251).cycle().take(len(size)).map(|i| seed.wrapping_add(i)).collect()
}

/// A size as a length in memory.
fn len(size: u64) -> usize {
    usize::try_from(size).expect("the checks copy small blocks only")
}
