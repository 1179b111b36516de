//! What can be wrong with SPIR-V: [`Malformed`], what [`Error::Malformed`](crate::Error::Malformed) carries.
//!
//! Each message continues `shader.spv: SPIR-V word 123: `. Nothing here is about types of arguments, which are
//! compared in `vkarray-kernel`.

use crate::names::Names;

/// What is wrong with SPIR-V. [`Error::Malformed`](crate::Error::Malformed) has it with the number of the word.
///
/// ```
/// use vkarray_spirv::Malformed;
///
/// let text = Malformed::Magic { found: u32::from_le_bytes(*b"#ver") }.to_string();
/// assert_eq!(text, "the first word is 0x72657623, not 0x07230203");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum Malformed {
    /// Not whole words.
    #[error("{bytes} bytes are no whole number of words")]
    Bytes { bytes: usize },
    /// Too short for a header.
    #[error("{words} words are fewer than the 5 of a header")]
    Header { words: usize },
    /// Some other file.
    #[error("the first word is {found:#010x}, not 0x07230203")]
    Magic { found: u32 },
    /// A version that Vulkan 1.3 does not take.
    #[error("version {major}.{minor} is not in 1.0 to 1.6")]
    Version { major: u32, minor: u32 },
    /// More ids than the specification's limit.
    #[error("bound {bound} is not in 1 to {limit}")]
    Bound { bound: u32, limit: u32 },
    /// An instruction of no words.
    #[error("an instruction is 0 words long")]
    Empty,
    /// An instruction that goes on behind the end.
    #[error("an instruction of {words} words, of which {left} are there")]
    Truncated { words: usize, left: usize },
    /// An instruction that is not in the grammar of SPIR-V 1.6 and the extensions known here.
    #[error("instruction {opcode} is not supported")]
    Opcode { opcode: u32 },
    /// An instruction that an extension defines and that is not supported here.
    #[error("Op{op} is not supported here")]
    Unsupported { op: &'static str },
    /// Fewer operands than the grammar asks for.
    #[error("Op{op} lacks an operand")]
    Missing { op: &'static str },
    /// More operands than the grammar allows.
    #[error("Op{op} has {words} words too many")]
    Surplus { op: &'static str, words: usize },
    /// Text that does not end, or is not UTF-8.
    #[error("Op{op} holds no text that ends and is UTF-8")]
    Text { op: &'static str },
    /// An id outside the header's bound.
    #[error("Op{op} uses id {id}, the bound is {bound}")]
    IdRange { op: &'static str, id: u32, bound: u32 },
    /// An id with two definitions.
    #[error("id {id} is defined again, first at word {first}")]
    Redefined { id: u32, first: usize },
    /// An id without definition.
    #[error("Op{op} uses id {id}, which nothing defines")]
    Undefined { op: &'static str, id: u32 },
    /// An id that is something else, or is declared later.
    #[error("Op{op} needs id {id} to be {wanted} that is declared before")]
    Kind { op: &'static str, id: u32, wanted: &'static str },
    /// An instruction where it cannot stand.
    #[error("Op{op} stands {place}")]
    Place { op: &'static str, place: &'static str },
    /// The module ends too early.
    #[error("the module ends {place}")]
    Ends { place: &'static str },
    /// What is there once is there twice, or not at all.
    #[error("{count} of Op{op}, where exactly one is needed")]
    Count { op: &'static str, count: usize },
    /// A program for another interface.
    #[error("{what} is not for Vulkan's compute kernels: {advice}")]
    Foreign { what: String, advice: &'static str },
    /// Two entry points of one name.
    #[error("two compute entry points are called `{name}`")]
    EntryTwice { name: String },
    /// A function that calls itself.
    #[error("function {id} calls itself, directly or through others")]
    Recursion { id: u32 },
    /// More of something than any kernel has.
    #[error("{count} {what}, at most {limit} are taken")]
    TooMany { what: &'static str, count: u64, limit: u64 },
    /// A number type that no host type matches.
    #[error("a number of {bits} bits, {what}")]
    Width { bits: u32, what: &'static str },
    /// A type that cannot lie in a buffer.
    #[error("`{variable}` holds {what}, which cannot lie in a buffer")]
    Holds { variable: String, what: &'static str },
    /// A layout that is not there or makes no sense.
    #[error("`{variable}`: {what}")]
    Layout { variable: String, what: String },
    /// A buffer without its place.
    #[error("`{variable}` has no {what}")]
    Unplaced { variable: String, what: &'static str },
    /// No workgroup size, or one that cannot be computed.
    #[error("entry point `{entry}`: {what}")]
    WorkgroupSize { entry: String, what: &'static str },
    /// Two constants of one number that cannot be set to the same value.
    #[error("constants {names} have the same number {id}, but different types")]
    SameConstant { id: u32, names: Names },
}

impl Malformed {
    /// Refuses more of something than the limit.
    pub(crate) fn check_count(what: &'static str, count: u32, limit: u32) -> Result<(), Self> {
        let (count, limit) = (count.into(), limit.into());
        if count > limit { Err(Self::TooMany { what, count, limit }) } else { Ok(()) }
    }
}
