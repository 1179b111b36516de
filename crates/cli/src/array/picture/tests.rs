//! Images read and written, including damaged images.

use image::{DynamicImage, GrayImage, Luma, Rgb, RgbImage};
use ndarray::{ArrayD, Dimension, arr2, arr3};

use super::*;

fn written(array: &ArrayD<f32>) -> DynamicImage {
    let mut bytes = Vec::new();
    write_png(&HostArray::F32(array.clone()), None, &mut bytes).unwrap();
    image::load_from_memory_with_format(&bytes, ImageFormat::Png).unwrap()
}

/// Saves `picture` under `name`, and reads it as an array of `channels` channels, or of the file's own number.
fn read_as(picture: &DynamicImage, name: &str, channels: Option<usize>) -> ArrayD<f32> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    picture.save(&path).unwrap();
    let HostArray::F32(array) = Picture::open(&path, channels).unwrap().read().unwrap() else {
        panic!("pictures are f32")
    };
    array
}

fn read(picture: &DynamicImage, name: &str) -> ArrayD<f32> {
    read_as(picture, name, None)
}

#[test]
fn rows_come_first_and_channels_last() {
    // The image is two pixels wide and one high: red, then green and blue. Alpha is one.
    let colour = RgbImage::from_fn(2, 1, |x, _| if x == 0 { Rgb([255, 0, 0]) } else { Rgb([0, 51, 102]) });
    let expected = arr3(&[[[1.0, 0.0, 0.0, 1.0], [0.0, 0.2, 0.4, 1.0]]]).into_dyn();
    assert_eq!(read(&colour.into(), "x.png"), expected);
    let grey = GrayImage::from_fn(1, 2, |_, y| Luma([if y == 0 { 0 } else { 255 }]));
    assert_eq!(read(&grey.into(), "x.png"), arr2(&[[0.0_f32], [1.0]]).into_dyn());
}

fn assert_close(found: &ArrayD<f32>, expected: &ArrayD<f32>) {
    assert_eq!(found.shape(), expected.shape());
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found} instead of {expected}");
}

#[test]
fn channels_are_those_of_the_image_or_as_asked_for() {
    let grey: DynamicImage = GrayImage::from_fn(3, 2, |x, y| Luma([u8::try_from(51 * (x + y)).unwrap()])).into();
    let value = |index: &[usize]| [0.0_f32, 0.2, 0.4, 0.6][index[0] + index[1]];
    let expected = |shape: &[usize]| {
        ArrayD::from_shape_fn(
            shape,
            |index| if index.ndim() == 3 && index[2] == 3 { 1.0 } else { value(index.slice()) },
        )
    };
    for (channels, shape) in [(None, &[2, 3][..]), (Some(1), &[2, 3]), (Some(3), &[2, 3, 3]), (Some(4), &[2, 3, 4])] {
        for picture in [grey.clone(), grey.to_luma16().into()] {
            assert_close(&read_as(&picture, "x.png", channels), &expected(shape));
        }
        // An image has four channels if it has alpha, and also if it has colour.
        for picture in [DynamicImage::from(grey.to_luma_alpha8()), grey.to_rgb8().into(), grey.to_rgba8().into()] {
            let shape = if channels.is_none() { &[2, 3, 4] } else { shape };
            assert_close(&read_as(&picture, "x.png", channels), &expected(shape));
        }
    }
}

#[test]
fn what_is_written_of_each_shape_is_read_back() {
    for shape in [&[2, 3][..], &[2, 3, 1], &[2, 3, 3], &[2, 3, 4]] {
        let array = ArrayD::from_shape_fn(shape, |index| {
            let place = index.slice().iter().fold(0_u8, |place, &i| place * 4 + u8::try_from(i).unwrap());
            f32::from(place) / 255.0
        });
        let channels = Some(*shape.get(2).unwrap_or(&1));
        let expected =
            if shape == [2, 3, 1] { array.clone().into_shape_with_order(vec![2, 3]).unwrap() } else { array.clone() };
        assert_eq!(read_as(&written(&array), "x.png", channels), expected, "{shape:?}");
    }
}

#[test]
fn jpeg_reads_too() {
    let colour = RgbImage::from_pixel(8, 16, Rgb([128, 128, 128]));
    for name in ["x.jpg", "x.jpeg"] {
        let array = read(&colour.clone().into(), name);
        assert_eq!(array.shape(), [16, 8, 4]);
        let error = array.iter().zip([128.0 / 255.0, 128.0 / 255.0, 128.0 / 255.0, 1.0].iter().cycle());
        assert!(error.map(|(a, b): (&f32, &f32)| (a - b).abs()).all(|error| error < 0.02), "{array}");
    }
}

#[test]
fn every_byte_survives_the_round_trip() {
    let all = ArrayD::from_shape_fn(vec![8, 8, 4], |index| {
        let byte = (index[0] * 8 + index[1]) * 4 + index[2];
        u8::try_from(byte).unwrap()
    });
    let picture = written(&all.mapv(|byte| f32::from(byte) / 255.0));
    assert_eq!(picture.into_rgba8().into_raw(), all.into_raw_vec_and_offset().0);
}

#[test]
fn values_are_clamped_and_rounded() {
    // Value, byte.
    let cases = [
        (-1.0, 0),
        (f32::NEG_INFINITY, 0),
        (f32::NAN, 0),
        (0.0019, 0),
        (0.002, 1), // Above half a step.
        (0.5, 128),
        (1.0, 255),
        (7.0, 255),
        (f32::INFINITY, 255),
    ];
    for (value, byte) in cases {
        let picture = written(&arr2(&[[value]]).into_dyn());
        assert_eq!(picture.as_luma8().unwrap().as_raw(), &[byte], "{value}");
    }
}

