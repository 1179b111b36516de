//! The folder of the cache: files are written whole, and the least recently used ones are removed.
//!
//! Any number of processes use a folder at once, and any of them may be killed at any time. A file is written under a
//! temporary name and renamed, so that a reader finds all of it or nothing; processes that write the same entry write the
//! same bytes. Temporary files of killed processes are removed later. Nothing is flushed to the disk: a file that a power
//! failure shortens fails its checksum (`entry.rs`).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::entry::{self, Hash};

const EXTENSION: &str = "vkc";
/// The prefix of files that are being written.
const UNFINISHED: &str = "writing-";
/// A temporary file of this age is of a process that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);
/// The resolution of the time of last use, so that not every use writes.
const USE_STEP: Duration = Duration::from_secs(60);

/// The path of an entry's file.
pub(super) fn path(folder: &Path, kind: &str, hash: &Hash) -> PathBuf {
    folder.join(format!("{kind}-{}.{EXTENSION}", blake3::Hash::from_bytes(*hash).to_hex()))
}

/// The bytes of a file, up to the longest entry: a longer file counts as damaged.
pub(super) fn read(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(entry::MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Sets the time of last use. A failure only makes the file be removed earlier.
pub(super) fn touch(path: &Path) {
    let touch = || {
        let file = File::open(path)?;
        let now = SystemTime::now();
        let is_recent = now.duration_since(file.metadata()?.modified()?).is_ok_and(|age| age < USE_STEP);
        if is_recent { Ok(()) } else { file.set_modified(now) }
    };
    let _: io::Result<()> = touch();
}

/// Writes or replaces a file in an existing folder.
pub(super) fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Creates the folder if it is missing, readable by its owner alone.
pub(super) fn create(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A file of the cache on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheFile {
    /// Where it is. Its name begins with what it holds: `spirv`, `pipeline` or `valid`.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// When a kernel was last built from it, to the minute.
    pub used: SystemTime,
}

impl CacheFile {
    /// The source and the entry point of the kernel that the file was written for; of SPIR-V that was validated, the source.
    /// Reads the start of the file; `None` if that fails, or another version of this library wrote the file.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{CacheSettings, KernelCache, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let cache = CacheSettings::at(folder.path());
    /// # let ctx = Context::open_default()?;
    /// let kernels = KernelCache::with_disk(ctx.device(), cache.clone())?;
    /// kernels.kernel(Source::wgsl("@compute @workgroup_size(1) fn nothing() {}").named("n.wgsl")).build()?;
    /// assert_eq!(cache.files()?[0].kernel().as_deref(), Some("n.wgsl: nothing"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn kernel(&self) -> Option<String> {
        let mut start = Vec::new();
        File::open(&self.path).ok()?.take(entry::START as u64).read_to_end(&mut start).ok()?;
        entry::name(&start).map(str::to_owned)
    }
}

/// The files of a folder, in no order. Removes temporary files of killed processes, and leaves other files out.
pub(super) fn list(folder: &Path) -> io::Result<Vec<CacheFile>> {
    let mut entries = Vec::new();
    for found in fs::read_dir(folder)? {
        let found = found?;
        // A file that another process has just removed has no metadata.
        let Ok(metadata) = found.metadata() else { continue };
        let (path, bytes) = (found.path(), metadata.len());
        let used = metadata.modified()?;
        if found.file_name().to_string_lossy().starts_with(UNFINISHED) {
            if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _: io::Result<()> = fs::remove_file(&path);
            }
        } else if path.extension().is_some_and(|extension| extension == EXTENSION) {
            entries.push(CacheFile { path, bytes, used });
        }
    }
    Ok(entries)
}

/// Removes old files until the folder is below `max_bytes`, and temporary files of killed processes. Returns the bytes that
/// are left, and how many old files were removed.
pub(super) fn sweep(folder: &Path, max_bytes: u64) -> io::Result<(u64, u64)> {
    let entries = list(folder)?;
    let (mut bytes_left, mut n_removed) = (entries.iter().map(|entry| entry.bytes).sum(), 0);
    for entry in surplus(entries, max_bytes) {
        bytes_left -= entry.bytes;
        n_removed += u64::from(fs::remove_file(&entry.path).is_ok());
    }
    Ok((bytes_left, n_removed))
}

/// The files to remove: none while all fit; else the least recently used, until an eighth of the room is free, so that not
/// every write sweeps.
fn surplus(mut entries: Vec<CacheFile>, max_bytes: u64) -> Vec<CacheFile> {
    let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    if bytes <= max_bytes {
        return Vec::new();
    }
    entries.sort_by(|a, b| a.used.cmp(&b.used).then_with(|| a.path.cmp(&b.path)));
    let goal = max_bytes - max_bytes / 8;
    let mut is_surplus = |entry: &CacheFile| {
        let is_surplus = bytes > goal;
        bytes -= if is_surplus { entry.bytes } else { 0 };
        is_surplus
    };
    entries.into_iter().take_while(|entry| is_surplus(entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files named by their index, of so many bytes, last used at so many seconds.
    fn entries(of: &[(u64, u64)]) -> Vec<CacheFile> {
        let used = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let entry = |(i, &(bytes, seconds)): (usize, &(u64, u64))| CacheFile {
            path: i.to_string().into(),
            bytes,
            used: used(seconds),
        };
        of.iter().enumerate().map(entry).collect()
    }

    #[test]
    fn the_least_recently_used_are_removed_first() {
        type Case<'a> = (&'a [(u64, u64)], u64, &'a [&'a str]);
        // Bytes and last use of each, room, those that go.
        let cases: &[Case<'_>] = &[
            (&[], 0, &[]),
            (&[(5, 1), (5, 2)], 10, &[]),                 // All fit.
            (&[(8, 1), (8, 2), (8, 3)], 16, &["0", "1"]), // 16 would fit, but an eighth is to be free.
            (&[(4, 3), (4, 1), (4, 2)], 11, &["1"]),      // By use, not by place.
            (&[(1, 2), (9, 1), (1, 3)], 10, &["1"]),      // A long one makes room at once.
            (&[(1, 1), (1, 1)], 0, &["0", "1"]),          // No room at all.
        ];
        for &(of, room, gone) in cases {
            let found: Vec<_> = surplus(entries(of), room).iter().map(|e| e.path.display().to_string()).collect();
            assert_eq!(found, gone, "{of:?} in {room}");
        }
    }

    #[test]
    fn a_sweep_leaves_foreign_files_and_files_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["spirv-00.vkc", "notes.txt", "writing-new", "writing-old"];
        for name in names {
            fs::write(folder.path().join(name), [0; 100]).unwrap();
        }
        let old = SystemTime::now() - 2 * ABANDONED;
        File::options().write(true).open(folder.path().join("writing-old")).unwrap().set_modified(old).unwrap();
        assert_eq!(sweep(folder.path(), 1000).unwrap(), (100, 0));
        assert_eq!(names.map(|name| folder.path().join(name).exists()), [true, true, true, false]);
        assert_eq!(sweep(folder.path(), 50).unwrap(), (0, 1));
        assert_eq!(names.map(|name| folder.path().join(name).exists()), [false, true, true, false]);
    }
}
