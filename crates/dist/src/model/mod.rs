//! How long messages take on a machine, from latency, bandwidth and the messages that ranks exchange. **Start** at
//! [`Machine`].
//!
//! The messages are those of the real schedules, so their numbers and bytes are exact; the times are estimates.
//! `docs/scale.md` compares them with measurements.

use std::ops::Add;

use crate::decomposition::{Decomposition, DecompositionError, HaloSchedule, Overlap};

/// What a connection costs: a message of `n` bytes takes `latency + n / bandwidth` seconds, and each further message
/// that is under way at the same time keeps its rank busy for `overhead`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Connection {
    /// From the start of a message without bytes to its arrival, in seconds.
    pub latency: f64,
    /// How long a rank is busy with a message that it sends or receives, in seconds.
    pub overhead: f64,
    /// Bytes in a second, in each direction at once.
    pub bandwidth: f64,
}

/// Hosts with one number of ranks each, in the order of the ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// How many ranks a host has.
    pub ranks_per_host: usize,
    /// From the device of a rank to the memory of its host, and back; the messages are the views that are copied.
    pub copies: Connection,
    /// Between ranks of one host.
    pub host: Connection,
    /// Between hosts. The ranks of a host share the bandwidth.
    pub network: Connection,
}

/// Bytes that one rank sends to another one. What a rank sends to itself is copied on its device, and is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Message {
    /// The rank that sends them.
    pub sender: usize,
    /// The rank that receives them.
    pub receiver: usize,
    /// How many there are.
    pub bytes: usize,
    /// The number of views that they are copied from on the device of the sender, and to on that of the receiver. 0 for
    /// bytes that are in the memory of the host.
    pub views: usize,
}

/// What messages amount to, and how long they take. The sum of two estimates is one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// The number of messages of all ranks.
    pub messages: u64,
    /// The bytes of these messages.
    pub bytes: u64,
    /// The bytes that were copied between devices and hosts, in both directions.
    pub staged: u64,
    /// Until the last rank has all its messages, in seconds.
    pub seconds: f64,
}

impl Add for Estimate {
    type Output = Self;

    fn add(self, next: Self) -> Self {
        Self {
            messages: self.messages + next.messages,
            bytes: self.bytes + next.bytes,
            staged: self.staged + next.staged,
            seconds: self.seconds + next.seconds,
        }
    }
}

/// What a rank, or the ranks of a host, send and receive over one connection.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    messages: usize,
    sent: usize,
    received: usize,
}

impl Load {
    fn send(&mut self, messages: usize, bytes: usize) {
        self.messages += messages;
        self.sent += bytes;
    }

    fn receive(&mut self, messages: usize, bytes: usize) {
        self.messages += messages;
        self.received += bytes;
    }

    fn bytes(&self) -> usize {
        self.sent.max(self.received)
    }
}

impl Connection {
    /// How long a rank takes for this many messages at once, in seconds, if all ranks that share the connection with
    /// it move `bytes`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate needs no more than 52 bits")]
    pub fn time(&self, messages: usize, bytes: usize) -> f64 {
        let further = messages.saturating_sub(1) as f64 * self.overhead;
        if messages == 0 { 0.0 } else { self.latency + further + bytes as f64 / self.bandwidth }
    }
}

