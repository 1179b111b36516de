//! How two ranks of one host come to share memory: one of them makes it, and the other one opens it.
//!
//! Ranks of one device that are processes share memory of the device, whose handle goes over a Unix socket with a name and
//! without a file. Other ranks of a host share pages of the host's memory. Whether either is possible is found out by
//! trying, so a rank answers to each offer whether it has the memory.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::{io, process};

use vkarray::Context;
use vkarray::interop::IpcHandle;
use vkarray::memory::managers::Request;
use vkarray::memory::{Block, MemoryKind, Result};

use super::agreement::switch;
use super::{Link, SHARE_DEVICE_MEMORY, Transport, TransportError, received};

/// The bytes of the name of shared memory, with spaces behind it.
const NAME: usize = 64;

/// Memory that another rank has too.
#[derive(Debug)]
pub(super) enum Shared {
    /// Pages of the host with this name, which is valid as long as the block of the rank that made them lives.
    Pages(String),
    /// Memory of the device.
    Memory(IpcHandle),
}

/// Memory, and its block on the device for which it was shared.
pub(super) type Opened = (Shared, Arc<Block>);

impl Shared {
    pub(super) fn link(&self) -> Link {
        match self {
            Self::Pages(_) => Link::HostPages,
            Self::Memory(_) => Link::DeviceMemory,
        }
    }

    /// The memory as a block of another context.
    pub(super) fn open(&self, context: &Context) -> Result<Arc<Block>> {
        match self {
            Self::Pages(name) => context.allocator().open_named_pages(name),
            Self::Memory(handle) => context.allocator().import(handle.memory()),
        }
    }
}

/// The memory that this rank shares with each of `ranks` with which it can; all these ranks call this function. `bytes`
/// tells the length of new memory from the number of ranks on this host.
pub(super) fn share(
    context: &Context,
    transport: &dyn Transport,
    ranks: &[usize],
    bytes: impl Fn(usize) -> u64,
) -> std::result::Result<Vec<(usize, Opened)>, TransportError> {
    let own = Greeting::of(context, transport)?;
    let rank = Rank { context, transport };
    let greetings = rank.tell(ranks.iter().map(|&rank| (rank, own.0.clone())), ranks, own.0.len())?;
    let near: Vec<_> = ranks.iter().copied().zip(greetings.into_iter().map(Greeting)).collect();
    let near: Vec<_> = near.into_iter().filter(|(_, other)| own.shares_host(other)).collect();
    let size = bytes(near.len());
    let on_device = near.iter().filter(|(_, other)| own.shares_device(other)).map(|(rank, _)| *rank).collect();
    let mut shared = rank.share_device_memory(on_device, size)?;
    let left = near.iter().map(|(rank, _)| *rank).filter(|rank| shared.iter().all(|of| of.0 != *rank)).collect();
    shared.extend(rank.share_pages(left, size)?);
    Ok(shared)
}

/// What a rank tells others before they share memory: the number of its host, its process, and its device if that exports
/// and imports memory.
struct Greeting(Vec<u8>);

impl Greeting {
    /// The bytes of the host's number.
    const HOST: usize = size_of::<usize>();
    /// The bytes in front of those of the device.
    const DEVICE: usize = Self::HOST + size_of::<u32>();

    fn of(context: &Context, transport: &dyn Transport) -> std::result::Result<Self, TransportError> {
        let memory = context.info().external.memory_fd;
        let is_shared = memory.exportable && memory.importable && switch(SHARE_DEVICE_MEMORY, true)?;
        let device = if is_shared { context.info().uuid.clone() } else { String::new() };
        let host = transport.place().host_rank.to_ne_bytes();
        Ok(Self([&host[..], &process::id().to_ne_bytes(), format!("{device:32}").as_bytes()].concat()))
    }

    fn shares_host(&self, other: &Self) -> bool {
        self.0[..Self::HOST] == other.0[..Self::HOST]
    }

    /// Whether both can use memory of one device. A process cannot open its own.
    fn shares_device(&self, other: &Self) -> bool {
        let device = &self.0[Self::DEVICE..];
        let is_there = device.iter().any(|byte| *byte != b' ');
        let processes = [self, other].map(|of| &of.0[Self::HOST..Self::DEVICE]);
        is_there && device == &other.0[Self::DEVICE..] && processes[0] != processes[1]
    }
}

/// This rank and its device.
struct Rank<'r> {
    context: &'r Context,
    transport: &'r dyn Transport,
}

