//! Whether and where kernels are stored on disk: [`CacheSettings`]. Pure but for reading the environment and the
//! list of files.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use vkarray_driver::environment::parse_switch;

use super::folder::{self, CacheFile};
use super::trust;
use crate::error::{Error, Result};

const MODE: &str = "VKARRAY_CACHE";
const DIRECTORY: &str = "VKARRAY_CACHE_DIR";
const MAX_BYTES: &str = "VKARRAY_CACHE_MAX_BYTES";

/// The default of the most bytes that are stored: some ten thousand kernels.
const DEFAULT_MAX_BYTES: u64 = 256 << 20;

/// What a [`KernelCache`](crate::KernelCache) does with its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CacheMode {
    /// Does not use the disk.
    #[default]
    Off,
    /// Reads what is there, and writes nothing.
    ReadOnly,
    /// Reads what is there, and writes what it builds.
    ReadWrite,
}

/// Whether and where kernels are stored on disk.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{CacheMode, CacheSettings, KernelCache, Source};
///
/// assert_eq!(CacheSettings::off().mode(), CacheMode::Off);
/// let settings = CacheSettings::at("/var/cache/my-program").max_bytes(64 << 20).read_only();
/// assert_eq!(settings.mode(), CacheMode::ReadOnly);
///
/// // A cache that finds its kernels in a folder of the program's own.
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// # let ctx = Context::open_default()?;
/// let kernels = KernelCache::with_disk(ctx.device(), CacheSettings::at(folder))?;
/// kernels.kernel(Source::wgsl("@compute @workgroup_size(1) fn nothing() {}")).build()?;
/// assert_eq!(kernels.counters().translations.written, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct CacheSettings {
    pub(crate) mode: CacheMode,
    pub(crate) directory: PathBuf,
    pub(crate) max_bytes: u64,
    /// Whether the program or the environment named the folder.
    is_named: bool,
}

impl CacheSettings {
    /// Does not use the disk.
    pub fn off() -> Self {
        Self::default()
    }

