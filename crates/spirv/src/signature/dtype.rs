//! The types of array elements: [`DType`], and the Rust types that have one ([`Element`]).
//!
//! Names are NumPy's (`float32`); `Display` prints the short form of shaders (`f32`), and parsing takes both. A dtype is the
//! type on the host. The type that a shader declares is an [`ElementType`](crate::ElementType); `call/check.rs` has the
//! rules which dtype fits which.

use std::fmt;
use std::str::FromStr;

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::names::{Hint, nearest};

/// The type of one array element.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_spirv::DType;
///
/// assert_eq!("float32".parse::<DType>()?, DType::F32);
/// assert_eq!((DType::F32.to_string(), DType::F32.numpy_name(), DType::F32.itemsize()), ("f32".into(), "float32".into(), 4));
/// assert_eq!(DType::Complex64.scalar(), Some(DType::F64));
/// assert!(DType::U8.is_integer() && DType::BF16.is_float());
/// assert_eq!("flaot32".parse::<DType>().unwrap_err().to_string(), "no dtype is called `flaot32` (did you mean `float32`?)");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DType {
    /// Truth value, stored as one byte ([`Bool`]). No shader language stores it in a buffer.
    Bool,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer, and the type of raw bytes.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// IEEE half precision.
    F16,
    /// Brain float: the upper half of an `f32`.
    BF16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// IEEE single precision.
    F32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE double precision.
    F64,
    /// Two `f32`, real part first ([`Complex32`]).
    Complex32,
    /// Two `f64`, real part first ([`Complex64`]).
    Complex64,
    /// A user's `#[repr(C)]` struct of that many bytes; see [`DType::record`].
    Record(u32),
}

/// Every dtype but records: variant, short name, NumPy name, NumPy's type string without the byte order, which brain floats
/// do not have.
pub(super) const NAMED: &[(DType, &str, &str, &str)] = &[
    (DType::Bool, "bool", "bool", "b1"),
    (DType::I8, "i8", "int8", "i1"),
    (DType::U8, "u8", "uint8", "u1"),
    (DType::I16, "i16", "int16", "i2"),
    (DType::U16, "u16", "uint16", "u2"),
    (DType::F16, "f16", "float16", "f2"),
    (DType::BF16, "bf16", "bfloat16", ""),
    (DType::I32, "i32", "int32", "i4"),
    (DType::U32, "u32", "uint32", "u4"),
    (DType::F32, "f32", "float32", "f4"),
    (DType::I64, "i64", "int64", "i8"),
    (DType::U64, "u64", "uint64", "u8"),
    (DType::F64, "f64", "float64", "f8"),
    // Named by the part, as in a shader: `complex64` is NumPy's name for one of them and Rust's for the other.
    (DType::Complex32, "complex<f32>", "complex64", "c8"),
    (DType::Complex64, "complex<f64>", "complex128", "c16"),
];

