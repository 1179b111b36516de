//! NumPy's type strings such as `<f4`, which files and array interfaces use: a byte order, a kind and a number of bytes.
//!
//! Brain floats have no type string and are written as two opaque bytes, as other libraries do. `dtype.rs` has the table.

use super::dtype::NAMED;
use crate::signature::DType;

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

impl DType {
    /// The type string NumPy uses, in this byte order: `<f4`, `|u1`, `|V12` for a record of 12 bytes.
    ///
    /// Brain floats, which NumPy does not have, are `|V2`.
    ///
    /// ```
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_spirv::{ByteOrder, DType};
    ///
    /// assert_eq!(DType::F32.typestr(ByteOrder::Little), "<f4");
    /// assert_eq!(DType::from_typestr(">f8"), Some((DType::F64, ByteOrder::Big)));
    /// assert_eq!(DType::from_typestr("<U2"), None); // Text.
    /// # Ok(())
    /// # }
    /// ```
    pub fn typestr(self, order: ByteOrder) -> String {
        let Some((.., kind)) = NAMED.iter().find(|row| row.0 == self && !row.3.is_empty()) else {
            return format!("|V{}", self.itemsize());
        };
        let order = match order {
            _ if self.itemsize() == 1 => '|',
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
        };
        format!("{order}{kind}")
    }

    /// Reads a type string: the element type and its byte order, or `None` for any other type. [`DType::typestr`] has an
    /// example.
    ///
    /// Types without a byte order, for which some libraries write `<`, get the order of this machine. `=` is not in the format
    /// and is refused.
    pub fn from_typestr(text: &str) -> Option<(Self, ByteOrder)> {
        let (order, kind) = text.split_at_checked(1)?;
        if let Some(bytes) = kind.strip_prefix('V') {
            let is_number = !bytes.is_empty() && bytes.bytes().all(|digit| digit.is_ascii_digit());
            let bytes = bytes.parse().ok().filter(|&bytes| is_number && bytes > 0)?;
            return (order == "|" || order == "<").then_some((Self::Record(bytes), ByteOrder::NATIVE));
        }
        let (dtype, ..) = NAMED.iter().find(|row| row.3 == kind && !kind.is_empty())?;
        let order = match (order, dtype.itemsize()) {
            ("|", 1) => ByteOrder::NATIVE,
            ("<", 2..) => ByteOrder::Little,
            (">", 2..) => ByteOrder::Big,
            _ => return None,
        };
        Some((*dtype, order))
    }

    /// The number of so many bits whose kind NumPy gives this letter: `i`, `u` or `f`.
    #[doc(hidden)]
    pub fn of_kind(kind: char, bits: u32) -> Option<Self> {
        let is_it = |(dtype, .., typestr): &&(Self, &str, &str, &str)| {
            typestr.starts_with(kind) && dtype.itemsize() * 8 == bits
        };
        NAMED.iter().find(is_it).map(|row| row.0)
    }

    /// Whether elements with this type string can be read as `wanted`: the same type, or brain floats from two opaque bytes.
    pub fn reads_as(self, wanted: Self) -> bool {
        self == wanted || (wanted == Self::BF16 && self == Self::Record(2))
    }

    /// The number of bytes to reverse for the other byte order: those of the scalar, or one if nothing has to be reversed.
    pub fn swapped_bytes(self) -> usize {
        match self {
            Self::BF16 => 1, // Opaque in files, whatever their order.
            _ => self.scalar().map_or(1, |scalar| scalar.itemsize() as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_strings_survive_the_round_trip() {
        for &(dtype, .., kind) in NAMED.iter().filter(|row| row.0 != DType::BF16) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let text = dtype.typestr(order);
                assert!(text.ends_with(kind));
                let (back, back_order) = DType::from_typestr(&text).unwrap();
                assert_eq!(back, dtype);
                assert!(dtype.itemsize() == 1 || back_order == order, "{text}");
            }
        }
        assert_eq!(DType::Record(12).typestr(ByteOrder::Big), "|V12");
        assert_eq!(DType::from_typestr("|V12"), Some((DType::Record(12), ByteOrder::NATIVE)));
        assert_eq!(DType::BF16.typestr(ByteOrder::Little), "|V2");
    }

    #[test]
    fn other_types_are_refused() {
        // Strings and dates, missing and wrong orders, sizes that no type has.
        let cases =
            ["|S4", "<U2", "<M8[ns]", "|O", "<f16", "=f4", "|f4", "<i1", "<", "", "é", ">V4", "|V0", "|V+4", "|V"];
        for text in cases {
            assert_eq!(DType::from_typestr(text), None, "{text}");
        }
    }

    #[test]
    fn the_parts_of_complex_numbers_are_reversed_one_by_one() {
        let cases =
            [(DType::Complex64, 8), (DType::Complex32, 4), (DType::U16, 2), (DType::Bool, 1), (DType::Record(4), 1)];
        for (dtype, bytes) in cases {
            assert_eq!(dtype.swapped_bytes(), bytes, "{dtype}");
        }
    }
}