    /// Stores kernels in that folder, at most 256 MiB. It is created with the first kernel.
    ///
    /// The content of the folder is given to the driver. So on Unix the folder, each folder above it and each link on the way
    /// must belong to the user or to root, and be writable by no one else: neither by other users nor by a group, unless the
    /// group's number is the user's. A folder above may be writable by all if it is sticky, as `/tmp` is. A cache is not
    /// opened on another folder ([`Error::SharedCache`]), and files in it that other users own or can write are not read.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let (mode, max_bytes) = (CacheMode::ReadWrite, DEFAULT_MAX_BYTES);
        Self { mode, directory: directory.into(), max_bytes, is_named: true }
    }

    /// Reads what is there, and writes nothing.
    pub fn read_only(self) -> Self {
        let mode = if self.mode == CacheMode::Off { CacheMode::Off } else { CacheMode::ReadOnly };
        Self { mode, ..self }
    }

    /// Stores at most so many bytes: the least recently used files are removed first.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// Whether files are read and written.
    pub fn mode(&self) -> CacheMode {
        self.mode
    }

    /// The folder, which need not exist; `None` if the disk is not used.
    ///
    /// ```
    /// use vkarray_kernel::CacheSettings;
    ///
    /// assert_eq!(CacheSettings::at("kernels").directory(), Some("kernels".as_ref()));
    /// assert_eq!(CacheSettings::off().directory(), None);
    /// ```
    pub fn directory(&self) -> Option<&Path> {
        (self.mode != CacheMode::Off).then_some(self.directory.as_path())
    }

    /// How many bytes the folder holds at most.
    ///
    /// ```
    /// use vkarray_kernel::CacheSettings;
    ///
    /// assert_eq!(CacheSettings::at("kernels").limit(), 256 << 20);
    /// ```
    pub fn limit(&self) -> u64 {
        self.max_bytes
    }

    /// The files of the cache, the last used first.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{CacheSettings, KernelCache, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// let cache = CacheSettings::at(folder);
    /// # let ctx = Context::open_default()?;
    /// let kernels = KernelCache::with_disk(ctx.device(), cache.clone())?;
    /// kernels.kernel(Source::wgsl("@compute @workgroup_size(1) fn nothing() {}")).build()?;
    /// let n_files = cache.files()?.len() as u64;
    /// assert!(n_files > 0);
    /// assert_eq!(cache.clear()?, n_files);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Errors of the file system. A folder that does not exist has no files.
    pub fn files(&self) -> io::Result<Vec<CacheFile>> {
        let Some(directory) = self.directory().filter(|directory| directory.exists()) else { return Ok(Vec::new()) };
        let mut files = folder::list(directory)?;
        files.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.path.cmp(&b.path)));
        Ok(files)
    }

    /// Removes the files of the cache, and returns how many. Other files in the folder stay. Programs that use the cache at
    /// the same time build their kernels again.
    ///
    /// ```
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::CacheSettings;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let cache = CacheSettings::at(folder.path());
    /// std::fs::write(folder.path().join("notes.txt"), "not of the cache")?;
    /// assert_eq!(cache.clear()?, 0);
    /// assert!(folder.path().join("notes.txt").exists());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Errors of the file system.
    pub fn clear(&self) -> io::Result<u64> {
        let Some(directory) = self.directory().filter(|directory| directory.exists()) else { return Ok(0) };
        Ok(folder::sweep(directory, 0)?.1)
    }

    /// These settings, if no other user can change the folder. Otherwise a folder that the program or the environment named is
    /// an error; the default folder is not used: the cache is off, and the first time in a process a warning gives the reason.
    pub(crate) fn checked(self) -> Result<Self> {
        static WARNED: Once = Once::new();
        if self.mode == CacheMode::Off {
            return Ok(self);
        }
        // If the system does not show the folder's owner, its files cannot be read either.
        let Ok(Err(error)) = trust::check(&self.directory, trust::user()) else { return Ok(self) };
        if self.is_named {
            return Err(error);
        }
        WARNED.call_once(|| log::warn!("the cache of kernels is off: {error}"));
        Ok(Self::off())
    }

    /// Reads the settings from the environment.
    ///
    /// `VKARRAY_CACHE` is `on` (the default), `read-only` or `off`; `VKARRAY_CACHE_DIR` the folder, else `vkarray` in the
    /// user's folder of caches, such as `~/.cache`; `VKARRAY_CACHE_MAX_BYTES` the most bytes that are stored. A user without a
    /// home has no cache. If other users can change a folder that the variable names, opening the cache fails as
    /// [`CacheSettings::at`] says; if they can change the default folder, the cache is off and a warning says so.
    ///
    /// # Errors
    ///
    /// [`Error::BadSetting`] for an unknown value.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{CacheSettings, KernelCache};
    ///
    /// # let ctx = Context::open_default()?;
    /// let kernels = KernelCache::with_disk(ctx.device(), CacheSettings::from_environment()?)?;
    /// assert!(kernels.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_environment() -> Result<Self> {
        let caches = || Some(user_caches()?.join("vkarray"));
        Self::read(std::env::var_os, caches)
    }

    fn read(
        variable: impl Fn(&'static str) -> Option<OsString>,
        of_user: impl Fn() -> Option<PathBuf>,
    ) -> Result<Self> {
        let text = |name| variable(name).map(|text: OsString| text.to_string_lossy().into_owned());
        let bad = |variable, text: String, expected| Error::BadSetting { variable, text, expected };
        // A wrong value is refused also where the cache is off.
        let max_bytes = match text(MAX_BYTES) {
            Some(text) => text.trim().parse().map_err(|_| bad(MAX_BYTES, text, "a number of bytes"))?,
            None => DEFAULT_MAX_BYTES,
        };
        let mode = text(MODE);
        let mode = match mode.as_deref().map(str::trim) {
            None | Some("") => CacheMode::ReadWrite,
            Some("read-only") => CacheMode::ReadOnly,
            Some(text) => match parse_switch(text) {
                Some(true) => CacheMode::ReadWrite,
                Some(false) => return Ok(Self::off()),
                None => return Err(bad(MODE, text.to_owned(), "`on`, `read-only` or `off`")),
            },
        };
        let named = variable(DIRECTORY).filter(|path| !path.is_empty()).map(PathBuf::from);
        let is_named = named.is_some();
        Ok(named.or_else(of_user).map_or_else(Self::off, |directory| Self { mode, directory, max_bytes, is_named }))
    }
}