impl DType {
    /// Every dtype but records: truth values, integers, floats and complex numbers, of ascending size.
    pub const ALL: &'static [Self] = &{
        let mut all = [Self::Bool; NAMED.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = NAMED[i].0;
            i += 1;
        }
        all
    };

    /// The dtype of a struct of the program, which only has a size.
    ///
    /// ```
    /// use vkarray_spirv::{DType, Element};
    ///
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Particle {
    ///     position: [f32; 4],
    ///     id: u32,
    ///     padding: [u32; 3],
    /// }
    ///
    /// impl Element for Particle {
    ///     const DTYPE: DType = DType::record::<Self>();
    /// }
    /// assert_eq!(Particle::DTYPE.to_string(), "record32");
    /// ```
    pub const fn record<T: Pod>() -> Self {
        assert!(size_of::<T>() > 0 && size_of::<T>() <= 1 << 20, "a record has 1 byte to 1 MiB");
        #[expect(clippy::cast_possible_truncation, reason = "asserted to be at most 1 MiB")]
        Self::Record(size_of::<T>() as u32)
    }

    /// The dtype of `T`. A type whose `DTYPE` does not describe it does not compile: a type of another size, with a lesser
    /// alignment than that of the dtype, without bytes, or with an alignment of more than 16 bytes, which host arrays do not
    /// have.
    ///
    /// ```compile_fail
    /// use vkarray_spirv::{DType, Element};
    ///
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Byte(u8);
    ///
    /// impl Element for Byte {
    ///     const DTYPE: DType = DType::F64; // Eight bytes.
    /// }
    /// println!("{}", DType::of::<Byte>());
    /// ```
    #[inline]
    pub const fn of<T: Element>() -> Self {
        const { T::DTYPE.assert_describes::<T>() };
        T::DTYPE
    }

    /// Checks the type when a program is built.
    const fn assert_describes<T>(self) {
        let alignment = match self {
            Self::Bool | Self::I8 | Self::U8 | Self::Record(_) => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 | Self::Complex32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::Complex64 => align_of::<u64>(),
        };
        assert!(size_of::<T>() > 0, "a type without bytes is no element of an array");
        assert!(size_of::<T>() == self.itemsize() as usize, "the element's `DTYPE` has another size than the type");
        assert!(align_of::<T>() >= alignment, "the element's `DTYPE` has a greater alignment than the type");
        assert!(align_of::<T>() <= 16, "an element lies at multiples of at most 16 bytes");
    }

    fn named(self) -> Option<&'static (Self, &'static str, &'static str, &'static str)> {
        NAMED.iter().find(|row| row.0 == self)
    }

    /// Bytes of one element.
    pub const fn itemsize(self) -> u32 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::Complex32 => 8,
            Self::Complex64 => 16,
            Self::Record(bytes) => bytes,
        }
    }

    /// The short name, as in shaders: `f32`; `record` for records of any size.
    pub fn short_name(self) -> &'static str {
        self.named().map_or("record", |row| row.1)
    }

    /// The name NumPy uses: `float32`, `uint8`, `complex64`; `V12` for a record of 12 bytes.
    pub fn numpy_name(self) -> String {
        match (self, self.named()) {
            (Self::Record(bytes), _) => format!("V{bytes}"),
            (_, row) => row.map_or_else(String::new, |row| row.2.to_owned()),
        }
    }

    /// The scalar that an element consists of: itself, or `f32` and `f64` for complex numbers. A record has none.
    pub const fn scalar(self) -> Option<Self> {
        match self {
            Self::Record(_) => None,
            Self::Complex32 => Some(Self::F32),
            Self::Complex64 => Some(Self::F64),
            scalar => Some(scalar),
        }
    }

    /// Whether the values are integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::U8 | Self::I16 | Self::U16 | Self::I32 | Self::U32 | Self::I64 | Self::U64)
    }

    /// Whether the values are floating-point numbers (not complex).
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.named()) {
            (Self::Record(bytes), _) => f.pad(&format!("record{bytes}")),
            (_, row) => f.pad(row.map_or("", |row| row.1)),
        }
    }
}

/// No dtype has that name.
///
/// ```
/// use vkarray_spirv::DType;
///
/// let error = "flaot32".parse::<DType>().unwrap_err();
/// assert_eq!(error.hint.0.as_deref(), Some("float32"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no dtype is called `{text}`{hint}")]
pub struct UnknownDType {
    /// What was given.
    pub text: String,
    /// The nearest name that exists.
    pub hint: Hint,
}

impl FromStr for DType {
    type Err = UnknownDType;

    /// Reads `f32` or `float32`; a record is `record12` or `V12`.
    fn from_str(text: &str) -> Result<Self, UnknownDType> {
        if let Some(row) = NAMED.iter().find(|row| row.1 == text || row.2 == text) {
            return Ok(row.0);
        }
        let digits = text.strip_prefix("record").or_else(|| text.strip_prefix('V'));
        if let Some(bytes) = digits.and_then(|digits| digits.parse().ok()).filter(|&bytes| bytes > 0) {
            return Ok(Self::Record(bytes));
        }
        let names: Vec<_> = NAMED.iter().flat_map(|row| [row.1, row.2]).collect();
        Err(UnknownDType { text: text.to_owned(), hint: nearest(text, &names) })
    }
}