impl Machine {
    /// Messages that are under way at once, as those of one call of [`DistArray::halo`](crate::DistArray::halo): each
    /// rank copies what it sends to its host, exchanges messages, and copies what it received to its device.
    ///
    /// The messages are read one after the other, so that they need no memory. Runs on the host alone.
    ///
    /// ```
    /// use vkarray_dist::model::{Connection, Machine, halo_messages};
    /// use vkarray_dist::Decomposition;
    ///
    /// let wire = Connection { latency: 2e-6, overhead: 5e-7, bandwidth: 25e9 };
    /// let machine = Machine { ranks_per_host: 4, copies: wire, host: wire, network: wire };
    /// let cubes = Decomposition::over([100, 100, 100], 8)?.ghosts([(1, 1); 3])?;
    /// let estimate = machine.round(8, halo_messages(&cubes, 4)?);
    /// // Each of 8 cubes has 7 neighbours, and 50 · 50 elements beside each of three, 50 beside three, 1 beside the last.
    /// assert_eq!((estimate.messages, estimate.bytes), (8 * 7, 8 * 4 * (3 * 2500 + 3 * 50 + 1)));
    /// assert!(estimate.seconds > 6e-6);
    /// # Ok::<(), vkarray_dist::DecompositionError>(())
    /// ```
    ///
    /// # Panics
    /// If a message names a rank that does not exist.
    pub fn round(&self, ranks: usize, messages: impl IntoIterator<Item = Message>) -> Estimate {
        let host = |rank: usize| rank / self.ranks_per_host.max(1);
        let mut estimate = Estimate::default();
        let [mut down, mut up, mut near, mut far] = std::array::from_fn(|_| vec![Load::default(); ranks]);
        let mut hosts = vec![Load::default(); ranks.div_ceil(self.ranks_per_host.max(1))];
        for Message { sender, receiver, bytes, views } in messages {
            if sender == receiver {
                up[receiver].receive(views, 0);
                continue;
            }
            estimate.messages += 1;
            estimate.bytes += bytes as u64;
            if views > 0 {
                estimate.staged += 2 * bytes as u64;
                down[sender].send(views, bytes);
                up[receiver].receive(views, bytes);
            }
            let is_near = host(sender) == host(receiver);
            let loads = if is_near { &mut near } else { &mut far };
            loads[sender].send(1, bytes);
            loads[receiver].receive(1, bytes);
            if !is_near {
                hosts[host(sender)].send(1, bytes);
                hosts[host(receiver)].receive(1, bytes);
            }
        }
        let seconds = |rank: usize| {
            // All copies down end before the messages leave, and all messages are there before the copies up begin.
            let copies = [down[rank], up[rank]].map(|load| self.copies.time(load.messages, load.bytes()));
            let near = self.host.time(near[rank].messages, near[rank].bytes());
            let far = self.network.time(far[rank].messages, hosts[host(rank)].bytes());
            copies[0] + near.max(far) + copies[1]
        };
        estimate.seconds = (0..ranks).map(seconds).fold(0.0, f64::max);
        estimate
    }
}

/// The messages of [`DistArray::halo`](crate::DistArray::halo) on all ranks, for elements of this many bytes.
///
/// # Errors
/// None that a decomposition can cause; each of its ranks exists.
pub fn halo_messages(parts: &Decomposition, itemsize: usize) -> Result<Vec<Message>, DecompositionError> {
    let schedule = HaloSchedule::new(parts);
    let mut all = Vec::new();
    for rank in 0..parts.ranks() {
        let outgoing = schedule.outgoing(rank)?.into_iter();
        all.extend(joined(rank, outgoing.map(|message| (message.receiver, message.source.size() * itemsize))));
    }
    Ok(all)
}

/// The messages of [`DistArray::redistribute`](crate::DistArray::redistribute) on all ranks, for elements of this many
/// bytes.
///
/// # Errors
/// The global shapes or the numbers of ranks differ.
pub fn redistribute_messages(
    from: &Decomposition,
    to: &Decomposition,
    itemsize: usize,
) -> Result<Vec<Message>, DecompositionError> {
    let mut all = Vec::new();
    for rank in 0..from.ranks() {
        let bytes = |overlap: Overlap| (overlap.rank, overlap.region.size() * itemsize);
        all.extend(joined(rank, from.overlaps(rank, to)?.into_iter().map(bytes)));
    }
    Ok(all)
}

/// One message for each rank that gets elements of one rank, itself included, from a receiver and a number of bytes for each view, in
/// the order of the receivers.
fn joined(sender: usize, views: impl Iterator<Item = (usize, usize)>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for (receiver, bytes) in views.filter(|&(_, bytes)| bytes > 0) {
        match messages.last_mut() {
            Some(last) if last.receiver == receiver => {
                last.bytes += bytes;
                last.views += 1;
            }
            _ => messages.push(Message { sender, receiver, bytes, views: 1 }),
        }
    }
    messages
}
