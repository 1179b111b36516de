//! Numbers of bytes in text.

use std::fmt;

/// A number of bytes that prints as `512 bytes`, `9.0 KiB` or `1.5 GiB`.
///
/// ```
/// assert_eq!(vkarray_allocator::Bytes(9 << 10).to_string(), "9.0 KiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "one decimal is printed")]
        let scaled = |shift: u32| self.0 as f64 / (1u64 << shift) as f64;
        let text = match self.0 {
            bytes @ 0..1024 => format!("{bytes} bytes"),
            1024..0x10_0000 => format!("{:.1} KiB", scaled(10)),
            0x10_0000..0x4000_0000 => format!("{:.1} MiB", scaled(20)),
            _ => format!("{:.1} GiB", scaled(30)),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_well() {
        let cases = [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (9216, "9.0 KiB"),
            (3 << 19, "1.5 MiB"),
            (1 << 33, "8.0 GiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
        assert_eq!(format!("{:>9}|", Bytes(1024)), "  1.0 KiB|"); // A column of a table.
    }
}