/// A Rust type of array elements.
///
/// Implemented for the integers, `f32`, `f64`, [`half::f16`], [`half::bf16`], [`Bool`], [`Complex32`] and
/// [`Complex64`]. A struct implements it with [`DType::record`], which has an example. Arrays of a type whose `DTYPE` does not
/// describe it do not compile; see [`DType::of`].
pub trait Element: Pod {
    /// The dtype of this type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => {
        $(impl Element for $rust {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}

elements! {
    Bool => Bool, i8 => I8, u8 => U8, i16 => I16, u16 => U16, f16 => F16, bf16 => BF16, i32 => I32, u32 => U32,
    f32 => F32, i64 => I64, u64 => U64, f64 => F64, Complex32 => Complex32,
    Complex64 => Complex64,
}

/// A truth value as arrays store it: one byte, zero is false.
///
/// Made from a `bool` the byte is 0 or 1. Any other byte, from a kernel or from raw bytes, reads as true, is equal to
/// every other true, and is 1 in a file. Files with other bytes are refused.
///
/// ```
/// use vkarray_spirv::Bool;
///
/// let flags: [Bool; 2] = bytemuck::cast([1_u8, 2]);
/// assert_eq!(flags, [Bool::from(true); 2]);
/// ```
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bool(u8);

impl From<bool> for Bool {
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl From<Bool> for bool {
    fn from(value: Bool) -> Self {
        value.0 != 0
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Self) -> bool {
        bool::from(*self) == bool::from(*other)
    }
}

impl Eq for Bool {}

/// A complex number of two `f32`, laid out as NumPy's `complex64`.
///
/// ```
/// use vkarray_spirv::Complex32;
///
/// assert_eq!(bytemuck::bytes_of(&Complex32 { re: 1.0, im: 0.0 })[..4], 1.0_f32.to_ne_bytes());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Complex32 {
    /// Real part.
    pub re: f32,
    /// Imaginary part.
    pub im: f32,
}

/// A complex number of two `f64`, laid out as NumPy's `complex128`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Complex64 {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_round_trip() {
        for &(dtype, short, numpy, typestr) in NAMED {
            let itemsize = typestr.get(1..).map_or(2, |bytes| bytes.parse().unwrap()); // Brain floats have none.
            assert_eq!(dtype.to_string(), short);
            assert_eq!(dtype.numpy_name(), numpy);
            assert_eq!(short.parse::<DType>().unwrap(), dtype);
            assert_eq!(numpy.parse::<DType>().unwrap(), dtype);
            assert_eq!(dtype.itemsize(), itemsize, "{short}");
        }
        for (text, bytes) in [("record12", 12), ("V12", 12)] {
            assert_eq!(text.parse::<DType>().unwrap(), DType::Record(bytes));
        }
        assert_eq!(DType::Record(12).numpy_name(), "V12");
        assert_eq!(format!("{:<6}|", DType::F32), "f32   |"); // Padding works in tables.
    }

    #[test]
    fn itemsize_is_the_rust_size() {
        fn agrees<T: Element>() -> bool {
            T::DTYPE.itemsize() as usize == size_of::<T>()
        }
        assert!(agrees::<Bool>() && agrees::<i8>() && agrees::<u8>() && agrees::<i16>() && agrees::<u16>());
        assert!(agrees::<f16>() && agrees::<bf16>() && agrees::<i32>() && agrees::<u32>() && agrees::<f32>());
        assert!(agrees::<i64>() && agrees::<u64>() && agrees::<f64>() && agrees::<Complex32>());
        assert!(agrees::<Complex64>());
    }

    #[test]
    fn unknown_names_say_what_is_near() {
        let cases = [
            ("flaot32", "no dtype is called `flaot32` (did you mean `float32`?)"),
            ("f33", "no dtype is called `f33` (did you mean `f32`?)"), // First of two at equal distance.
            ("record0", "no dtype is called `record0`"),               // An empty record has no elements.
            ("", "no dtype is called ``"),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<DType>().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn dtype_survives_json() {
        for dtype in [DType::F32, DType::Record(48)] {
            let text = serde_json::to_string(&dtype).unwrap();
            assert_eq!(serde_json::from_str::<DType>(&text).unwrap(), dtype);
        }
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        for byte in 0..=u8::MAX {
            assert_eq!(bool::from(Bool(byte)), byte != 0, "{byte}");
        }
        assert_eq!(Bool(2), Bool::from(true));
    }
}
