//! [`MultiDeviceArray`]: one array with replicas in several contexts, which are made and updated when they are used.
//!
//! Read `coherence.rs` first: it decides, in plain data, which replicas have the current elements and which accesses
//! may be in progress together. This file copies between replicas with `array/between.rs`. The folder never orders
//! work: replicas are ordinary arrays.

mod coherence;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use vkarray_driver::Stream;
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_kernel::{Arg, AsArg, DType, Element};

pub use self::coherence::ReplicaState;
use self::coherence::{Coherence, Refusal, fastest};
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;
use crate::error::{AccessMode, MultiDeviceError};
use vkarray_layout::{IntoShape, Layout, Order};

/// An array that several devices use in turns, in C order.
///
/// Each device has a replica, which is allocated at its first use. A program declares each access. Unless the device of
/// the access has the current elements, they are copied from the device from which the copy is fastest. Work of other
/// devices on older elements is not disturbed.
///
/// Any number of reads may be in progress, on all devices, or one access that writes; a conflicting access is refused. An
/// access is in progress as long as its [`ArrayAccess`] lives. It may end before the work that it was used for is complete:
/// the library orders work on replicas as on all arrays.
///
/// ```
/// use vkarray::array::{MultiDeviceArray, ReplicaState};
/// use vkarray::prelude::*;
///
/// let (first, second) = (Context::open_default()?, Context::open_default()?); // The same GPU, or two.
/// let x = MultiDeviceArray::<f32>::new(&[&first, &second], 4)?;
/// x.write(&first)?.fill(1.5)?;
/// assert_eq!(x.read(&second)?.to_vec()?, [1.5; 4]); // Copied to the second context.
/// x.read_write(&second)?.slice(s![..2])?.fill(0.0)?;
/// assert_eq!((x.state(&first)?, x.state(&second)?), (ReplicaState::Invalid, ReplicaState::Modified));
/// assert_eq!(x.to_vec()?, [0.0, 0.0, 1.5, 1.5]);
/// # anyhow::Ok(())
/// ```
pub struct MultiDeviceArray<T: Element> {
    replicas: Vec<Replica<T>>,
    layout: Layout,
    coherence: Mutex<Coherence>,
}

struct Replica<T: Element> {
    context: Context,
    array: OnceLock<DeviceNDArray<T>>,
}

/// An access to a [`MultiDeviceArray`] on one device, and the replica there. The access ends when this is dropped.
///
/// An access is used as the [`DeviceNDArray`] that it dereferences to; kernels take it as an argument. A clone or a
/// view of that array that outlives the access may have elements that are no longer current, and what is written to it
/// is lost.
#[must_use = "the access ends when this is dropped"]
pub struct ArrayAccess<'a, T: Element> {
    array: DeviceNDArray<T>,
    of: AccessInProgress<'a, T>,
}

/// An access that has begun.
struct AccessInProgress<'a, T: Element> {
    owner: &'a MultiDeviceArray<T>,
    device: usize,
    mode: AccessMode,
}

impl<T: Element> MultiDeviceArray<T> {
    /// Creates an array of the contexts, of different opened devices. Allocates nothing. The array has no elements
    /// before the first access that writes.
    ///
    /// ```
    /// use vkarray::array::MultiDeviceArray;
    /// use vkarray::prelude::*;
    ///
    /// let (first, second) = (Context::open_default()?, Context::open_default()?);
    /// let x = MultiDeviceArray::<f32>::new(&[&first, &second], [2, 3])?;
    /// assert!(x.read(&first).is_err()); // Nothing was written.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MultiDeviceError::NoContext`], [`MultiDeviceError::SameDevice`];
    /// [`Error::Layout`](crate::Error::Layout) if the shape has too many elements or axes.
    pub fn new(contexts: &[&Context], shape: impl IntoShape) -> Result<Self> {
        let layout = Layout::contiguous(shape.into_shape().as_ref(), Order::C)?;
        if contexts.is_empty() {
            return Err(MultiDeviceError::NoContext.into());
        }
        for (position, context) in contexts.iter().enumerate() {
            if contexts[..position].iter().any(|earlier| Arc::ptr_eq(earlier.device(), context.device())) {
                return Err(MultiDeviceError::SameDevice { device: context.info().name.clone() }.into());
            }
        }
        let replica = |context: &&Context| Replica { context: Context::clone(context), array: OnceLock::new() };
        let coherence = Mutex::new(Rank::Coherence, Coherence::new(contexts.len()));
        Ok(Self { replicas: contexts.iter().map(replica).collect(), layout, coherence })
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// The state of the replica on the device of `context`.
    ///
    /// ```
    /// use vkarray::array::{MultiDeviceArray, ReplicaState};
    /// use vkarray::prelude::*;
    ///
    /// let (first, second) = (Context::open_default()?, Context::open_default()?);
    /// let x = MultiDeviceArray::<f32>::new(&[&first, &second], 4)?;
    /// x.write(&first)?.fill(1.0)?;
    /// assert_eq!((x.state(&first)?, x.state(&second)?), (ReplicaState::Modified, ReplicaState::Invalid));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MultiDeviceError::NotAMember`].
    pub fn state(&self, context: &Context) -> Result<ReplicaState> {
        let device = self.device(context.default_stream())?;
        Ok(self.coherence.lock().state(device))
    }

    /// Gives access for reading, in the order of the context's default stream. The array is read-only.
    ///
    /// Returns at once if the device has the current elements. Otherwise copies them to the device, as
    /// [`DeviceNDArray::copy_from_context`] does.
    ///
    /// ```
    /// use vkarray::array::MultiDeviceArray;
    /// use vkarray::prelude::*;
    ///
    /// let (first, second) = (Context::open_default()?, Context::open_default()?);
    /// let x = MultiDeviceArray::<f32>::new(&[&first, &second], 4)?;
    /// x.write(&first)?.fill(1.0)?;
    /// let (here, there) = (x.read(&first)?, x.read(&second)?); // Both at once.
    /// assert_eq!(here.to_vec()?, there.to_vec()?);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MultiDeviceError::NotAMember`], [`MultiDeviceError::Conflict`], [`MultiDeviceError::NeverWritten`]; and the
    /// errors of allocating and copying, which leave all states unchanged.
    pub fn read(&self, context: &Context) -> Result<ArrayAccess<'_, T>> {
        self.access(context.default_stream(), AccessMode::Read)
    }