/// The folder of a user's caches: `$XDG_CACHE_HOME`, else `~/.cache`; on Windows `%LOCALAPPDATA%`.
fn user_caches() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        return folder("LOCALAPPDATA");
    }
    folder("XDG_CACHE_HOME").or_else(|| Some(std::env::home_dir()?.join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)], home: Option<&str>) -> Result<CacheSettings> {
        let variable = |name: &'static str| set.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
        CacheSettings::read(variable, || home.map(PathBuf::from))
    }

    #[test]
    fn the_environment_chooses_folder_and_mode() {
        let home = Some("/home/.cache/vkarray");
        let kept = CacheSettings { is_named: false, ..CacheSettings::at("/home/.cache/vkarray") };
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>, CacheSettings);
        // Variables, the user's folder, settings.
        let cases: &[Case<'_>] = &[
            (&[], home, kept.clone()),
            (&[(MODE, "on")], home, kept.clone()),
            (&[(MODE, "1")], home, kept.clone()), // As other switches.
            (&[(MODE, "false")], home, CacheSettings::off()),
            (&[(MODE, ""), (DIRECTORY, "")], home, kept.clone()), // Set to nothing is not set.
            (&[(MODE, "read-only")], home, kept.clone().read_only()),
            (&[(MODE, "off"), (DIRECTORY, "/a")], home, CacheSettings::off()), // Off wins.
            (&[(DIRECTORY, "/a")], home, CacheSettings::at("/a")),
            (&[(DIRECTORY, "/a")], None, CacheSettings::at("/a")),
            (&[], None, CacheSettings::off()), // No home, no cache.
            (&[(MAX_BYTES, "1000")], home, kept.max_bytes(1000)),
        ];
        for (set, home, settings) in cases {
            assert_eq!(&read(set, *home).unwrap(), settings, "{set:?} {home:?}");
        }
        assert_eq!(CacheSettings::off().read_only(), CacheSettings::off());
    }

    #[cfg(unix)]
    #[test]
    fn a_shared_folder_is_refused_if_named_and_not_used_otherwise() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let home = root.path().to_str().unwrap();
        let named = || read(&[(DIRECTORY, home)], None).unwrap();
        let of_user = || read(&[(MODE, "read-only")], Some(home)).unwrap();
        assert_eq!(named().checked().unwrap(), named());
        assert_eq!(of_user().checked().unwrap(), of_user());
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(named().checked(), Err(Error::SharedCache { mode: 0o777, .. })));
        assert!(matches!(CacheSettings::at(root.path().join("a/b")).checked(), Err(Error::SharedCache { .. })));
        assert_eq!(of_user().checked().unwrap(), CacheSettings::off());
        assert_eq!(CacheSettings::off().checked().unwrap(), CacheSettings::off());
    }

    #[test]
    fn unknown_values_are_refused() {
        assert!(read(&[(MODE, "off"), (MAX_BYTES, "1GB")], None).is_err());
        let cases = [
            (MODE, "readonly", "\"readonly\" in VKARRAY_CACHE is not `on`, `read-only` or `off`"),
            (MAX_BYTES, "1GB", "\"1GB\" in VKARRAY_CACHE_MAX_BYTES is not a number of bytes"),
            (MAX_BYTES, "-1", "\"-1\" in VKARRAY_CACHE_MAX_BYTES is not a number of bytes"),
        ];
        for (name, value, message) in cases {
            assert_eq!(read(&[(name, value)], None).unwrap_err().to_string(), message);
        }
    }
}
