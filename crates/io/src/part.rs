//! Boxes of the array in a `.npy` file, read and written in place, for programs that have a part of the array.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};
use vkarray_layout::{Index, Layout, Order, Runs};
use vkarray_shader::{ByteOrder, DType, Element};

use crate::error::{FileError, Result};
use crate::file::{NpyFile, decoded, open_file, swap, write_elements};
use crate::header::{NpyHeader, header_for};

impl NpyFile {
    /// Creates a file for an array of this shape in C order, whose elements are zeros until
    /// [`write_part`](Self::write_part) writes them. A file that exists is replaced.
    ///
    /// ```
    /// use vkarray_io::NpyFile;
    /// use ndarray::arr2;
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-create.npy", std::process::id()));
    /// let file = NpyFile::create::<f32>(&path, &[2, 3])?;
    /// file.write_part(&[0, 1], &arr2(&[[1.0_f32, 2.0], [3.0, 4.0]]))?;
    /// assert_eq!(file.read::<f32>()?.into_raw_vec_and_offset().0, [0.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
    /// assert_eq!(file.read_part::<f32>(&[1, 0], &[1, 2])?.into_raw_vec_and_offset().0, [0.0, 3.0]);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileError::Shape`] for a shape that is too large; [`FileError::Create`] if the file cannot be made, or has no
    /// room on its disk.
    pub fn create<T: Element>(path: impl AsRef<Path>, shape: &[usize]) -> Result<Self> {
        let (path, name) = (path.as_ref().to_owned(), path.as_ref().display().to_string());
        let nbytes = Layout::contiguous(shape, Order::C)
            .and_then(|layout| layout.nbytes(size_of::<T>()))
            .map_err(|reason| FileError::Shape { name: name.clone(), reason })?;
        let start = header_for::<T>(shape, Order::C);
        let (end, dtype) = (start.len() as u64, DType::of::<T>());
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(&start)?;
            file.set_len(end + nbytes)
        };
        write().map_err(|reason| FileError::Create { name, reason })?;
        let header = NpyHeader { dtype, shape: shape.to_vec(), order: Order::C, byte_order: ByteOrder::NATIVE, end };
        Ok(Self { path, header })
    }

    /// Reads the box of `shape` from the index `start` on. The host array has the order of the file, C or F. Elements
    /// that are not in the box are not read.
    ///
    /// # Errors
    ///
    /// [`FileError::Part`] for a box that is not in the array; and the errors of [`NpyFile::read`].
    pub fn read_part<T: Element>(&self, start: &[usize], shape: &[usize]) -> Result<ArrayD<T>> {
        let name = self.path().display().to_string();
        let header = self.header();
        header.check_dtype::<T>(&name)?;
        let mut runs = runs(&name, header, start, shape)?;
        let (mut file, _) = open_file(self.path(), &name)?;
        let size = shape.iter().product();
        let mut values: Vec<T> = Vec::new();
        let no_memory = |_| FileError::HostMemory { name: name.clone(), bytes: (size * size_of::<T>()) as u64 };
        values.try_reserve_exact(size).map_err(no_memory)?;
        values.resize(size, T::zeroed());
        let mut rest = values.as_mut_slice();
        let read = |(first, len): (usize, usize)| {
            file.seek(SeekFrom::Start(header.end + (first * size_of::<T>()) as u64))?;
            let run = rest.split_off_mut(..len).expect("the runs have as many elements as the box");
            file.read_exact(bytemuck::cast_slice_mut(run))
        };
        runs.try_for_each(read).map_err(|reason| FileError::Elements { name: name.clone(), reason })?;
        decoded(&name, header, shape, values)
    }

    /// Writes a host array to the box of its shape from the index `start` on. Other elements keep their values, so
    /// several threads and processes may write boxes that share no element at the same time.
    ///
    /// # Errors
    ///
    /// [`FileError::OtherDType`] for elements of another type than the file's; [`FileError::Part`] for a box that is
    /// not in the array; [`FileError::Create`] if writing fails, after which the box may be incomplete.
    pub fn write_part<T, S, D>(&self, start: &[usize], array: &ArrayBase<S, D>) -> Result<()>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        let name = self.path().display().to_string();
        let header = self.header();
        header.check_dtype::<T>(&name)?;
        let mut runs = runs(&name, header, start, array.shape())?;
        let oriented = if header.order == Order::F { array.t() } else { array.view() };
        let mut values: Vec<T> = oriented.iter().copied().collect();
        swap(header, bytemuck::cast_slice_mut(&mut values));
        let mut rest = values.as_slice();
        let mut write = || {
            let mut file = OpenOptions::new().write(true).open(self.path())?;
            runs.try_for_each(|(first, len)| {
                file.seek(SeekFrom::Start(header.end + (first * size_of::<T>()) as u64))?;
                write_elements(&mut file, rest.split_off(..len).expect("the runs have as many elements as the box"))
            })
        };
        write().map_err(|reason| FileError::Create { name: name.clone(), reason })
    }
}