    /// Gives access for writing all elements, in the order of the context's default stream. Copies nothing, so the
    /// elements are undefined until they are written. From the call on, this replica has the current elements.
    ///
    /// ```
    /// use vkarray::array::MultiDeviceArray;
    /// use vkarray::prelude::*;
    ///
    /// let (first, second) = (Context::open_default()?, Context::open_default()?);
    /// let x = MultiDeviceArray::<i32>::new(&[&first, &second], 3)?;
    /// x.write(&second)?.copy_from_slice(&[1, 2, 3])?;
    /// assert_eq!(x.to_vec()?, [1, 2, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`MultiDeviceArray::read`], except [`MultiDeviceError::NeverWritten`] and the errors of copying.
    pub fn write(&self, context: &Context) -> Result<ArrayAccess<'_, T>> {
        self.access(context.default_stream(), AccessMode::Write)
    }

    /// Gives access for reading and writing, in the order of the context's default stream. The elements are copied to
    /// the device as in [`MultiDeviceArray::read`].
    ///
    /// ```
    /// use vkarray::array::MultiDeviceArray;
    /// use vkarray::prelude::*;
    ///
    /// let (first, second) = (Context::open_default()?, Context::open_default()?);
    /// let x = MultiDeviceArray::<i32>::new(&[&first, &second], 3)?;
    /// x.write(&first)?.fill(7)?;
    /// x.read_write(&second)?.set([0], 8)?;
    /// assert_eq!(x.to_vec()?, [8, 7, 7]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`MultiDeviceArray::read`].
    pub fn read_write(&self, context: &Context) -> Result<ArrayAccess<'_, T>> {
        self.access(context.default_stream(), AccessMode::ReadWrite)
    }

    /// Gives access on the device of `stream`. If the elements must be copied to that device, the copy is ordered on
    /// `stream`.
    ///
    /// ```
    /// use vkarray::array::{AccessMode, MultiDeviceArray};
    /// use vkarray::prelude::*;
    ///
    /// let (first, second) = (Context::open_default()?, Context::open_default()?);
    /// let x = MultiDeviceArray::<i32>::new(&[&first, &second], 3)?;
    /// let stream = second.stream()?;
    /// x.access(&stream, AccessMode::Write)?.on(&stream).fill(4)?;
    /// assert_eq!(x.access(&stream, AccessMode::Read)?.mode(), AccessMode::Read);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`MultiDeviceArray::read`].
    pub fn access(&self, stream: &Stream, mode: AccessMode) -> Result<ArrayAccess<'_, T>> {
        let device = self.device(stream)?;
        stream.device().check_lost()?; // Elements that only a failed device has are lost.
        let holders =
            self.coherence.lock().begin(device, mode).map_err(|refusal| self.refused(refusal, device, mode))?;
        let of = AccessInProgress { owner: self, device, mode }; // Dropped if a later step fails, which ends the access.
        let array = self.replicas[device].array(&self.layout)?;
        if let Some(source) = self.choose(&holders, device)? {
            array.on(stream).copy_from_context(&source.on(source.context().default_stream()))?;
        }
        self.coherence.lock().ready(device, mode);
        let array = if mode.writes() { array.clone() } else { array.clone().read_only() };
        Ok(ArrayAccess { array, of })
    }

    /// Copies the elements to the host, in C order, from a device that has the current ones. Blocks until the copy is
    /// complete.
    ///
    /// ```
    /// use vkarray::array::MultiDeviceArray;
    /// use vkarray::prelude::*;
    ///
    /// let (first, second) = (Context::open_default()?, Context::open_default()?);
    /// let x = MultiDeviceArray::<u8>::new(&[&first, &second], 2)?;
    /// x.write(&first)?.fill(9)?;
    /// assert_eq!(x.to_vec()?, [9, 9]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`MultiDeviceArray::read`] and [`DeviceNDArray::to_vec`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let holders: Vec<usize> = self.coherence.lock().holders().collect();
        let holder = self.working(&holders).first().copied().unwrap_or(0);
        self.read(&self.replicas[holder].context)?.to_vec()
    }

    /// Frees the replica of the context's device, unless no other device has the current elements. Returns whether the
    /// device has no replica now.
    ///
    /// ```
    /// use vkarray::array::MultiDeviceArray;
    /// use vkarray::prelude::*;
    ///
    /// let (first, second) = (Context::open_default()?, Context::open_default()?);
    /// let mut x = MultiDeviceArray::<u8>::new(&[&first, &second], 2)?;
    /// x.write(&first)?.fill(9)?;
    /// assert!(!x.release(&first)?); // It is the only one.
    /// drop(x.read(&second)?);
    /// assert!(x.release(&first)?);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MultiDeviceError::NotAMember`].
    pub fn release(&mut self, context: &Context) -> Result<bool> {
        let device = self.device(context.default_stream())?;
        let is_released = self.coherence.lock().release(device);
        if is_released {
            self.replicas[device].array.take();
        }
        Ok(is_released)
    }

    /// The replica to copy from: of the replicas on working devices, the one whose measured bandwidth to `device` is
    /// largest. `None` without holders.
    fn choose(&self, holders: &[usize], device: usize) -> Result<Option<&DeviceNDArray<T>>> {
        let holders = self.working(holders);
        let chosen = if let [only] = holders[..] {
            Some(only)
        } else {
            let to = &self.replicas[device].context;
            let measured = holders.iter().map(|&from| Ok((from, to.copy_bandwidth(&self.replicas[from].context)?)));
            fastest(&measured.collect::<Result<Vec<_>>>()?)
        };
        Ok(chosen.and_then(|from| self.replicas[from].array.get()))
    }

    /// The holders whose devices have not failed; all holders if every device has failed, so that the error says why.
    fn working(&self, holders: &[usize]) -> Vec<usize> {
        let works = |&holder: &usize| self.replicas[holder].context.device().check_lost().is_ok();
        let working: Vec<usize> = holders.iter().copied().filter(works).collect();
        if working.is_empty() { holders.to_vec() } else { working }
    }

    /// The position of the stream's device.
    fn device(&self, stream: &Stream) -> Result<usize> {
        let is_it = |replica: &Replica<T>| Arc::ptr_eq(replica.context.device(), stream.device());
        let position = self.replicas.iter().position(is_it);
        Ok(position.ok_or_else(|| MultiDeviceError::NotAMember {
            device: stream.device().info().name.clone(),
            members: self.replicas.iter().map(|replica| replica.context.info().name.clone()).collect(),
        })?)
    }

    fn refused(&self, refusal: Refusal, device: usize, wanted: AccessMode) -> MultiDeviceError {
        let name = |device: usize| self.replicas[device].context.info().name.clone();
        match refusal {
            Refusal::NeverWritten => MultiDeviceError::NeverWritten { shape: self.shape().to_vec() },
            Refusal::Conflict { device: on, mode: held } => {
                MultiDeviceError::Conflict { wanted, device: name(device), held, held_on: name(on) }
            }
        }
    }
}

