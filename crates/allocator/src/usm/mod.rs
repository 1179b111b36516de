//! Memory objects: [`DeviceMemory`], [`HostMemory`] and [`SharedMemory`], untyped bytes of one kind each.
//!
//! The three kinds and their methods are the ones of dpctl's USM memory. An object is a range of an allocation; clones
//! and views share the allocation, and [`UsmMemory::free`] ends it for all of them. Work goes to the stream of the
//! context that the object was made with, and the runtime orders it. The ndarray crate has arrays of elements, also
//! over memory objects. Read `object.rs` first.

mod copies;
mod object;
mod state;

use std::any::Any;
use std::sync::Arc;

use vkarray_driver::Stream;

use crate::allocator::Allocator;
use crate::kind::UsmType;

pub use self::object::UsmMemory;
pub use self::state::MemoryState;

/// The allocator that makes memory objects, and the stream of their work.
pub trait MemoryContext {
    /// The allocator of the memory.
    fn allocator(&self) -> &Arc<Allocator>;
    /// The stream of the work.
    fn stream(&self) -> &Stream;
}

impl MemoryContext for (Arc<Allocator>, Stream) {
    fn allocator(&self) -> &Arc<Allocator> {
        &self.0
    }

    fn stream(&self) -> &Stream {
        &self.1
    }
}

/// An object that owns foreign memory. It is kept alive and never read.
pub type Reference = Arc<dyn Any + Send + Sync>;

/// The kind of a memory object as a type: [`OnDevice`], [`OnHost`] or [`OnBoth`].
pub trait UsmKind: sealed::Sealed + Copy + 'static {
    /// The kind as a value.
    const TYPE: UsmType;
}

/// A kind that the host addresses: [`OnHost`] or [`OnBoth`].
pub trait HostVisible: UsmKind {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident, $usm:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub enum $name {}

        impl sealed::Sealed for $name {}

        impl UsmKind for $name {
            const TYPE: UsmType = UsmType::$usm;
        }
    )*};
}

kinds! {
    /// The kind of [`DeviceMemory`].
    OnDevice, Device;
    /// The kind of [`HostMemory`].
    OnHost, Host;
    /// The kind of [`SharedMemory`].
    OnBoth, Shared;
}

impl HostVisible for OnHost {}
impl HostVisible for OnBoth {}

/// Bytes that the device addresses. The host copies them.
#[doc(alias = "MemoryUSMDevice")]
#[doc(alias = "DeviceBuffer")]
#[doc(alias = "device_buffer")]
#[doc(alias = "urUSMDeviceAlloc")]
pub type DeviceMemory = UsmMemory<OnDevice>;

/// Bytes of host memory that the device reaches over the bus.
#[doc(alias = "MemoryUSMHost")]
#[doc(alias = "urUSMHostAlloc")]
pub type HostMemory = UsmMemory<OnHost>;

/// Bytes of device memory that the host addresses, over the bus. Not every device has such memory. It never migrates.
#[doc(alias = "MemoryUSMShared")]
#[doc(alias = "urUSMSharedAlloc")]
pub type SharedMemory = UsmMemory<OnBoth>;
