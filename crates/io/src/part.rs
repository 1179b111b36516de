//! Boxes of the array in a `.npy` file, read and written in place, for programs that have a part of the array.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn, ShapeBuilder};
use vkarray_layout::{Layout, Order};
use vkarray_shader::{ByteOrder, DType, Element};

use crate::error::{FileError, Result};
use crate::file::{NpyFile, decode, open_file, swap, write_elements};
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
        let runs = FileRuns::new(&name, header, start, shape)?;
        let (mut file, _) = open_file(self.path(), &name)?;
        let size = shape.iter().product();
        let mut values: Vec<T> = Vec::new();
        let no_memory = |_| FileError::HostMemory { name: name.clone(), bytes: (size * size_of::<T>()) as u64 };
        values.try_reserve_exact(size).map_err(no_memory)?;
        values.resize(size, T::zeroed());
        let mut read = |(first, run): (usize, &mut [T])| {
            file.seek(SeekFrom::Start(header.end + (first * size_of::<T>()) as u64))?;
            file.read_exact(bytemuck::cast_slice_mut(run))
        };
        let mut each = runs.starts().zip(values.chunks_mut(runs.len.max(1)));
        each.try_for_each(&mut read).map_err(|reason| FileError::Elements { name: name.clone(), reason })?;
        decode(&name, header, bytemuck::cast_slice_mut(&mut values))?;
        let shape = IxDyn(shape).set_f(header.order == Order::F);
        Ok(ArrayD::from_shape_vec(shape, values).expect("there are as many elements as the shape has"))
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
        let runs = FileRuns::new(&name, header, start, array.shape())?;
        let oriented = if header.order == Order::F { array.t() } else { array.view() };
        let mut values: Vec<T> = oriented.iter().copied().collect();
        swap(header, bytemuck::cast_slice_mut(&mut values));
        let write = || {
            let mut file = OpenOptions::new().write(true).open(self.path())?;
            runs.starts().zip(values.chunks(runs.len.max(1))).try_for_each(|(first, run)| {
                file.seek(SeekFrom::Start(header.end + (first * size_of::<T>()) as u64))?;
                write_elements(&mut file, run)
            })
        };
        write().map_err(|reason| FileError::Create { name: name.clone(), reason })
    }
}

/// A box of a file, as runs of elements that follow each other there.
#[derive(Debug, PartialEq, Eq)]
struct FileRuns {
    /// The number of elements of a run.
    len: usize,
    /// The axes along which runs are repeated, the slowest first: first index, length, and elements from one index to
    /// the next.
    repeated: Vec<[usize; 3]>,
    /// The first element of the first run, without the indices of the repeated axes.
    first: usize,
}

impl FileRuns {
    fn new(name: &str, header: &NpyHeader, start: &[usize], shape: &[usize]) -> Result<Self> {
        let ndim = header.shape.len();
        let fits = start.len() == ndim
            && shape.len() == ndim
            && (0..ndim)
                .all(|axis| start[axis] <= header.shape[axis] && shape[axis] <= header.shape[axis] - start[axis]);
        if !fits {
            let (start, shape, whole) = (start.to_vec(), shape.to_vec(), header.shape.clone());
            return Err(FileError::Part { name: name.to_owned(), start, shape, whole });
        }
        // The fastest axis first.
        let mut axes: Vec<usize> = (0..ndim).collect();
        if header.order != Order::F {
            axes.reverse();
        }
        let (mut len, mut first, mut stride, mut is_whole, mut repeated) = (1, 0, 1, true, Vec::new());
        for axis in axes {
            if is_whole {
                first += start[axis] * stride;
                len *= shape[axis];
            } else {
                repeated.insert(0, [start[axis], shape[axis], stride]);
            }
            is_whole &= shape[axis] == header.shape[axis];
            stride *= header.shape[axis];
        }
        Ok(Self { len, repeated, first })
    }

    /// The first element of each run, in the order of the file.
    fn starts(&self) -> impl Iterator<Item = usize> {
        let count: usize = self.repeated.iter().map(|[_, len, _]| len).product();
        (0..count).map(|mut rest| {
            let mut place = self.first;
            for [start, len, stride] in self.repeated.iter().rev() {
                place += (start + rest % len) * stride;
                rest /= len;
            }
            place
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Slice, arr1};
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
            let runs = FileRuns::new("x", &file(order), start, shape).unwrap();
            (runs.len, runs.starts().collect::<Vec<_>>())
        };
        assert_eq!(runs(Order::C, &[1, 0, 0], &[2, 3, 2]), (12, vec![6]));
        assert_eq!(runs(Order::C, &[1, 1, 0], &[2, 2, 2]), (4, vec![8, 14]));
        assert_eq!(runs(Order::C, &[1, 1, 1], &[2, 2, 1]), (1, vec![9, 11, 15, 17]));
        assert_eq!(runs(Order::F, &[0, 1, 0], &[4, 2, 1]), (8, vec![4]));
        assert_eq!(runs(Order::F, &[1, 0, 0], &[1, 3, 1]), (1, vec![1, 5, 9]));
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
