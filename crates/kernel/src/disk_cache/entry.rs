//! The format of a file: hash, length, a checksum, then the name of the kernel and the content. Pure.
//!
//! A file is used only if it is whole and has the hash that was asked for. It may have been cut by a full disk, overwritten,
//! or written by another version.

/// A hash of everything that the content of a file depends on.
pub(crate) type Hash = [u8; 32];

const MAGIC: [u8; 8] = *b"vkarrayC";
/// Increased when the format of a file or of its content changes.
const FORMAT: u32 = 2;
/// Magic, format, length of the content, hash, checksum.
const HEADER: usize = 8 + 4 + 8 + 32 + 32;
/// The longest file. No kernel is as long.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Why a file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// Cut, overwritten, or of another program.
    Damaged,
    /// Whole, but of another version or with another hash.
    Foreign,
}

/// The longest name that is kept, in bytes.
const MAX_NAME: usize = 255;

/// The bytes of a file. `name` is for people alone, and cut if it is long.
pub(super) fn encode(hash: &Hash, name: &str, content: &[u8]) -> Vec<u8> {
    let name = &name.as_bytes()[..name.floor_char_boundary(MAX_NAME)];
    let length = u8::try_from(name.len()).expect("cut to what fits");
    let content = [&[length], name, content].concat();
    let content = content.as_slice();
    let mut file = Vec::with_capacity(HEADER + content.len());
    file.extend(MAGIC);
    file.extend(FORMAT.to_le_bytes());
    file.extend((content.len() as u64).to_le_bytes());
    file.extend(hash);
    file.extend(checksum(&file, content));
    file.extend(content);
    file
}

/// The content of the file of `hash`.
pub(super) fn decode<'a>(hash: &Hash, file: &'a [u8]) -> Result<&'a [u8], Unusable> {
    let (header, content) = file.split_at_checked(HEADER).ok_or(Unusable::Damaged)?;
    let (before, sum) = header.split_at(HEADER - 32);
    if before[..8] != MAGIC {
        return Err(Unusable::Damaged);
    }
    if before[8..12] != FORMAT.to_le_bytes() {
        return Err(Unusable::Foreign);
    }
    if before[12..20] != (content.len() as u64).to_le_bytes() || *sum != checksum(before, content) {
        return Err(Unusable::Damaged);
    }
    if before[20..] != *hash {
        return Err(Unusable::Foreign);
    }
    let (length, content) = content.split_first().ok_or(Unusable::Damaged)?;
    content.get(usize::from(*length)..).ok_or(Unusable::Damaged)
}

/// The start of a file in which [`name`] finds the name.
pub(super) const START: usize = HEADER + 1 + MAX_NAME;

/// The name in the start of a file; `None` if it is no file of this version.
pub(super) fn name(start: &[u8]) -> Option<&str> {
    let (header, rest) = start.split_at_checked(HEADER)?;
    if header[..8] != MAGIC || header[8..12] != FORMAT.to_le_bytes() {
        return None;
    }
    let (length, rest) = rest.split_first()?;
    std::str::from_utf8(rest.get(..usize::from(*length))?).ok()
}

fn checksum(before: &[u8], content: &[u8]) -> Hash {
    *blake3::Hasher::new().update(before).update(content).finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Hash = [7; 32];

    #[test]
    fn a_file_decodes_to_its_content() {
        for content in [&b""[..], b"x", &[0; 1000]] {
            assert_eq!(decode(&KEY, &encode(&KEY, "a.wgsl: f", content)), Ok(content));
        }
    }

    #[test]
    fn every_cut_is_detected() {
        let file = encode(&KEY, "a.wgsl: f", b"content");
        for len in 0..file.len() {
            assert_eq!(decode(&KEY, &file[..len]), Err(Unusable::Damaged), "{len} bytes");
        }
        let longer = [file, vec![0]].concat();
        assert_eq!(decode(&KEY, &longer), Err(Unusable::Damaged));
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let file = encode(&KEY, "a.wgsl: f", b"content");
        for bit in 0..file.len() * 8 {
            let mut file = file.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            let expected = if (64..96).contains(&bit) { Unusable::Foreign } else { Unusable::Damaged };
            assert_eq!(decode(&KEY, &file), Err(expected), "bit {bit}");
        }
    }

    #[test]
    fn another_key_is_foreign() {
        assert_eq!(decode(&[8; 32], &encode(&KEY, "a.wgsl: f", b"content")), Err(Unusable::Foreign));
    }

    #[test]
    fn the_start_of_a_file_has_its_name() {
        let long = "é".repeat(200); // Two bytes each.
        for (given, kept) in [("", ""), ("a.wgsl: f", "a.wgsl: f"), (&long, &long[..254])] {
            let file = encode(&KEY, given, b"content");
            assert_eq!(name(&file[..START.min(file.len())]), Some(kept));
            assert_eq!(decode(&KEY, &file), Ok(&b"content"[..]));
            assert_eq!(name(&file[..HEADER]), None);
        }
        assert_eq!(name(&[0; START]), None);
    }
}
