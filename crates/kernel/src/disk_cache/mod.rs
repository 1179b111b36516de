//! Files that keep kernels from one run of a program to the next: translations, the driver's pipelines, and which SPIR-V the
//! validator passed, by hash ([`DiskCache`]).
//!
//! No call fails because of the disk once a cache is open: files that are damaged, foreign or cannot be written are counted.
//! The content of files is given to the driver, so it must come from this user: `trust.rs` says which folders are trusted.
//! Nothing here depends on what a kernel is; `pipeline/cached_build.rs` decides what is stored under which hash.
//!
//! Read `settings.rs` first (what a program may choose), then this file, `entry.rs` (the format of a file) and `folder.rs` (how
//! files are written and removed).

mod counters;
mod entry;
mod folder;
mod settings;
mod trust;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use vkarray_driver::lock::{Mutex, Rank};

pub use counters::{CacheCounters, StoreCounters};
pub(crate) use entry::{Hash, Unusable};
pub use folder::CacheFile;
pub use settings::{CacheMode, CacheSettings};

use counters::{Counters, Outcome};

/// The folder is listed again after so many writes, since other processes write to it too.
const WRITES_BETWEEN_SWEEPS: u32 = 256;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Translations,
    Pipelines,
    Validations,
}

impl EntryKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Translations => "spirv",
            Self::Pipelines => "pipeline",
            Self::Validations => "valid",
        }
    }
}

/// A folder with kernels, as its settings say.
#[derive(Debug)]
pub(crate) struct DiskCache {
    settings: CacheSettings,
    counters: Counters,
    /// What the folder holds, as far as this process has seen; `None` before the first write.
    usage: Mutex<Option<FolderUsage>>,
    /// Set when the folder is there and no other user can change it.
    is_trusted: OnceLock<()>,
    /// The user of this process.
    user: u32,
}

#[derive(Clone, Copy, Debug)]
struct FolderUsage {
    bytes: u64,
    writes: u32,
}

impl DiskCache {
    pub(crate) fn new(settings: CacheSettings) -> Self {
        let (counters, usage, is_trusted) = (Counters::default(), Mutex::new(Rank::KernelDisk, None), OnceLock::new());
        Self { settings, counters, usage, is_trusted, user: trust::user() }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.settings.mode == CacheMode::Off
    }

    pub(crate) fn counters(&self) -> CacheCounters {
        self.counters.read()
    }

    /// Reads the file of a hash; `None` if there is none, if it is damaged, or if `read` refuses its content.
    pub(crate) fn load<T>(
        &self,
        kind: EntryKind,
        hash: &Hash,
        read: impl FnOnce(&[u8]) -> Result<T, Unusable>,
    ) -> Option<T> {
        if self.is_off() {
            return None;
        }
        let path = folder::path(&self.settings.directory, kind.name(), hash);
        let (outcome, content) = match self.read(&path) {
            Ok(file) => match entry::decode(hash, &file).and_then(read) {
                Ok(content) => (Outcome::Hit, Some(content)),
                Err(Unusable::Damaged) => (Outcome::Damaged, None),
                Err(Unusable::Foreign) => (Outcome::Foreign, None),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Outcome::Miss, None),
            Err(_) => (Outcome::Refused, None),
        };
        self.counters.count(kind, outcome);
        if outcome == Outcome::Hit && self.settings.mode == CacheMode::ReadWrite {
            folder::touch(&path);
        }
        content
    }

    /// Writes the file of a hash. `name` is that of its kernel, for people.
    pub(crate) fn store(&self, kind: EntryKind, hash: &Hash, name: &str, content: &[u8]) {
        let file = entry::encode(hash, name, content);
        let bytes = file.len() as u64;
        // A file that would evict most others, or would not be read back, is not written.
        if self.settings.mode != CacheMode::ReadWrite || bytes > entry::MAX_BYTES.min(self.settings.max_bytes / 4) {
            return;
        }
        let path = folder::path(&self.settings.directory, kind.name(), hash);
        let written = folder::create(&self.settings.directory)
            .and_then(|()| self.check_folder())
            .and_then(|()| folder::write(&self.settings.directory, &path, &file));
        self.counters.count(kind, if written.is_ok() { Outcome::Written } else { Outcome::Refused });
        if written.is_ok() {
            self.make_room(bytes);
        }
    }

