//! `.npz` archives: several named arrays, stored or compressed, as NumPy's `savez` and `savez_compressed` write them.
//!
//! The `zip` crate reads and writes the archive. The length that an entry claims is not trusted: memory is allocated
//! while the entry's bytes arrive, and its checksum is compared at the end. The arrays inside are in the `.npy` format
//! (`file.rs`).

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};
use vkarray_shader::{Element, Names};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::{FileError, Result};
use crate::file::{open_file, read_elements, write_npy};
use crate::header::{MAX_HEADER_BYTES, NpyHeader};

/// The suffix of an array's name in the archive.
const SUFFIX: &str = ".npy";

/// An archive of arrays, open for reading.
///
/// ```
/// use vkarray_io::{NpzFile, NpzWriter};
/// use ndarray::arr1;
///
/// let path = std::env::temp_dir().join(format!("vkarray-{}-read.npz", std::process::id()));
/// let mut writer = NpzWriter::compressed(std::fs::File::create(&path)?);
/// writer.add("x", &arr1(&[1.0_f32, 2.0]))?;
/// writer.add("n", &arr1(&[7_i64]))?;
/// writer.finish()?;
///
/// let mut archive = NpzFile::open(&path)?;
/// assert_eq!(archive.names(), ["n", "x"]);
/// assert_eq!(archive.header("x")?.shape(), [2]);
/// assert_eq!(archive.read::<i64>("n")?[[0]], 7);
/// # std::fs::remove_file(&path)?;
/// # anyhow::Ok(())
/// ```
pub struct NpzFile {
    name: String,
    archive: ZipArchive<BufReader<File>>,
}

impl NpzFile {
    /// Opens an archive and reads its list of entries.
    ///
    /// ```
    /// use vkarray_io::{NpzFile, NpzWriter};
    /// use ndarray::arr1;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-open.npz", std::process::id()));
    /// let mut writer = NpzWriter::new(std::fs::File::create(&path)?);
    /// writer.add("x", &arr1(&[1.0_f32, 2.0]))?;
    /// writer.finish()?;
    /// assert!(NpzFile::open(&path).is_ok());
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileError::Read`], [`FileError::NotAFile`], [`FileError::Archive`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let (file, _) = open_file(path.as_ref(), &name)?;
        match ZipArchive::new(BufReader::new(file)) {
            Ok(archive) => Ok(Self { name, archive }),
            Err(reason) => Err(FileError::Archive { name, reason: Box::new(reason) }),
        }
    }

    /// The names of the arrays in alphabetical order. Entries that are not `.npy` files, or whose name is not text, are left
    /// out.
    ///
    /// ```
    /// use vkarray_io::{NpzFile, NpzWriter};
    /// use ndarray::arr1;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-names.npz", std::process::id()));
    /// let mut writer = NpzWriter::new(std::fs::File::create(&path)?);
    /// writer.add("x", &arr1(&[1.0_f32, 2.0]))?;
    /// writer.finish()?;
    /// assert_eq!(NpzFile::open(&path)?.names(), ["x"]);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    pub fn names(&self) -> Vec<String> {
        let array_name = |entry: &str| entry.strip_suffix(SUFFIX).map(str::to_owned);
        let mut names: Vec<_> =
            self.archive.file_names().filter_map(|entry| entry.ok().and_then(|entry| array_name(&entry))).collect();
        names.sort_unstable();
        names
    }

    /// Reads the element type, shape and order of an array.
    ///
    /// ```
    /// use vkarray_io::{NpzFile, NpzWriter};
    /// use ndarray::arr1;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-header.npz", std::process::id()));
    /// let mut writer = NpzWriter::new(std::fs::File::create(&path)?);
    /// writer.add("x", &arr1(&[1.0_f32, 2.0]))?;
    /// writer.finish()?;
    /// assert_eq!(NpzFile::open(&path)?.header("x")?.nbytes(), 8);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileError::NoArray`], [`FileError::Archive`]; and the errors of a damaged header.
    pub fn header(&mut self, array: &str) -> Result<NpyHeader> {
        self.entry(array, |_, header, _| Ok(header))
    }

    /// Reads an array. The host array has the order of the archive's elements, C or F.
    ///
    /// ```
    /// use vkarray_io::{NpzFile, NpzWriter};
    /// use ndarray::arr1;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-readone.npz", std::process::id()));
    /// let mut writer = NpzWriter::new(std::fs::File::create(&path)?);
    /// writer.add("x", &arr1(&[1.0_f32, 2.0]))?;
    /// writer.finish()?;
    /// assert_eq!(NpzFile::open(&path)?.read::<f32>("x")?.sum(), 3.0);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileError::NoArray`], [`FileError::Archive`], [`FileError::OtherDType`], [`FileError::Elements`] if they end
    /// early or their checksum is wrong; [`FileError::TruthValue`]; [`FileError::HostMemory`]; and the errors of a
    /// damaged header.
    pub fn read<T: Element>(&mut self, array: &str) -> Result<ArrayD<T>> {
        self.entry(array, |name, header, reader| {
            header.check_dtype::<T>(name)?;
            read_elements(name, &header, reader, 0)
        })
    }

    /// Calls `show` with an entry's name, its header and a reader of its elements.
    fn entry<R>(&mut self, array: &str, show: impl FnOnce(&str, NpyHeader, &mut dyn Read) -> Result<R>) -> Result<R> {
        let Some(index) = self.archive.index_for_name(&format!("{array}{SUFFIX}")) else {
            let found = Names(self.names());
            return Err(FileError::NoArray { name: self.name.clone(), array: array.to_owned(), found });
        };
        let name = format!("{}: {array}", self.name);
        let damaged = |reason| FileError::Archive { name: name.clone(), reason: Box::new(reason) };
        let mut file = self.archive.by_index(index).map_err(damaged)?;
        let len = file.size();
        let mut start = Vec::new();
        let read_error = |reason| FileError::Elements { name: name.clone(), reason };
        file.by_ref().take(MAX_HEADER_BYTES as u64 + 1).read_to_end(&mut start).map_err(read_error)?;
        let header = NpyHeader::parse(&name, &start, len)?;
        let header_len = usize::try_from(header.end).expect("a header is short");
        show(&name, header, &mut start[header_len..].chain(file))
    }
}