impl<T: Element> Replica<T> {
    /// The array, which is allocated at the first call.
    fn array(&self, layout: &Layout) -> Result<&DeviceNDArray<T>> {
        if let Some(array) = self.array.get() {
            return Ok(array);
        }
        let array = self.context.device_array::<T>(layout.shape())?;
        Ok(self.array.get_or_init(|| array)) // Another thread may have been first.
    }
}

impl<T: Element> ArrayAccess<'_, T> {
    /// What the access does with the elements.
    pub fn mode(&self) -> AccessMode {
        self.of.mode
    }
}

impl<T: Element> Deref for ArrayAccess<'_, T> {
    type Target = DeviceNDArray<T>;

    fn deref(&self) -> &DeviceNDArray<T> {
        &self.array
    }
}

impl<T: Element> AsArg for ArrayAccess<'_, T> {
    fn as_arg(&self) -> Arg<'_> {
        self.array.as_arg()
    }
}

impl<T: Element> Drop for AccessInProgress<'_, T> {
    fn drop(&mut self) {
        if self.owner.replicas[self.device].context.device().is_forked() {
            return; // In a forked process the lock may stay locked for ever.
        }
        self.owner.coherence.lock().end(self.device, self.mode);
    }
}

vkarray_driver::debug_fields!([T: Element] MultiDeviceArray<T>, this =>
    dtype: format_args!("{}", DType::of::<T>()),
    shape: this.shape(),
    devices: this.replicas.iter().map(|replica| &replica.context.info().name).collect::<Vec<_>>()
);

vkarray_driver::debug_fields!([T: Element] ArrayAccess<'_, T>, this => array: this.array, mode: this.of.mode);