    /// The bytes of a file. Refuses a file that another user can change.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = File::open(path)?;
        self.check_folder()?;
        trust::check_file(&file, self.user)?;
        folder::read(file)
    }

    /// Checks that no other user can change the folder, which is there. The result is kept: only the user or root can change
    /// it afterwards.
    fn check_folder(&self) -> io::Result<()> {
        if self.is_trusted.get().is_none() {
            trust::check(&self.settings.directory, self.user)?.map_err(io::Error::other)?;
            self.is_trusted.get_or_init(|| ());
        }
        Ok(())
    }

    /// Removes old files if the folder may be too full now.
    fn make_room(&self, bytes: u64) {
        let mut usage = self.usage.lock();
        if let Some(known) = usage.as_mut() {
            *known = FolderUsage { bytes: known.bytes + bytes, writes: known.writes + 1 };
            if known.bytes <= self.settings.max_bytes && known.writes < WRITES_BETWEEN_SWEEPS {
                return;
            }
        }
        // A folder that cannot be listed is tried again after the next write.
        if let Ok((bytes, n_removed)) = folder::sweep(&self.settings.directory, self.settings.max_bytes) {
            *usage = Some(FolderUsage { bytes, writes: 0 });
            self.counters.evict(n_removed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn load(disk: &DiskCache, key: u8) -> Option<Vec<u8>> {
        disk.load(EntryKind::Pipelines, &[key; 32], |content| Ok(content.to_vec()))
    }

    fn store(disk: &DiskCache, key: u8, content: &[u8]) {
        disk.store(EntryKind::Pipelines, &[key; 32], "a.wgsl: f", content);
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_stored_file_is_found_by_the_next_cache() {
        let folder = tempfile::tempdir().unwrap();
        let first = DiskCache::new(CacheSettings::at(folder.path().join("made/when/needed")));
        assert_eq!(load(&first, 1), None);
        store(&first, 1, b"one");
        let second = DiskCache::new(CacheSettings::at(folder.path().join("made/when/needed")));
        assert_eq!(load(&second, 1).as_deref(), Some(&b"one"[..]));
        assert_eq!(load(&second, 2), None);
        // Kinds do not share files.
        assert_eq!(second.load(EntryKind::Translations, &[1; 32], |content| Ok(content.len())), None);
        let (first, second) = (first.counters(), second.counters());
        assert_eq!((first.pipelines.misses, first.pipelines.written), (1, 1));
        assert_eq!((second.pipelines.hits, second.pipelines.misses, second.translations.misses), (1, 1, 1));
    }

    #[test]
    fn a_damaged_file_is_counted_and_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskCache::new(CacheSettings::at(folder.path()));
        store(&disk, 1, b"one");
        let path = folder::path(folder.path(), "pipeline", &[1; 32]);
        let file = fs::read(&path).unwrap();
        let foreign = fs::read(&path).unwrap();
        let longer = [b"x", &file[..]].concat();
        for damaged in [&file[..0], &file[..file.len() - 1], &longer, &[0; 500]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(load(&disk, 1), None);
        }
        fs::write(folder::path(folder.path(), "pipeline", &[2; 32]), foreign).unwrap();
        assert_eq!(load(&disk, 2), None);
        assert_eq!((disk.counters().pipelines.damaged, disk.counters().pipelines.foreign), (4, 1));
        store(&disk, 1, b"one");
        assert_eq!(load(&disk, 1).as_deref(), Some(&b"one"[..]));
    }

    #[test]
    fn a_refused_content_counts_as_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskCache::new(CacheSettings::at(folder.path()));
        store(&disk, 1, b"one");
        assert_eq!(disk.load::<()>(EntryKind::Pipelines, &[1; 32], |_| Err(Unusable::Foreign)), None);
        assert_eq!((disk.counters().pipelines.hits, disk.counters().pipelines.foreign), (0, 1));
    }

    #[test]
    fn read_only_and_off_write_nothing() {
        let folder = tempfile::tempdir().unwrap();
        store(&DiskCache::new(CacheSettings::at(folder.path())), 1, b"one");
        let read_only = DiskCache::new(CacheSettings::at(folder.path()).read_only());
        store(&read_only, 2, b"two");
        assert_eq!(load(&read_only, 1).as_deref(), Some(&b"one"[..]));
        let off = DiskCache::new(CacheSettings::off());
        store(&off, 3, b"three");
        assert_eq!(load(&off, 1), None);
        assert_eq!(off.counters(), CacheCounters::default());
        assert_eq!(files(folder.path()), 1);
    }

    #[test]
    fn a_folder_stays_below_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskCache::new(CacheSettings::at(folder.path()).max_bytes(4000));
        for key in 0..100 {
            store(&disk, key, &[key; 300]);
            let bytes: u64 = fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
            assert!(bytes <= 4000, "{bytes} bytes after {key}");
        }
        assert_eq!(disk.counters().evicted + files(folder.path()) as u64, 100);
        store(&disk, 200, &[0; 2000]); // Half of all there is.
        assert_eq!(load(&disk, 200), None);
    }

    #[cfg(unix)]
    #[test]
    fn folders_that_others_can_change_are_neither_read_nor_written() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("cache");
        store(&DiskCache::new(CacheSettings::at(&folder)), 1, b"one");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let file = folder::path(&folder, "pipeline", &[1; 32]);
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        // A place, its mode, whether what is there is read.
        let cases = [
            (&file, 0o644, true),
            (&file, 0o666, false),
            (&file, 0o600, true),
            (&folder, 0o755, true),
            (&folder, 0o757, false),
            (&folder, 0o700, true),
        ];
        for (place, mode, is_read) in cases {
            set(place, mode);
            let disk = DiskCache::new(CacheSettings::at(&folder));
            assert_eq!(load(&disk, 1).is_some(), is_read, "{} {mode:o}", place.display());
            assert_eq!(disk.counters().pipelines.refused, u64::from(!is_read));
        }
        set(&folder, 0o777);
        let disk = DiskCache::new(CacheSettings::at(&folder));
        store(&disk, 2, b"two");
        assert_eq!((disk.counters().pipelines.written, disk.counters().pipelines.refused), (0, 1));
        assert_eq!(files(&folder), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_another_user_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = DiskCache::new(CacheSettings::at(folder.path()));
        store(&disk, 1, b"one");
        assert_eq!(load(&disk, 1).as_deref(), Some(&b"one"[..]));
        let file = folder::path(folder.path(), "pipeline", &[1; 32]);
        if disk.user == 0 {
            std::os::unix::fs::chown(&file, Some(4711), None).unwrap(); // Root alone can give a file away.
        } else {
            disk.user += 1; // The same seen from another user's process, for which the folder has been checked.
        }
        assert_eq!(load(&disk, 1), None);
        assert_eq!((disk.counters().pipelines.hits, disk.counters().pipelines.refused), (1, 1));
    }

    #[test]
    fn a_failed_write_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let disk = DiskCache::new(CacheSettings::at(folder.path().join("file/below")));
        store(&disk, 1, b"one");
        assert_eq!((disk.counters().pipelines.written, disk.counters().pipelines.refused), (0, 1));
    }
}
