//! Bytes as an argument: memory objects of dpctl's kinds, and memory of the program that is registered for a call.
//!
//! Unlike an array, such memory may end while handles to it exist: a memory object can be freed, and a registration ends with
//! its scope. So a [`MemoryArg`] has no public access to its block, and a dispatch looks the block up when it checks the call.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use vkarray_allocator::{self as allocator, Block, Registered, UsmKind, UsmMemory};
use vkarray_shader::DType;

use crate::call::args::{Arg, ArrayArg, AsArg, NamedArg};
use crate::call::shape::ArrayShape;
use crate::error::{Error, Result};

/// Bytes of a memory object, or of registered memory, as an argument of a kernel.
///
/// Bytes fit a parameter of any element type, if they are a whole number of its elements, laid out as the shader has them.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_allocator::DeviceMemory;
/// use vkarray_kernel::{Groups, Source};
///
/// let ctx = Context::open_default()?;
/// let add = ctx
///     .kernel(Source::wgsl(
///         "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
///          var<immediate> n: u32;
///          @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
///              if id.x < arrayLength(&x) { x[id.x] += n; }
///          }",
///     ))
///     .build()?;
/// let memory = DeviceMemory::new(&ctx, 8)?;
/// memory.memset(0)?;
/// add.launch(Groups::covering(2), (&memory, 7_u32))?;
/// assert_eq!(memory.to_bytes()?, [7, 0, 0, 0, 7, 0, 0, 0]);
/// memory.free()?;
/// assert!(add.launch(Groups::covering(2), (&memory, 7_u32)).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryArg<'a> {
    held: Held<'a>,
    /// The type of its elements; `None` if only the bytes are known.
    dtype: Option<DType>,
    shape: [usize; 1],
    bytes: Range<u64>,
    is_writable: bool,
}

#[derive(Clone)]
enum Held<'a> {
    /// Memory that the argument keeps.
    Shared(Arc<Block>),
    /// Memory that ends with a scope. No handle to it may outlive the argument.
    Lent(&'a Arc<Block>),
    /// Memory that was freed.
    Freed,
}

impl<'a> MemoryArg<'a> {
    /// Registered memory, which kernels reach in place or as a copy that is copied back. A kernel that writes memory that
    /// was lent to be read is refused.
    ///
    /// # Errors
    ///
    /// The errors of allocating pinned memory and of waiting for the device.
    pub fn registered(memory: &'a mut Registered<'_>) -> allocator::Result<Self> {
        let is_writable = memory.is_writable();
        // SAFETY: the argument borrows the registration, and clones no handle: it refuses to be recorded in a graph, and a
        // dispatch keeps handles only until it returns. No check admits it for a parameter that is written, unless it is
        // writable.
        let block = unsafe { memory.bind() }?;
        Ok(Self::of(Held::Lent(block), 0..block.size(), is_writable))
    }

    fn of(held: Held<'a>, bytes: Range<u64>, is_writable: bool) -> Self {
        let shape = [usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX)];
        Self { held, dtype: None, shape, bytes, is_writable }
    }

    /// This memory as elements of a type: it then fits parameters of that type alone.
    #[must_use]
    pub fn typed(self, dtype: DType) -> Self {
        let nbytes = self.bytes.end - self.bytes.start;
        let len = nbytes.checked_div(u64::from(dtype.itemsize())).unwrap_or(0);
        Self { dtype: Some(dtype), shape: [usize::try_from(len).unwrap_or(usize::MAX)], ..self }
    }

    /// What is checked of it.
    pub(crate) fn shape(&self) -> ArrayShape<'_> {
        let nbytes = self.bytes.end - self.bytes.start;
        let plain = ArrayShape::new(self.dtype.unwrap_or(DType::U8), &self.shape, nbytes);
        ArrayShape {
            offset: self.bytes.start,
            is_untyped: self.dtype.is_none(),
            is_writable: self.is_writable,
            ..plain
        }
    }

    /// The memory as an array, which must not outlive the argument.
    fn array(&self) -> Result<ArrayArg<'_>> {
        let block = match &self.held {
            Held::Shared(block) => block,
            Held::Lent(block) => *block,
            Held::Freed => {
                let nbytes = self.bytes.end - self.bytes.start;
                return Err(allocator::Error::UsedAfterFree { nbytes }.into());
            }
        };
        Ok(ArrayArg { block, shape: self.shape() })
    }

    /// The memory as an array that may outlive the argument.
    pub(crate) fn recordable(&self) -> Result<ArrayArg<'_>> {
        if matches!(self.held, Held::Lent(_)) { Err(Error::RegisteredInGraph) } else { self.array() }
    }
}

/// The arguments with arrays in place of memory.
pub(crate) fn resolved<'a>(args: &'a [NamedArg<'a>]) -> Result<Cow<'a, [NamedArg<'a>]>> {
    if !args.iter().any(|given| matches!(given.arg, Arg::Memory(_))) {
        return Ok(Cow::Borrowed(args));
    }
    let arrays = args.iter().map(|given| match &given.arg {
        Arg::Memory(memory) => Ok(NamedArg { name: given.name, arg: Arg::Array(memory.array()?) }),
        _ => Ok(given.clone()),
    });
    arrays.collect::<Result<_>>().map(Cow::Owned)
}

impl<K: UsmKind> AsArg for UsmMemory<K> {
    fn as_arg(&self) -> Arg<'_> {
        let nbytes = self.nbytes();
        let (held, bytes) = match self.block() {
            Ok((block, bytes)) => (Held::Shared(block), bytes),
            Err(_) => (Held::Freed, 0..nbytes),
        };
        Arg::Memory(MemoryArg::of(held, bytes, true))
    }
}

impl AsArg for MemoryArg<'_> {
    fn as_arg(&self) -> Arg<'_> {
        Arg::Memory(self.clone())
    }
}

vkarray_driver::debug_fields!(MemoryArg<'_>, this => shape: this.shape());
