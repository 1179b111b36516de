//! Damaged `.npy` files and pictures, for the tests that feed them to the command's decoders and to the command itself.
//!
//! Bytes are changed, lost and doubled anywhere. In PNG files whole chunks are changed too, with valid checksums, so
//! that the damage gets past the first check.

use std::io::Cursor;

use image::{DynamicImage, GrayAlphaImage, GrayImage, ImageFormat, RgbImage, RgbaImage};

/// A file's extension and its bytes.
pub(crate) type Seed = (&'static str, Vec<u8>);

/// Small files of every kind that the command reads.
pub(crate) fn seeds() -> Vec<Seed> {
    let grey = DynamicImage::from(GrayImage::from_fn(7, 5, |x, y| image::Luma([byte(x * 31 + y * 7)])));
    let colours = DynamicImage::from(RgbImage::from_fn(9, 6, |x, y| image::Rgb([byte(x * 20), byte(y * 40), 77])));
    let pictures: [DynamicImage; 6] = [
        grey.to_luma16().into(),
        GrayAlphaImage::from_pixel(3, 3, image::LumaA([9, 200])).into(),
        RgbaImage::from_pixel(4, 4, image::Rgba([1, 2, 3, 4])).into(),
        colours.to_rgb16().into(),
        grey.clone(),
        colours.clone(),
    ];
    let encoded = |picture: &DynamicImage, format| {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).expect("memory takes it");
        bytes.into_inner()
    };
    let mut seeds: Vec<Seed> = pictures.iter().map(|picture| ("png", encoded(picture, ImageFormat::Png))).collect();
    seeds.push(("png", palette()));
    seeds.extend([&grey, &colours].map(|picture| ("jpg", encoded(picture, ImageFormat::Jpeg))));
    for (descriptor, order, shape, n_bytes) in [
        ("<f4", "False", "(3, 4)", 48),
        (">f8", "True", "(2, 3)", 48),
        ("|b1", "False", "(5,)", 5),
        ("<i2", "False", "()", 2),
        ("<u8", "False", "(0, 7)", 0),
        ("<f2", "True", "(2, 2, 2)", 16),
    ] {
        for (version, n_length) in [(1, 2), (2, 4), (3, 4)] {
            let text = format!("{{'descr': '{descriptor}', 'fortran_order': {order}, 'shape': {shape}, }}    \n");
            let length = &text.len().to_le_bytes()[..n_length];
            let elements = vec![1; n_bytes];
            seeds.push(("npy", [b"\x93NUMPY", &[version, 0][..], length, text.as_bytes(), &elements].concat()));
        }
    }
    seeds
}

fn byte(value: u32) -> u8 {
    u8::try_from(value % 256).expect("a remainder")
}

/// An image of three colours, of which two are transparent.
fn palette() -> Vec<u8> {
    let chunks: [(&[u8; 4], &[u8]); 5] = [
        (b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 3, 0, 0, 0]),
        (b"PLTE", &[255, 51, 0, 1, 2, 3, 4, 5, 6]),
        (b"tRNS", &[102, 7]),
        (b"IDAT", &[0x78, 0x01, 0x01, 2, 0, 0xfd, 0xff, 0, 2, 0, 4, 0, 3]),
        (b"IEND", &[]),
    ];
    let chunks: Vec<Vec<u8>> = chunks.iter().map(|(name, data)| [&name[..], data].concat()).collect();
    png(&chunks)
}

/// A file whose palette is no whole number of colours, at which the decoder panics.
pub(crate) fn broken_palette() -> Vec<u8> {
    let mut chunks = chunks(&palette());
    chunks[1].pop();
    png(&chunks)
}

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A file of chunks, each its name and its data.
fn png(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = SIGNATURE.to_vec();
    for chunk in chunks {
        bytes.extend(u32::try_from(chunk.len().saturating_sub(4)).expect("a short chunk").to_be_bytes());
        bytes.extend(chunk);
        bytes.extend(crc32(chunk).to_be_bytes());
    }
    bytes
}

/// The checksum of PNG chunks, bit by bit, as the specification defines it.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// The chunks of a whole PNG.
fn chunks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &bytes[SIGNATURE.len()..];
    let mut chunks = Vec::new();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let end = 4 + u32::from_be_bytes(*length) as usize;
        chunks.push(tail[..end].to_vec());
        rest = &tail[end + 4..];
    }
    chunks
}

/// A file like `seed`, damaged. Each state of `rng` gives the same file.
pub(crate) fn damaged(seed: &Seed, seeds: &[Seed], rng: &mut fastrand::Rng) -> Vec<u8> {
    let (kind, bytes) = seed;
    let mut bytes = bytes.clone();
    if *kind == "png" && rng.u8(..) < 160 {
        let mut parts = chunks(&bytes);
        for _ in 0..rng.usize(1..4) {
            let (at, to) = (rng.usize(..parts.len()), rng.usize(..parts.len()));
            match rng.u8(..6) {
                0 if parts.len() > 1 => drop(parts.remove(at)),
                1 => parts.insert(to, parts[at].clone()),
                2 => parts.swap(at, to),
                3 => {
                    let others = seeds.iter().filter(|(kind, _)| *kind == "png").collect::<Vec<_>>();
                    let other = chunks(&others[rng.usize(..others.len())].1);
                    parts.insert(at, other[rng.usize(..other.len())].clone());
                }
                _ => change(&mut parts[at], rng),
            }
        }
        return png(&parts);
    }
    for _ in 0..rng.usize(1..5) {
        change(&mut bytes, rng);
    }
    bytes
}

/// Changes, loses, doubles or adds a few bytes.
fn change(bytes: &mut Vec<u8>, rng: &mut fastrand::Rng) {
    const EDGES: [u8; 8] = [0, 1, 4, 16, 127, 128, 254, 255];
    if bytes.is_empty() {
        return bytes.push(rng.u8(..));
    }
    let at = rng.usize(..bytes.len());
    let end = (at + rng.usize(1..6)).min(bytes.len());
    match rng.u8(..6) {
        0 => bytes[at] ^= 1 << rng.u8(..8),
        1 => bytes[at] = EDGES[rng.usize(..EDGES.len())],
        2 => drop(bytes.drain(at..end)),
        3 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
        4 => bytes[at] = b"0123456789(),'<>|-Lfiub"[rng.usize(..23)],
        _ => bytes.truncate(bytes.len().min(at.max(8))),
    }
}
