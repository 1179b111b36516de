//! Images as arrays: height × width if grey, else height × width × channels. Elements are `f32` in 0..1, or the
//! integers of the file.
//!
//! The `image` crate decodes and encodes, under its memory limit. Values are taken as stored: no gamma is removed and
//! no orientation applied, as in NumPy's image readers. The library reads and writes `.npy` files.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use image::codecs::png::PngEncoder;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageReader, Limits,
};
use ndarray::ArrayD;
use vkarray::DType;
use vkarray::io::FileError;

use super::{HostArray, HostElement};
use crate::error::{Error, Result};
use crate::panics::catch_panic;

/// The most pixels of an image that is read: 2 GiB as an array.
const MAX_PIXELS: u64 = 1 << 27;

/// An image file whose size was read and is within [`MAX_PIXELS`].
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    pub(crate) path: PathBuf,
    /// Height, width, and channels if there are several.
    pub(crate) shape: Vec<usize>,
    /// One of [`PICTURE_TYPES`].
    pub(crate) dtype: DType,
}

/// The element types of images that are read.
pub(crate) const PICTURE_TYPES: [DType; 5] = [DType::U8, DType::U16, DType::I32, DType::U32, DType::F32];

impl Picture {
    /// Reads the size, and refuses an image that is too large. Without `channels`, a grey image has one channel and any
    /// other image has four.
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
        Ok(Self { path: path.to_owned(), shape: shape_of(width, height, channels), dtype: DType::F32 })
    }

    /// The image as elements of another type: `u8` and `u16` scale numbers of the other width, `i32` and `u32` hold the
    /// numbers of the file. A type that is not among [`PICTURE_TYPES`] changes nothing.
    pub(crate) fn with_dtype(self, dtype: DType) -> Self {
        Self { dtype: if PICTURE_TYPES.contains(&dtype) { dtype } else { self.dtype }, ..self }
    }

    /// Decodes the pixels.
    ///
    /// # Errors
    ///
    /// [`Error::Read`], [`Error::Picture`] and [`Error::PictureDecoder`], if the file is damaged;
    /// [`Error::PictureChanged`] if its size differs from the size that [`Picture::open`] read.
    pub(crate) fn read(&self) -> Result<HostArray> {
        let channels = self.shape.get(2).copied().unwrap_or(1);
        // The memory is reserved first: if it cannot be allocated during the conversion to floats, the process aborts.
        let n_values = self.shape.iter().product();
        let no_memory = |_| Error::HostMemory { bytes: n_values * size_of::<f32>() };
        Vec::<f32>::new().try_reserve_exact(n_values).map_err(no_memory)?;
        let (width, height, values) = decoded(&self.path, |reader| {
            let picture = reader.decode()?;
            let (width, height) = (picture.width(), picture.height());
            Ok((width, height, Pixels::new(picture, channels, self.dtype)))
        })?;
        let (before, after) = (self.shape.clone(), shape_of(width, height, channels));
        let changed = Error::PictureChanged { path: self.path.clone(), before: before.clone(), after: after.clone() };
        if before != after {
            return Err(changed);
        }
        match (values, self.dtype) {
            (Pixels::Floats(values), _) => shaped(&before, values),
            (Pixels::Bytes(values), DType::U8) => shaped(&before, values),
            (Pixels::Words(values), DType::U16) => shaped(&before, values),
            (Pixels::Bytes(values), DType::I32) => shaped(&before, values.into_iter().map(i32::from).collect()),
            (Pixels::Words(values), DType::I32) => shaped(&before, values.into_iter().map(i32::from).collect()),
            (Pixels::Bytes(values), _) => shaped(&before, values.into_iter().map(u32::from).collect()),
            (Pixels::Words(values), _) => shaped(&before, values.into_iter().map(u32::from).collect()),
        }
        .ok_or(changed)
    }
}

/// An array of this shape; `None` if there are not as many values as the shape has.
fn shaped<T: HostElement>(shape: &[usize], values: Vec<T>) -> Option<HostArray> {
    ArrayD::from_shape_vec(shape, values).ok().map(HostArray::new)
}

/// The numbers of an image, row by row.
enum Pixels {
    Bytes(Vec<u8>),
    Words(Vec<u16>),
    Floats(Vec<f32>),
}

