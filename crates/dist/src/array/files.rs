//! Arrays in `.npy` files, of which each rank reads and writes its part.

use std::path::Path;

use vkarray::io::NpyFile;
use vkarray::{Context, Element};

use super::DistArray;
use crate::decomposition::Decomposition;
use crate::error::DistError;
use crate::transport::Transport;

impl<'t, T: Element> DistArray<'t, T> {
    /// An array from a `.npy` file, of which each rank reads its own part. Ghost zones are zeros. Sends no message.
    ///
    /// ```
    /// use vkarray::io::NpyFile;
    /// use vkarray::prelude::*;
    /// use vkarray_dist::{Decomposition, DistArray, DistError, ThreadRank, Transport};
    ///
    /// let path = std::env::temp_dir().join(format!("vkarray-{}-dist.npy", std::process::id()));
    /// let ctx = Context::open_default()?;
    /// ctx.arange(0, 12, 1)?.reshape([4, 3])?.save_npy(&path)?;
    /// let sums = ThreadRank::run(3, |rank| {
    ///     let file = NpyFile::open(&path).map_err(Error::from)?;
    ///     let parts = Decomposition::over(file.header().shape(), rank.size())?;
    ///     let x = DistArray::<i32>::load_npy(&ctx, rank, &parts, &path)?;
    ///     x.transpose()?.save_npy(&path)?;
    ///     x.sum()
    /// });
    /// assert!(sums.into_iter().all(|sum| sum.is_ok_and(|sum| sum == 66)));
    /// assert_eq!(ctx.load_npy::<i32>(&path)?.to_vec()?, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
    /// # std::fs::remove_file(&path)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    /// The file has another shape than the decomposition, is damaged or has elements of another type; and the errors of
    /// [`DistArray::full`].
    pub fn load_npy(
        context: &Context,
        transport: &'t dyn Transport,
        decomposition: &Decomposition,
        path: impl AsRef<Path>,
    ) -> Result<Self, DistError> {
        let file = NpyFile::open(&path).map_err(vkarray::Error::from)?;
        if file.header().shape() != decomposition.shape() {
            let (name, found) = (path.as_ref().display().to_string(), file.header().shape().to_vec());
            return Err(DistError::FileShape { name, found, shape: decomposition.shape().to_vec() });
        }
        let array = Self::zeros(context, transport, decomposition)?;
        let part = file.read_part::<T>(&array.part.start, &array.part.shape).map_err(vkarray::Error::from)?;
        array.interior.copy_from_host(&part)?;
        Ok(array)
    }

    /// Writes the array to a `.npy` file, which all ranks have to see under this path. When all ranks have called this
    /// method, rank 0 creates the file or replaces it; then each rank writes its own part. Blocks until all parts are
    /// written.
    ///
    /// # Errors
    /// Writing fails on this rank, or a rank has ended; the file may be incomplete then.
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<(), DistError> {
        self.agree("save_npy")?;
        let part = self.interior.copy_to_host()?;
        // Ranks may still read the file that is replaced.
        self.transport.barrier()?;
        if self.transport.rank() == 0 {
            NpyFile::create::<T>(&path, self.decomposition.shape()).map_err(vkarray::Error::from)?;
        }
        self.transport.barrier()?;
        let file = NpyFile::open(&path).map_err(vkarray::Error::from)?;
        file.write_part(&self.part.start, &part).map_err(vkarray::Error::from)?;
        Ok(self.transport.barrier()?)
    }
}
