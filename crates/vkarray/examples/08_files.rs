//! Files: arrays to and from `.npy` and `.npz`, with the feature `npy`.

use std::fs::File;

use vkarray::io::{NpzFile, NpzWriter};
use vkarray::prelude::*;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.npy");
    let ctx = Context::open_default()?;

    // One array in a file, which NumPy reads with `np.load`.
    let table = ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([2, 3])?;
    table.save_npy(&path)?;
    assert_eq!(ctx.load_npy::<f32>(&path)?.to_vec()?, table.to_vec()?);

    // Several arrays in a file, by name.
    let path = folder.path().join("both.npz");
    let mut archive = NpzWriter::new(File::create(&path)?);
    archive.add("table", &table.copy_to_host()?)?;
    archive.add("first", &table.index([0])?.copy_to_host()?)?;
    archive.finish()?;
    let first = NpzFile::open(&path)?.read::<f32>("first")?;
    assert_eq!(first.as_slice(), Some(&[0.0, 1.0, 2.0][..]));

    // Elements are not converted silently.
    let error = NpzFile::open(&path)?.read::<u8>("first").expect_err("what does not fit is refused");
    println!("refused: {error}");
    Ok(())
}
