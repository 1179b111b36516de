//! Images as arrays: height × width × 4 of `f32` in 0..1 when read; one, three or four channels when written.
//!
//! Decoding and encoding are the `image` crate's, under its memory limit. Values are taken as stored: no gamma is
//! removed and no orientation applied, as NumPy's image readers do. `.npy` files are the library's.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, ImageError, ImageFormat, ImageReader, Limits};
use ndarray::ArrayD;

use super::HostArray;
use crate::error::{Error, Result};

/// Most pixels of an image that is read: 2 GiB as an array.
const MAX_PIXELS: u64 = 1 << 27;

/// An image file whose size is known and bearable.
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    pub(crate) path: PathBuf,
    /// Height, width, 4.
    pub(crate) shape: [usize; 3],
}

impl Picture {
    /// Reads the size, and refuses what would not fit.
    ///
    /// # Errors
    ///
    /// [`Error::Read`], [`Error::PictureFormat`], [`Error::Picture`], [`Error::PictureTooLarge`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (width, height) = reader(path)?.into_dimensions().map_err(|source| picture_error(path, source))?;
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return Err(Error::PictureTooLarge { path: path.to_owned(), width, height, limit: MAX_PIXELS });
        }
        // Both fit into 27 bits.
        Ok(Self { path: path.to_owned(), shape: [height as usize, width as usize, 4] })
    }

    /// Decodes the pixels.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] and [`Error::Picture`], if the file is damaged or has changed since it was opened.
    pub(crate) fn read(&self) -> Result<HostArray> {
        let picture = reader(&self.path)?.decode().map_err(|source| picture_error(&self.path, source))?;
        let pixels = picture.into_rgba32f();
        let shape = [pixels.height() as usize, pixels.width() as usize, 4];
        if shape != self.shape {
            return Err(Error::PictureChanged { path: self.path.clone(), before: self.shape, after: shape });
        }
        let array = ArrayD::from_shape_vec(&shape[..], pixels.into_raw()).expect("four channels a pixel");
        Ok(HostArray::new(array))
    }
}

fn reader(path: &Path) -> Result<ImageReader<BufReader<File>>> {
    let read_error = |source| Error::Read { path: path.to_owned(), source };
    // Not `ImageReader::open`: what counts is how the file begins, not what it is called.
    let file = File::open(path).map_err(read_error)?;
    let mut reader = ImageReader::new(BufReader::new(file)).with_guessed_format().map_err(read_error)?;
    if !matches!(reader.format(), Some(ImageFormat::Png | ImageFormat::Jpeg)) {
        return Err(Error::PictureFormat { path: path.to_owned() });
    }
    reader.limits(Limits::default());
    Ok(reader)
}

fn picture_error(path: &Path, source: ImageError) -> Error {
    Error::Picture { path: path.to_owned(), source: Box::new(source) }
}

/// How many channels a PNG of an array of `shape` has, or `None` if no PNG can hold it.
pub(crate) fn png_channels(shape: &[usize]) -> Option<usize> {
    let channels = match shape {
        [_, _] => 1,
        [_, _, channels @ (3 | 4)] => *channels,
        _ => return None,
    };
    // The format allows 2^31 - 1 an axis, and no empty images.
    let fits = |&len: &usize| (1..=i32::MAX as usize).contains(&len);
    shape[..2].iter().all(fits).then_some(channels)
}

/// Writes `array`, clamped to 0..1 and rounded to eight bits. Not-a-number becomes 0.
///
/// # Errors
///
/// What the writer reports.
///
/// # Panics
///
/// If [`png_channels`] refuses the shape.
pub(crate) fn write_png(array: &ArrayD<f32>, writer: impl Write) -> std::result::Result<(), ImageError> {
    let color = match png_channels(array.shape()) {
        Some(1) => ExtendedColorType::L8,
        Some(3) => ExtendedColorType::Rgb8,
        Some(4) => ExtendedColorType::Rgba8,
        _ => unreachable!("the plan refuses other shapes"),
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=255; NaN casts to 0")]
    let bytes: Vec<u8> = array.iter().map(|value| (value.clamp(0.0, 1.0) * 255.0).round() as u8).collect();
    let side = |axis: usize| u32::try_from(array.shape()[axis]).expect("`png_channels` checked");
    PngEncoder::new(writer).write_image(&bytes, side(1), side(0), color)
}

#[cfg(test)]
mod tests;