impl Rank<'_> {
    /// Pages with these ranks. The rank with the smaller number makes them and tells their name.
    fn share_pages(
        &self,
        ranks: Vec<usize>,
        size: u64,
    ) -> std::result::Result<impl Iterator<Item = (usize, Opened)>, TransportError> {
        let allocator = self.context.allocator();
        let make = || allocator.named_pages(size).ok().map(|(block, name)| ((block, name.clone()), name));
        let open = |name: &str| allocator.open_named_pages(name).ok().map(|block| (block, name.to_owned()));
        let [made, opened] = self.offer(ranks, make, open)?;
        Ok(made.into_iter().chain(opened).map(|(rank, (block, name))| (rank, (Shared::Pages(name), block))))
    }

    /// Memory of the device with these ranks. The rank with the smaller number makes it, and sends its handle to the other
    /// one, which then answers whether its device takes it.
    fn share_device_memory(
        &self,
        ranks: Vec<usize>,
        size: u64,
    ) -> std::result::Result<Vec<(usize, Opened)>, TransportError> {
        let allocator = self.context.allocator();
        let make = || {
            let block = allocator.allocate_for(&Request::new(size, MemoryKind::Device).exportable(true)).ok()?;
            let handle = block.get_ipc_handle(0..size, false).ok()?;
            let (listener, name) = listen().ok()?;
            Some((Ok((listener, handle, block)), name))
        };
        let connect = |name: &str| Some(Err(UnixStream::connect_addr(&address(name).ok()?).ok()?));
        let [made, connected] = self.offer(ranks, make, connect)?;
        let mut shared: Vec<(usize, Option<Opened>)> = Vec::new();
        // The other rank has connected, so that neither waits for longer than the other one takes to come here.
        for (rank, end) in made.into_iter().chain(connected) {
            let opened = match end {
                Ok((listener, handle, block)) => {
                    let sent = listener.accept().is_ok_and(|(socket, _)| handle.send(&socket, b"").is_ok());
                    sent.then_some((Shared::Memory(handle), block))
                }
                Err(socket) => IpcHandle::receive(&socket).ok().and_then(|(handle, _)| {
                    let block = allocator.open_ipc(&handle).ok()?;
                    Some((Shared::Memory(handle), block))
                }),
            };
            shared.push((rank, opened));
        }
        let ranks: Vec<usize> = shared.iter().map(|(rank, _)| *rank).collect();
        let answers = shared.iter().map(|(rank, opened)| (*rank, vec![u8::from(opened.is_some())]));
        let answers = self.tell(answers, &ranks, 1)?;
        let both = shared.into_iter().zip(answers).filter(|(_, answer)| *answer == [1]);
        Ok(both.filter_map(|((rank, opened), _)| Some((rank, opened?))).collect())
    }

    /// Makes something for each of `ranks` with a greater number, tells them its name, and keeps it where they answer that
    /// they have opened it. Opens what the ranks with a smaller number make. Returns both, with the other rank.
    fn offer<T>(
        &self,
        ranks: Vec<usize>,
        make: impl Fn() -> Option<(T, String)>,
        open: impl Fn(&str) -> Option<T>,
    ) -> std::result::Result<[Vec<(usize, T)>; 2], TransportError> {
        let (below, above): (Vec<_>, Vec<_>) = ranks.into_iter().partition(|&rank| rank < self.transport.rank());
        // Where nothing can be made, nobody can open what has an empty name.
        let (made, names): (Vec<_>, Vec<_>) =
            above.iter().map(|_| make().map_or((None, String::new()), |(made, name)| (Some(made), name))).unzip();
        let offers = above.iter().copied().zip(names.iter().map(|name| format!("{name:NAME$}").into_bytes()));
        let names = self.tell(offers, &below, NAME)?;
        let opened: Vec<_> = names.iter().map(|name| open(String::from_utf8_lossy(name).trim_end())).collect();
        let answers = below.iter().copied().zip(opened.iter().map(|opened| vec![u8::from(opened.is_some())]));
        let answers = self.tell(answers, &above, 1)?;
        let accepted = made.into_iter().zip(answers).map(|(made, answer)| made.filter(|_| answer == [1]));
        let there = |ranks: Vec<usize>, all: Vec<Option<T>>| {
            ranks.into_iter().zip(all).filter_map(|(rank, one)| Some((rank, one?))).collect()
        };
        Ok([there(above, accepted.collect()), there(below, opened)])
    }

    /// Sends bytes to ranks, and receives `len` bytes from each of other ones.
    fn tell(
        &self,
        outgoing: impl Iterator<Item = (usize, Vec<u8>)>,
        from: &[usize],
        len: usize,
    ) -> std::result::Result<Vec<Vec<u8>>, TransportError> {
        let outgoing: Vec<_> = outgoing.collect();
        let outgoing: Vec<_> = outgoing.iter().map(|(rank, bytes)| (*rank, bytes.as_slice())).collect();
        received(self.transport, &outgoing, &from.iter().map(|&rank| (rank, len)).collect::<Vec<_>>())
    }
}

/// A socket with a new name, to which another process connects.
fn listen() -> io::Result<(UnixListener, String)> {
    use std::hash::{BuildHasher as _, RandomState};
    let name = format!("vkarray-{:016x}", RandomState::new().hash_one(process::id()));
    Ok((UnixListener::bind_addr(&address(&name)?)?, name))
}

/// The address of a name, which only processes with the same network see.
fn address(name: &str) -> io::Result<SocketAddr> {
    if name.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    SocketAddr::from_abstract_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_a_device_that_both_name_in_two_processes_of_one_host() {
        let greeting = |host: usize, process: u32, device: &str| {
            Greeting([&host.to_ne_bytes()[..], &process.to_ne_bytes(), format!("{device:32}").as_bytes()].concat())
        };
        let own = greeting(0, 1, "a");
        let others = [(0, 2, "a"), (0, 1, "a"), (0, 2, "b"), (1, 2, "a"), (0, 2, "")];
        let shared = others.map(|(host, process, device)| {
            let other = greeting(host, process, device);
            own.shares_host(&other) && own.shares_device(&other)
        });
        assert_eq!(shared, [true, false, false, false, false]);
        assert!(!greeting(0, 1, "").shares_device(&greeting(0, 2, "")));
    }
}
