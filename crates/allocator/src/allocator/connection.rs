//! Connections of real devices: the answer of [`memory_connection`] for two of them, with the results of earlier
//! trials.
//!
//! The rules are in `memory/connection/`. The source's device keeps the results of trials, for each target that is
//! still open.

use std::slice;
use std::sync::{Arc, OnceLock, Weak};

use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{Device, DeviceInfo};

use super::{Allocator, Block};
use crate::error::Result;
use crate::memory::{
    ConnectionEnd, ConnectionLimit, ConnectionTraits, ConnectionTrials, MemoryConnection, memory_connection,
};

/// The results of trials from one device to others.
#[derive(Debug)]
struct TriedConnections(Mutex<Vec<(Weak<Device>, ConnectionTrials)>>);

impl Default for TriedConnections {
    fn default() -> Self {
        Self(Mutex::new(Rank::ConnectionTrials, Vec::new()))
    }
}

/// The description of a device as it was opened: an extension that is not enabled is no promise.
#[derive(Debug, Default)]
struct AsOpened(OnceLock<DeviceInfo>);

impl AsOpened {
    fn info(&self, device: &Device) -> &DeviceInfo {
        let describe = || DeviceInfo { external: device.external(), ..device.info().clone() };
        self.0.get_or_init(describe)
    }
}

/// How memory with these traits on the device `src` reaches the device `dst`, in this process. Nothing is tried, and
/// the call never blocks.
///
/// `VKARRAY_MEMORY_CONNECTION` limits the answer where the devices differ.
///
/// ```
/// use vkarray_allocator::{ConnectionTraits, MemoryConnection, UnifiedBy, connection_between};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> anyhow::Result<()> {
/// let instance = Instance::new()?;
/// let open = || Device::open_selected(&instance, None);
/// let (device, again) = (open()?, open()?); // The same hardware, opened twice.
/// println!("{}", connection_between(&device, &again, &ConnectionTraits::default())?);
/// let own = connection_between(&device, &device, &ConnectionTraits::default())?;
/// assert!(matches!(own, MemoryConnection::Unified { how: UnifiedBy::Identity, .. }));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::BadSetting`](crate::Error::BadSetting) for a wrong value of the variable.
pub fn connection_between(src: &Arc<Device>, dst: &Arc<Device>, traits: &ConnectionTraits) -> Result<MemoryConnection> {
    let traits = ConnectionTraits { at_most: traits.at_most.min(ConnectionLimit::from_environment()?), ..*traits };
    let trials = if src.is_forked() { ConnectionTrials::default() } else { tried(src, dst) };
    let [from, to] = [src, dst].map(|device| device.extension::<AsOpened>());
    let end = |opened, context: bool, device| ConnectionEnd {
        context: u64::from(context),
        devices: slice::from_ref(AsOpened::info(opened, device)),
        device: 0,
        is_lost: device.check_lost().is_err(),
    };
    memory_connection(&end(&from, false, src), &end(&to, !Arc::ptr_eq(src, dst), dst), &traits, &trials)
}

/// Records that an operation over `connection`, from `src` to `dst`, failed although the drivers promise it. After
/// that, [`connection_between`] answers with the next weaker connection.
pub fn note_connection_failure(src: &Arc<Device>, dst: &Arc<Device>, connection: MemoryConnection) {
    if src.is_forked() {
        return;
    }
    let tried = src.extension::<TriedConnections>();
    let mut tried = tried.0.lock();
    tried.retain(|(device, _)| device.strong_count() > 0);
    let position = tried.iter().position(|(device, _)| device.as_ptr() == Arc::as_ptr(dst));
    let position = position.unwrap_or_else(|| {
        tried.push((Arc::downgrade(dst), ConnectionTrials::default()));
        tried.len() - 1
    });
    tried[position].1.note_failure(connection);
}

fn tried(src: &Arc<Device>, dst: &Arc<Device>) -> ConnectionTrials {
    let tried = src.extension::<TriedConnections>();
    let tried = tried.0.lock();
    let found = tried.iter().find(|(device, _)| device.as_ptr() == Arc::as_ptr(dst));
    found.map(|(_, trials)| *trials).unwrap_or_default()
}

impl Allocator {
    /// How memory with these traits reaches another device; see [`connection_between`].
    ///
    /// # Errors
    ///
    /// [`Error::BadSetting`](crate::Error::BadSetting) for a wrong value of `VKARRAY_MEMORY_CONNECTION`.
    pub fn connection_to(&self, target: &Arc<Device>, traits: &ConnectionTraits) -> Result<MemoryConnection> {
        connection_between(self.device(), target, traits)
    }
}

impl Block {
    /// How this memory, to be read and written, reaches another device; see [`connection_between`].
    ///
    /// # Errors
    ///
    /// [`Error::BadSetting`](crate::Error::BadSetting) for a wrong value of `VKARRAY_MEMORY_CONNECTION`;
    /// [`Error::DeadMemory`](crate::Error::DeadMemory).
    pub fn connection_to(&self, target: &Arc<Device>) -> Result<MemoryConnection> {
        self.check_alive()?;
        connection_between(self.device(), target, &self.connection_traits())
    }

    /// The traits of this memory that [`memory_connection`] needs.
    pub fn connection_traits(&self) -> ConnectionTraits {
        let traits = ConnectionTraits::of(self.kind()).exportable(self.is_exportable());
        let host_pages = self.imported_from_host().map(|(address, size)| 1 << (address as u64 | size).trailing_zeros());
        ConnectionTraits { host_pages, ..traits }
    }
}