impl fmt::Debug for NpzFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NpzFile").field("name", &self.name).field("names", &self.names()).finish_non_exhaustive()
    }
}

/// Writes arrays to a new archive.
///
/// ```
/// use vkarray_io::NpzWriter;
/// use ndarray::arr1;
///
/// let mut writer = NpzWriter::new(std::io::Cursor::new(Vec::new()));
/// writer.add("x", &arr1(&[1.0_f32, 2.0]))?;
/// let bytes = writer.finish()?.into_inner();
/// assert!(bytes.starts_with(b"PK"));
/// # anyhow::Ok(())
/// ```
pub struct NpzWriter<W: Write + Seek> {
    archive: ZipWriter<W>,
    method: CompressionMethod,
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Starts an archive of uncompressed arrays.
    ///
    /// ```
    /// use std::io::Cursor;
    ///
    /// use vkarray_io::NpzWriter;
    /// use ndarray::arr1;
    ///
    /// let mut writer = NpzWriter::new(Cursor::new(Vec::new()));
    /// writer.add("x", &arr1(&[1_u8; 1000]))?;
    /// assert!(writer.finish()?.into_inner().len() > 1000);
    /// # anyhow::Ok(())
    /// ```
    pub fn new(writer: W) -> Self {
        Self { archive: ZipWriter::new(writer), method: CompressionMethod::Stored }
    }

    /// Starts an archive of compressed arrays.
    ///
    /// ```
    /// use std::io::Cursor;
    ///
    /// use vkarray_io::NpzWriter;
    /// use ndarray::arr1;
    ///
    /// let mut writer = NpzWriter::compressed(Cursor::new(Vec::new()));
    /// writer.add("x", &arr1(&[1_u8; 1000]))?;
    /// assert!(writer.finish()?.into_inner().len() < 1000);
    /// # anyhow::Ok(())
    /// ```
    pub fn compressed(writer: W) -> Self {
        Self { archive: ZipWriter::new(writer), method: CompressionMethod::Deflated }
    }

    /// Adds a host array with this name.
    ///
    /// ```
    /// use std::io::Cursor;
    ///
    /// use vkarray_io::NpzWriter;
    /// use ndarray::{arr1, arr2};
    ///
    /// let mut writer = NpzWriter::new(Cursor::new(Vec::new()));
    /// writer.add("x", &arr1(&[1, 2]))?;
    /// writer.add("y", &arr2(&[[1.0, 2.0]]))?;
    /// assert!(writer.add("x", &arr1(&[3])).is_err()); // The name is in use.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileError::Add`] if the archive has the name already or cannot be written; and the errors of [`write_npy`].
    pub fn add<T, S, D>(&mut self, name: &str, array: &ArrayBase<S, D>) -> Result<()>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        let bytes = array.len() as u64 * size_of::<T>() as u64 + MAX_HEADER_BYTES as u64;
        let options = SimpleFileOptions::default().compression_method(self.method);
        let options = options.large_file(bytes > u64::from(u32::MAX));
        let failed = |reason: ZipError| FileError::Add { array: name.to_owned(), reason: Box::new(reason) };
        self.archive.start_file(format!("{name}{SUFFIX}"), options).map_err(failed)?;
        write_npy(&mut self.archive, array)
    }

    /// Writes the archive's list of entries and returns the writer. An archive without this list cannot be read.
    ///
    /// ```
    /// use std::io::Cursor;
    ///
    /// use vkarray_io::NpzWriter;
    ///
    /// let bytes = NpzWriter::new(Cursor::new(Vec::new())).finish()?.into_inner();
    /// assert!(bytes.starts_with(b"PK")); // An archive without arrays.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileError::Finish`].
    pub fn finish(self) -> Result<W> {
        self.archive.finish().map_err(|reason| FileError::Finish { reason: Box::new(reason) })
    }
}

impl<W: Write + Seek> fmt::Debug for NpzWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NpzWriter").field("method", &self.method).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