impl Pixels {
    fn new(picture: DynamicImage, channels: usize, dtype: DType) -> Self {
        // The bytes of a number in the file.
        let width = picture.color().bytes_per_pixel() / picture.color().channel_count();
        match (dtype, width, channels) {
            (DType::F32, _, 1) => Self::Floats(picture.to_luma32f().into_raw()),
            (DType::F32, _, 3) => Self::Floats(picture.into_rgb32f().into_raw()),
            (DType::F32, _, _) => Self::Floats(picture.into_rgba32f().into_raw()),
            (DType::U8, _, 1) | (DType::I32 | DType::U32, 1, 1) => Self::Bytes(picture.into_luma8().into_raw()),
            (DType::U8, _, 3) | (DType::I32 | DType::U32, 1, 3) => Self::Bytes(picture.into_rgb8().into_raw()),
            (DType::U8, _, _) | (DType::I32 | DType::U32, 1, _) => Self::Bytes(picture.into_rgba8().into_raw()),
            (_, _, 1) => Self::Words(picture.into_luma16().into_raw()),
            (_, _, 3) => Self::Words(picture.into_rgb16().into_raw()),
            _ => Self::Words(picture.into_rgba16().into_raw()),
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
    if !fs::metadata(path).map_err(read_error)?.is_file() {
        return Err(FileError::NotAFile { name: path.display().to_string() }.into()); // Opening a pipe waits for its writer.
    }
    // `ImageReader::open` decides by the file's extension; here the first bytes decide.
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
    // The format allows 2^31 - 1 pixels an axis, and no empty images.
    let fits = |&len: &usize| (1..=i32::MAX as usize).contains(&len);
    shape[..2].iter().all(fits).then_some(channels)
}

/// The bits of each number of a PNG: 16 for an array of `u16`, else 8.
fn natural_bits(dtype: DType) -> Option<u8> {
    match dtype {
        DType::Bool | DType::U8 | DType::I32 | DType::U32 | DType::F32 => Some(8),
        DType::U16 => Some(16),
        _ => None,
    }
}

/// Whether a PNG can hold an array.
pub(crate) fn png_holds(dtype: DType, shape: &[usize]) -> bool {
    natural_bits(dtype).is_some() && png_channels(shape).is_some()
}

/// Writes `array` with 8 or 16 bits for each number: `f32` is clamped to 0..1 and rounded, and not-a-number becomes 0;
/// integers are clamped to the bits; truth values become black and white.
///
/// # Errors
///
/// The errors of the writer.
///
/// # Panics
///
/// If [`png_holds`] refuses the array.
pub(crate) fn write_png(
    array: &HostArray,
    bits: Option<u8>,
    writer: impl Write,
) -> std::result::Result<(), ImageError> {
    let (shape, dtype) = (array.shape(), array.dtype());
    let channels = png_channels(shape).expect("the plan refuses other shapes");
    let bits = bits.or(natural_bits(dtype)).expect("the plan refuses other types");
    let largest = if bits == 16 { u16::MAX } else { u16::from(u8::MAX) };
    let words = levels(array, largest);
    let side = |axis: usize| u32::try_from(shape[axis]).expect("`png_channels` checked");
    let encoder = PngEncoder::new(writer);
    if bits == 16 {
        let colour = [ExtendedColorType::L16, ExtendedColorType::Rgb16, ExtendedColorType::Rgba16][channels / 2];
        return encoder.write_image(bytemuck::cast_slice(&words), side(1), side(0), colour);
    }
    let bytes: Vec<u8> = words.iter().map(|&word| u8::try_from(word).expect("clamped")).collect();
    let colour = [ExtendedColorType::L8, ExtendedColorType::Rgb8, ExtendedColorType::Rgba8][channels / 2];
    encoder.write_image(&bytes, side(1), side(0), colour)
}

/// The numbers of a PNG, from 0 to `largest`.
fn levels(array: &HostArray, largest: u16) -> Vec<u16> {
    let whole = |value: u32| u16::try_from(value).unwrap_or(u16::MAX).min(largest);
    match array {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; NaN casts to 0")]
        HostArray::F32(array) => {
            array.iter().map(|value| (value.clamp(0.0, 1.0) * f32::from(largest)).round() as u16).collect()
        }
        HostArray::Bool(array) => array.iter().map(|&value| if bool::from(value) { largest } else { 0 }).collect(),
        HostArray::U8(array) => array.iter().map(|&value| whole(value.into())).collect(),
        HostArray::U16(array) => array.iter().map(|&value| whole(value.into())).collect(),
        HostArray::U32(array) => array.iter().map(|&value| whole(value)).collect(),
        HostArray::I32(array) => array.iter().map(|&value| whole(u32::try_from(value).unwrap_or(0))).collect(),
        _ => unreachable!("`png_holds` refuses other types"),
    }
}

#[cfg(test)]
mod tests;