/// A box of a file, as runs of elements that follow each other there: the first element of each, and their number.
fn runs(name: &str, header: &NpyHeader, start: &[usize], shape: &[usize]) -> Result<Runs> {
    let (whole, ndim) = (&header.shape, header.shape.len());
    let fits = start.len() == ndim
        && shape.len() == ndim
        && (0..ndim).all(|axis| start[axis] <= whole[axis] && shape[axis] <= whole[axis] - start[axis]);
    if !fits {
        let (start, shape, whole) = (start.to_vec(), shape.to_vec(), whole.clone());
        return Err(FileError::Part { name: name.to_owned(), start, shape, whole });
    }
    let index: Vec<_> = start.iter().zip(shape).map(|(&start, len)| Index::from(start..start + len)).collect();
    let part = Layout::contiguous(whole, header.order).and_then(|layout| layout.slice(&index));
    // The slowest axis of the file first.
    let part = part.and_then(|part| if header.order == Order::F { part.transpose(None) } else { Ok(part) });
    Ok(part.map_err(|reason| FileError::Shape { name: name.to_owned(), reason })?.runs())
}

#[cfg(test)]
mod tests {
    use ndarray::{IxDyn, ShapeBuilder, Slice, arr1};
    use proptest::prelude::*;

    use super::*;
    use crate::write_npy;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn boxes_are_those_of_the_whole_array(
            axes in prop::collection::vec((0..6_usize, 0..6_usize, 0..6_usize), 0..4), is_f in any::<bool>(),
        ) {
            let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
            let start: Vec<usize> = axes.iter().map(|axis| axis.1.min(axis.0)).collect();
            let part: Vec<usize> = axes.iter().zip(&start).map(|(axis, start)| axis.2.min(axis.0 - start)).collect();
            let mut whole = ArrayD::<i32>::zeros(IxDyn(&shape).set_f(is_f));
            (0..).zip(whole.iter_mut()).for_each(|(number, element)| *element = number);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.npy");
            write_npy(File::create(&path).unwrap(), &whole).unwrap();
            let file = NpyFile::open(&path).unwrap();
            let range = |axis: usize| Slice::from(start[axis]..start[axis] + part[axis]);
            let mut own = whole.slice_each_axis_mut(|axis| range(axis.axis.index()));
            prop_assert_eq!(file.read_part::<i32>(&start, &part).unwrap(), own.view());
            own.mapv_inplace(|number| number - 1000);
            file.write_part(&start, &own).unwrap();
            prop_assert_eq!(file.read::<i32>().unwrap(), whole);
        }
    }

    #[test]
    fn contiguous_boxes_are_one_run() {
        let file =
            |order| NpyHeader { dtype: DType::I8, shape: vec![4, 3, 2], order, byte_order: ByteOrder::NATIVE, end: 0 };
        let runs = |order, start: &[usize], shape: &[usize]| {
            runs("x", &file(order), start, shape).unwrap().collect::<Vec<_>>()
        };
        assert_eq!(runs(Order::C, &[1, 0, 0], &[2, 3, 2]), [(6, 12)]);
        assert_eq!(runs(Order::C, &[1, 1, 0], &[2, 2, 2]), [(8, 4), (14, 4)]);
        assert_eq!(runs(Order::C, &[1, 1, 1], &[2, 2, 1]), [(9, 1), (11, 1), (15, 1), (17, 1)]);
        assert_eq!(runs(Order::F, &[0, 1, 0], &[4, 2, 1]), [(4, 8)]);
        assert_eq!(runs(Order::F, &[1, 0, 0], &[1, 3, 1]), [(1, 1), (5, 1), (9, 1)]);
    }

    #[test]
    fn foreign_byte_order_is_kept_and_refusals_name_the_culprit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        NpyFile::create::<i16>(&path, &[3]).unwrap().write_part(&[0], &arr1(&[1_i16, 2, 3])).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let swapped: Vec<u8> = bytes
            .iter()
            .map(|&byte| match byte {
                b'<' => b'>',
                b'>' => b'<',
                byte => byte,
            })
            .collect();
        std::fs::write(&path, swapped).unwrap();
        let file = NpyFile::open(&path).unwrap();
        file.write_part(&[2], &arr1(&[-2_i16])).unwrap();
        assert_eq!(file.read_part::<i16>(&[1], &[2]).unwrap(), arr1(&[0x200_i16, -2]).into_dyn());
        let outside = file.read_part::<i16>(&[2], &[2]).unwrap_err().to_string();
        assert!(outside.contains("(2,) from (2,)") && outside.contains("(3,)"), "{outside}");
        assert!(matches!(file.write_part(&[0], &arr1(&[1_u8])), Err(FileError::OtherDType { .. })));
        assert!(matches!(NpyFile::create::<u8>(&path, &[usize::MAX, 2]), Err(FileError::Shape { .. })));
        assert!(matches!(NpyFile::create::<u8>(folder.path(), &[2]), Err(FileError::Create { .. })));
    }
}
