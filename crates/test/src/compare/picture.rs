//! A picture of where two arrays differ: one pixel an element.
//!
//! Equal elements are black, accepted differences dark blue, and mismatches from dark red to yellow by their size.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use super::difference::ElementError;

/// Pictures have at most this many pixels.
const MAX_PIXELS: usize = 1 << 24;

const EQUAL: [u8; 3] = [0, 0, 0];
const CLOSE: [u8; 3] = [30, 50, 140];

/// Writes the picture. Returns `false` for arrays without elements and for arrays that are too large.
pub(super) fn write(path: &Path, errors: &[ElementError], shape: &[usize]) -> Result<bool, String> {
    if errors.is_empty() || errors.len() > MAX_PIXELS {
        return Ok(false);
    }
    let (width, pixels) = pixels(errors, shape);
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::create(path).map_err(|error| failed(&error))?;
    let side = |length: usize| u32::try_from(length).expect("at most `MAX_PIXELS`");
    let mut encoder = png::Encoder::new(BufWriter::new(file), side(width), side(pixels.len() / width));
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(|error| failed(&error))?;
    writer.write_image_data(pixels.as_flattened()).map_err(|error| failed(&error))?;
    Ok(true)
}

/// The width and the pixels: rows of the last axis; a square for an array of one axis.
fn pixels(errors: &[ElementError], shape: &[usize]) -> (usize, Vec<[u8; 3]>) {
    let width = match shape {
        [] | [_] => errors.len().isqrt().max(1),
        [.., last] => *last,
    };
    let sizes = errors.iter().map(|error| error.size).filter(|size| size.is_finite());
    let largest = sizes.fold(f64::MIN_POSITIVE, f64::max);
    let colour = |error: &ElementError| match error {
        ElementError { size: 0.0, .. } => EQUAL,
        ElementError { is_close: true, .. } => CLOSE,
        ElementError { size, .. } => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in 0..=255")]
            let brightness = (255.0 * (size / largest).min(1.0)) as u8;
            [160 + brightness / 8 * 3, brightness, 0]
        }
    };
    let mut pixels: Vec<[u8; 3]> = errors.iter().map(colour).collect();
    pixels.resize(errors.len().next_multiple_of(width), EQUAL);
    (width, pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(size: f64, is_close: bool) -> ElementError {
        ElementError { size, is_close }
    }

    #[test]
    fn mismatches_are_brighter_the_larger_they_are() {
        let errors =
            [error(0.0, true), error(0.1, true), error(0.5, false), error(1.0, false), error(f64::INFINITY, false)];
        let (width, pixels) = pixels(&errors, &[5]);
        assert_eq!((width, pixels.len()), (2, 6));
        assert_eq!(pixels, [EQUAL, CLOSE, [205, 127, 0], [253, 255, 0], [253, 255, 0], EQUAL]);
    }

    #[test]
    fn rows_are_those_of_the_last_axis() {
        assert_eq!(pixels(&[error(1.0, false); 24], &[2, 3, 4]).0, 4);
        assert_eq!(pixels(&[error(1.0, false)], &[]).0, 1);
    }

    #[test]
    fn the_file_is_a_picture_of_that_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.png");
        assert!(write(&path, &[error(1.0, false); 6], &[3, 2]).unwrap());
        let reader = png::Decoder::new(std::io::BufReader::new(File::open(&path).unwrap())).read_info().unwrap();
        assert_eq!((reader.info().width, reader.info().height), (2, 3));
        assert!(!write(&path, &[], &[0]).unwrap());
    }
}