#[test]
fn channels_follow_from_the_shape() {
    let cases: &[(&[usize], Option<usize>)] = &[
        (&[5, 7], Some(1)),
        (&[5, 7, 3], Some(3)),
        (&[5, 7, 4], Some(4)),
        (&[5, 7, 1], Some(1)),
        (&[5, 7, 2], None),
        (&[5], None),
        (&[], None),
        (&[1, 5, 7, 4], None),
        (&[0, 7, 4], None), // The format has no empty images.
        (&[7, 0], None),
        (&[1, 1 << 31], None), // The format has no such wide images.
    ];
    for (shape, channels) in cases {
        assert_eq!(png_channels(shape), *channels, "{shape:?}");
    }
    for (shape, colour) in [(&[2, 3][..], image::ColorType::L8), (&[2, 3, 3], image::ColorType::Rgb8)] {
        let picture = written(&ArrayD::zeros(shape));
        assert_eq!((picture.height(), picture.width(), picture.color()), (2, 3, colour));
    }
}

/// A PNG whose header names this size, with nothing after the header.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_png(&HostArray::F32(ArrayD::zeros(vec![1, 1, 4])), None, &mut bytes).unwrap();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc32(&bytes[12..29]).to_be_bytes();
    bytes[29..33].copy_from_slice(&checksum);
    bytes
}

/// The checksum of PNG chunks, bit by bit, as the specification defines it.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn integers_of_both_widths_keep_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let words =
        ArrayD::from_shape_fn(vec![3, 5, 3], |at| u16::try_from(257 * (at[0] * 50 + at[1] * 7 + at[2])).unwrap());
    let bytes = words.mapv(|word| u8::try_from(word / 257).unwrap());
    // What is written, its bits, the type to read, and the array that is read.
    let cases = [
        (HostArray::U16(words.clone()), None, DType::U16, HostArray::U16(words.clone())),
        (HostArray::U16(words.clone()), None, DType::U8, HostArray::U8(bytes.clone())), // Scaled.
        (HostArray::U16(words.clone()), None, DType::U32, HostArray::U32(words.mapv(u32::from))),
        (HostArray::U8(bytes.clone()), None, DType::U8, HostArray::U8(bytes.clone())),
        (HostArray::U8(bytes.clone()), None, DType::U16, HostArray::U16(words.clone())), // Scaled.
        (HostArray::U8(bytes.clone()), None, DType::I32, HostArray::I32(bytes.mapv(i32::from))),
        (HostArray::U8(bytes.clone()), Some(16), DType::I32, HostArray::I32(bytes.mapv(i32::from))),
        (HostArray::U32(words.mapv(u32::from)), Some(16), DType::U16, HostArray::U16(words.clone())),
        (
            HostArray::I32(words.mapv(i32::from)),
            None,
            DType::U8,
            HostArray::U8(words.mapv(|word| u8::try_from(word).unwrap_or(255))),
        ),
        (HostArray::I32(words.mapv(|word| -i32::from(word))), None, DType::U8, HostArray::U8(words.mapv(|_| 0))),
        (
            HostArray::F32(words.mapv(|word| f32::from(word) / 65535.0)),
            Some(16),
            DType::U16,
            HostArray::U16(words.clone()),
        ),
    ];
    for (written, bits, dtype, expected) in cases {
        let path = folder.path().join("x.png");
        write_png(&written, bits, std::fs::File::create(&path).unwrap()).unwrap();
        let found = Picture::open(&path, Some(3)).unwrap().with_dtype(dtype).read().unwrap();
        assert_eq!(found, expected, "{:?} with {bits:?} bits as {dtype}", written.dtype());
    }
    let flags = ArrayD::from_shape_fn(vec![1, 2], |at| vkarray::array::Bool::from(at[1] == 1));
    write_png(&HostArray::Bool(flags), None, std::fs::File::create(folder.path().join("x.png")).unwrap()).unwrap();
    let found = Picture::open(&folder.path().join("x.png"), None).unwrap().read().unwrap();
    assert_eq!(found, HostArray::F32(arr2(&[[0.0, 1.0]]).into_dyn()));
    assert!(!png_holds(DType::F64, &[2, 2]) && !png_holds(DType::U8, &[2]) && png_holds(DType::I32, &[2, 2, 4]));
}

#[test]
fn bombs_and_forgeries_are_refused() {
    // Name, bytes, message.
    let small = png_header(1, 1);
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("x.png", png_header(65536, 65536), "x.png: 65536 x 65536 pixels are more than the 134217728 that are read"),
        ("x.png", b"not a picture".to_vec(), "x.png holds neither a PNG nor a JPEG image"),
        ("x.png", Vec::new(), "x.png holds neither a PNG nor a JPEG image"),
        ("x.png", b"GIF89a and so on".to_vec(), "x.png holds neither a PNG nor a JPEG image"),
        ("x.png", small[..20].to_vec(), "cannot decode x.png: "),
        ("x.png", small[..45].to_vec(), "cannot decode x.png: "), // The header is whole, the pixels are not.
        ("x.png", png_header(2, 2), "cannot decode x.png: "),     // More pixels than the file has.
        ("x.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF".to_vec(), "cannot decode x.jpg: "),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, expected) in cases {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = Picture::open(&path, None).and_then(|picture| picture.read()).unwrap_err();
        let text = error.to_string().replace(&format!("{}/", folder.path().display()), "");
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(error.exit_code(), 2);
    }
    assert!(matches!(Picture::open(&folder.path().join("none.png"), None), Err(Error::Read { .. })));
}
