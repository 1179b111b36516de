//! Images as arrays of `f32` in 0..1: height × width if grey, else height × width × channels.
//!
//! Decoding and encoding are the `image` crate's, under its memory limit. Values are taken as stored: no gamma is
//! removed and no orientation applied, as NumPy's image readers do. `.npy` files are the library's.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageReader, Limits};
use ndarray::ArrayD;

use super::HostArray;
use crate::error::{Error, Result};
use crate::panics::catch_panic;

/// Most pixels of an image that is read: 2 GiB as an array.
const MAX_PIXELS: u64 = 1 << 27;

/// An image file whose size was read and is within [`MAX_PIXELS`].
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    pub(crate) path: PathBuf,
    /// Height, width, and channels if there are several.
    pub(crate) shape: Vec<usize>,
}

impl Picture {
    /// Reads the size, and refuses an image that is too large. Without `channels`, a grey image has one channel and any
    /// other four.
    ///
    /// # Errors
    ///
    /// [`Error::Read`], [`Error::PictureFormat`], [`Error::Picture`], [`Error::PictureDecoder`],
    /// [`Error::PictureTooLarge`].
    pub(crate) fn open(path: &Path, channels: Option<usize>) -> Result<Self> {
        let (width, height, color) = decoded(path, |reader| {
            let decoder = reader.into_decoder()?;
            let (width, height) = decoder.dimensions();
            Ok((width, height, decoder.color_type()))
        })?;
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return Err(Error::PictureTooLarge { path: path.to_owned(), width, height, limit: MAX_PIXELS });
        }
        let is_grey = !color.has_color() && !color.has_alpha();
        let channels = channels.unwrap_or(if is_grey { 1 } else { 4 });
        Ok(Self { path: path.to_owned(), shape: shape_of(width, height, channels) })
    }

    /// Decodes the pixels.
    ///
    /// # Errors
    ///
    /// [`Error::Read`], [`Error::Picture`] and [`Error::PictureDecoder`], if the file is damaged;
    /// [`Error::PictureChanged`] if its size is not the one that [`Picture::open`] read.
    pub(crate) fn read(&self) -> Result<HostArray> {
        let channels = self.shape.get(2).copied().unwrap_or(1);
        // Without memory for the floats, their conversion would abort the process.
        let n_values = self.shape.iter().product();
        let no_memory = |_| Error::HostMemory { bytes: n_values * size_of::<f32>() };
        Vec::<f32>::new().try_reserve_exact(n_values).map_err(no_memory)?;
        let (width, height, values) = decoded(&self.path, |reader| {
            let picture = reader.decode()?;
            let (width, height) = (picture.width(), picture.height());
            let values = match channels {
                1 => picture.to_luma32f().into_raw(),
                3 => picture.into_rgb32f().into_raw(),
                _ => picture.into_rgba32f().into_raw(),
            };
            Ok((width, height, values))
        })?;
        let (before, after) = (self.shape.clone(), shape_of(width, height, channels));
        match ArrayD::from_shape_vec(before.as_slice(), values) {
            Ok(array) if before == after => Ok(HostArray::new(array)),
            _ => Err(Error::PictureChanged { path: self.path.clone(), before, after }),
        }
    }
}

/// Both sides fit into 27 bits, as [`Picture::open`] checks.
fn shape_of(width: u32, height: u32, channels: usize) -> Vec<usize> {
    let mut shape = vec![height as usize, width as usize];
    shape.extend((channels > 1).then_some(channels));
    shape
}

/// The result of `decode` for the image at `path`. A panic of the decoder is an error.
fn decoded<T>(path: &Path, decode: impl FnOnce(Reader) -> std::result::Result<T, ImageError>) -> Result<T> {
    let reader = reader(path)?;
    match catch_panic(|| decode(reader)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(reason)) => Err(Error::Picture { path: path.to_owned(), reason: Box::new(reason) }),
        Err(reason) => Err(Error::PictureDecoder { path: path.to_owned(), reason }),
    }
}

type Reader = ImageReader<BufReader<File>>;

fn reader(path: &Path) -> Result<Reader> {
    let read_error = |reason| Error::Read { path: path.to_owned(), reason };
    // Not `ImageReader::open`, which decides by the file's extension: the first bytes decide.
    let file = File::open(path).map_err(read_error)?;
    let mut reader = ImageReader::new(BufReader::new(file)).with_guessed_format().map_err(read_error)?;
    if !matches!(reader.format(), Some(ImageFormat::Png | ImageFormat::Jpeg)) {
        return Err(Error::PictureFormat { path: path.to_owned() });
    }
    reader.limits(Limits::default());
    Ok(reader)
}

/// How many channels a PNG of an array of `shape` has, or `None` if no PNG can hold it.
pub(crate) fn png_channels(shape: &[usize]) -> Option<usize> {
    let channels = match shape {
        [_, _] => 1,
        [_, _, channels @ (1 | 3 | 4)] => *channels,
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
/// Those of the writer.
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
